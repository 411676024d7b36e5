import type { Kysely } from "kysely";
import type { Address, Hash } from "viem";
import type { Chain } from "../../chains.ts";
import type { Config } from "../../config/config.ts";
import type { Database } from "../../db/database.ts";
import { ServiceError } from "../../errors/errors.ts";
import type { RpcClients } from "../../rpc/clients.ts";
import type { Nodes } from "../../rpc/nodes.ts";
import type { Signer } from "../../signing/signer.ts";
import type { SigningBackend } from "../../signing/signing-backend.ts";
import type { Logger } from "../../telemetry/log.ts";
import type { LogOnce } from "../../telemetry/log-once.ts";
import type { RelayFigures } from "../store/figures.ts";
import type { WalletMemory } from "../store/wallets.ts";
import type { WalletRoles } from "./roles.ts";

/** What the relay works with. A process's `Services` has these members and more. */
export interface RelayContext {
  config: Config;
  log: Logger;
  logOnce: LogOnce;
  db: Kysely<Database>;
  chains: readonly Chain[];
  rpc: RpcClients;
  relay: Relay;
}

/** The factory that new intents are accepted with, and what its clones run. */
export interface FactoryContext {
  address: Address;
  template: Address;
  /** Block 0 of the chain that the node serves. */
  genesisHash: Hash;
}

/** What a process knows about the paying wallets and factories of its chains. */
export interface Relay {
  /**
   * The first paying wallet: the admin of collections.
   *
   * @throws ServiceError `chain_not_supported` where this installation cannot deploy.
   */
  account(chain: Chain): Signer;
  /** Every paying wallet; the first one sends updates, all of them deployments. */
  signers(chain: Chain): readonly Signer[];
  /** Where they sign. */
  signing: SigningBackend;
  /** @throws ServiceError `chain_not_supported`; `service_unavailable` while the node does not tell. */
  factory(chain: Chain): Promise<FactoryContext>;
  /**
   * The paying wallets that the factory lets deploy, as the chain reported within the last block or so.
   *
   * @throws ServiceError `chain_not_supported`; `service_unavailable` while the node does not tell.
   */
  deployers(chain: Chain): Promise<readonly Address[]>;
  /** The same of the operator of product contracts. @throws as `deployers`. */
  operating(chain: Chain): Promise<readonly Address[]>;
  roles: WalletRoles;
  /** The next question for roles goes to the chain. */
  forgetRoles(chain: Chain): void;
  nodes(chain: Chain): Nodes;
  /** What this process saw, for metrics. */
  figures: RelayFigures;
  /** What this process knows of the paying wallets that is not in their rows. */
  wallets: WalletMemory;
}

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
