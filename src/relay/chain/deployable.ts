import type { Chain } from "../../chains.ts";
import { ServiceError } from "../../errors/errors.ts";

/** Whether this installation has what it takes to deploy on a chain. */
export function isDeployable(chain: Chain): boolean {
  return chain.factory !== null && hasWallet(chain);
}

/**
 * The chain's operator of product contracts.
 *
 * @throws ServiceError `chain_not_supported` with the variables that the operator of the installation has not set.
 */
export function requireOperator(chain: Chain) {
  requireDeployable(chain);
  const { operator } = chain;
  if (operator) return { operator };
  throw new ServiceError(
    "chain_not_supported",
    `minting for clients is not set up on ${chain.name} here: the operator has not set OPERATOR_${chain.name.toUpperCase()}`,
    { field: "chain" },
  );
}

function hasWallet({ relayerKey, relay }: Chain): boolean {
  return relayerKey !== null || relay.keystores.length > 0 || relay.wallets.length > 0;
}

/**
 * The chain's factory.
 *
 * @throws ServiceError `chain_not_supported` with the variables that the operator has not set.
 */
export function requireDeployable(chain: Chain) {
  const { factory } = chain;
  if (factory && hasWallet(chain)) return { factory };
  const suffix = chain.name.toUpperCase();
  const missing = [
    factory ? null : `FACTORY_${suffix}`,
    hasWallet(chain) ? null : `RELAYER_ADDRESS_${suffix} (or RELAYER_KEY_${suffix}, where the worker has no signer)`,
  ];
  throw new ServiceError(
    "chain_not_supported",
    `collections cannot be deployed on ${chain.name} here: the operator has not set ${missing.filter(Boolean).join(" and ")}`,
    { field: "chain" },
  );
}
