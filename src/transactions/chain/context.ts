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

/** Dependencies of the relay. A process's `Services` has these members and more. */
export interface RelayContext {
  config: Config;
  log: Logger;
  logOnce: LogOnce;
  db: Kysely<Database>;
  chains: readonly Chain[];
  rpc: RpcClients;
  relay: Relay;
}

/** The factory that new intents are accepted with, and the template that its clones delegate to. */
export interface FactoryContext {
  address: Address;
  template: Address;
  /** Block 0 of the chain that the node serves. */
  genesisHash: Hash;
}

/** What a process knows about the relayer wallets and factories of its chains. */
export interface Relay {
  /**
   * The first relayer wallet: the admin of collections.
   *
   * @throws ServiceError `chain_not_supported` where this installation cannot deploy.
   */
  account(chain: Chain): Signer;
  /** Every relayer wallet; the first one sends updates, all of them send deployments. */
  signers(chain: Chain): readonly Signer[];
  /** Signs for all of them. */
  signing: SigningBackend;
  /** @throws ServiceError `chain_not_supported`; `service_unavailable` while the node does not answer. */
  factory(chain: Chain): Promise<FactoryContext>;
  /**
   * The relayer wallets that the factory allows to deploy, as of about the last block.
   *
   * @throws ServiceError `chain_not_supported`; `service_unavailable` while the node does not answer.
   */
  deployers(chain: Chain): Promise<readonly Address[]>;
  /** The same for the operator of product contracts. @throws as `deployers`. */
  operating(chain: Chain): Promise<readonly Address[]>;
  roles: WalletRoles;
  /** Makes the next lookup of roles read the chain. */
  forgetRoles(chain: Chain): void;
  nodes(chain: Chain): Nodes;
  /** Observations of this process, for metrics. */
  figures: RelayFigures;
  /** What this process knows of the relayer wallets and their rows do not have. */
  wallets: WalletMemory;
}

/** Whether this installation is configured to deploy on a chain. */
export function isDeployable(chain: Chain): boolean {
  return chain.factory !== null && hasWallet(chain);
}

/**
 * The chain's operator of product contracts.
 *
 * @throws ServiceError `chain_not_supported` listing the variables that the installation's operator has not set.
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
 * @throws ServiceError `chain_not_supported` listing the variables that the installation's operator has not set.
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
