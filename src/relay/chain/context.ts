import type { Kysely } from "kysely";
import type { Address, Hash } from "viem";
import type { Chain } from "../../chains.ts";
import type { Config } from "../../config/config.ts";
import type { Database } from "../../db/database.ts";
import type { RpcClients } from "../../rpc/clients.ts";
import type { Signer } from "../../signing/signer.ts";
import type { SigningBackend } from "../../signing/signing-backend.ts";
import type { Logger } from "../../telemetry/log.ts";
import type { LogOnce } from "../../telemetry/log-once.ts";
import type { RelayFigures } from "../store/relay-figures.ts";
import type { WalletMemory } from "../store/wallet-memory.ts";
import type { WalletRoles } from "./roles.ts";
import type { Nodes } from "./rpc-nodes.ts";

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
