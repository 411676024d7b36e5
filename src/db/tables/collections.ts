import type { ColumnType, Generated } from "kysely";

export interface CollectionTables {
  "service.self_deployment": SelfDeploymentTable;
  "service.collection": CollectionView;
  "service.listed_contract": ListedContractTable;
}

/** Contracts whose withheld ranges (ERC-2309) an operator has chosen to index. */
interface ListedContractTable {
  chain_id: number;
  address: Buffer;
  created_at: Generated<Date>;
}

/** The collections that exist on their chain, as of the last update that the service sent. */
interface CollectionView {
  id: string;
  tenant_id: string;
  chain_id: number;
  address: Buffer;
  created_at: Date;
  tx_hash: Buffer;
  block_number: bigint;
  relayed: boolean;
  /** `DeploymentPayload`. */
  settings: unknown;
  allowlist_id: string | null;
  updated_at: Date | null;
}

/** A collection that the creator's own wallet deploys: the transaction that was handed out, and where it was mined. */
interface SelfDeploymentTable {
  id: string;
  tenant_id: string;
  chain_id: number;
  req_hash: Buffer;
  /** `DeploymentPayload`. */
  payload: ColumnType<unknown, string, never>;
  allowlist_id: string | null;
  owner: Buffer;
  init_code_hash: Buffer;
  init_code_bytes: number;
  scanned_to: bigint;
  created_at: Generated<Date>;
  expires_at: Generated<Date>;
  address: Generated<Buffer | null>;
  tx_hash: Generated<Buffer | null>;
  block_number: Generated<bigint | null>;
  block_hash: Generated<Buffer | null>;
  finalized: Generated<boolean>;
  /** Wallets that the account named as senders, newest last. */
  senders: Generated<Buffer[]>;
  reported_tx: Generated<Buffer | null>;
}
