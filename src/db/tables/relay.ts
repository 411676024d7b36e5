import type { ColumnType, Generated } from "kysely";

export interface RelayTables {
  "service.allowlist": AllowlistTable;
  "service.intent": IntentTable;
  "service.intent_history": IntentHistoryTable;
  "service.relayer_wallet": RelayerWalletTable;
  "service.nonce_reservation": NonceReservationTable;
  "service.attempt": AttemptTable;
  "service.attempt_event": AttemptEventTable;
  "service.token_claim": TokenClaimTable;
  "service.wallet_role": WalletRoleTable;
  "service.external_transaction": ExternalTransactionTable;
}

/** A collection, its update, or an operation on a product contract (src/transactions/chain/request-call.ts). */
export type IntentKind =
  | "deploy"
  | "update"
  | "contract"
  | "contract_update"
  | "mint"
  | "token_update"
  | "burn"
  | "transfer";

/** What our transaction calls: a factory, a collection, or the operator of product contracts. */
export type CallKind = "deploy" | "update" | "operate";

/** service.intent_edge has the allowed transitions between these; a trigger refuses all others. */
export type IntentState =
  | "queued"
  | "held"
  | "assigned"
  | "batched"
  | "signed"
  | "in_flight"
  | "mined"
  | "mined_reverted"
  | "mined_cancellation"
  | "confirmed"
  | "finalized"
  | "failed_onchain"
  | "cancelled"
  | "expired"
  | "nonce_conflict"
  | "retried";

/** Numeric columns arrive as decimal text. */
type Wei = ColumnType<string, bigint, bigint>;

interface AllowlistTable {
  id: string;
  /** The owner's account; null for lists older than migration 0201 that no request refers to. */
  tenant_id: string | null;
  root: Buffer;
  /** Size of its entries, set by a trigger. */
  bytes: Generated<bigint>;
  /** Spelling and order as sent, without repeats. */
  entries: string[];
  /** Its Merkle tree and each wallet's position in it (`StoredTree`); null until they are built. */
  tree: Generated<Buffer | null>;
  members: Generated<Buffer | null>;
  created_at: Generated<Date>;
}

interface IntentTable {
  id: string;
  root_id: string;
  retry_number: Generated<number>;
  tenant_id: string;
  idem_key: string | null;
  idem_derived: boolean;
  req_hash: Buffer;
  chain_id: number;
  kind: IntentKind;
  /** The request as accepted: see `DeploymentPayload` and `OperationPayload`; for an update `{contract, changes}`. */
  payload: ColumnType<unknown, string, string>;
  allowlist_id: string | null;
  factory: Buffer;
  template: Buffer;
  owner: Buffer;
  init_data: Buffer;
  salt: Buffer;
  /** The new contract's CREATE2 address, not to be shown before `confirmed`; or the contract that is operated on. */
  predicted_addr: Buffer;
  state: Generated<IntentState>;
  hold_reason: Generated<string | null>;
  /** The hold reason in words, with the answer of the contract or node. */
  hold_detail: Generated<string | null>;
  version: Generated<number>;
  reserved_wei: ColumnType<string, bigint | undefined, bigint>;
  /** See `CountedGas`; null in older rows. Retries have only the ceiling. */
  gas: ColumnType<bigint | null, bigint | null | undefined, never>;
  gas_ceiling: ColumnType<bigint | null, bigint | null | undefined, never>;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
  expires_at: Generated<Date>;
  settled_at: Generated<Date | null>;
  /** Order of acceptance. */
  seq: Generated<bigint>;
  cancel_requested_at: Generated<Date | null>;
  /** The transaction that made the collection, if it is not one of the intent's own nonce. */
  found_tx: Generated<Buffer | null>;
  /** Its block. Unless the transaction is a batch's, the block was final when it was recorded. Null in older rows. */
  found_block: Generated<bigint | null>;
  /** For a batch member: the intent whose transaction includes it, or once did. */
  batch_lead: Generated<string | null>;
  /** For a batch's lead: the operator's whole call. */
  batch_call: Generated<Buffer | null>;
}

/** Written by a trigger. */
interface IntentHistoryTable {
  id: Generated<bigint>;
  intent_id: string;
  at: Generated<Date>;
  state: IntentState;
  hold_reason: string | null;
  detail: string | null;
}

interface RelayerWalletTable {
  chain_id: number;
  addr: Buffer;
  genesis_hash: Buffer;
  next_nonce: bigint;
  state: Generated<"open" | "paused_funds" | "reconcile" | "halted">;
  /** What the wallet's next transaction needs, while the wallet is paused for funds. */
  needed_wei: ColumnType<string | null, bigint | null | undefined, bigint | null>;
  /** The request that it was paused for. Null also when an earlier version paused it. */
  needed_for: ColumnType<string | null, never, string | null>;
  /** The database (`service.incarnation()`) that last asked the mempools for this wallet's nonces. */
  basis: Generated<string | null>;
  /** Since when `basis` has its value. */
  basis_at: ColumnType<Date | null, never, Date>;
}

/** The roles that a worker last read from the factory. */
interface WalletRoleTable {
  chain_id: number;
  addr: Buffer;
  has_role: boolean;
  checked_at: Generated<Date>;
}

/** What another installation sent from a wallet of this one. */
interface ExternalTransactionTable {
  chain_id: number;
  addr: Buffer;
  nonce: bigint;
  hash: Buffer;
  kind: CallKind;
  root_id: string | null;
  seen_at: Generated<Date>;
  /** Its request came again, so it was this installation's own, whose rows were lost. Set by a trigger. */
  explained: Generated<boolean>;
}

interface NonceReservationTable {
  chain_id: number;
  addr: Buffer;
  nonce: bigint;
  intent_id: string | null;
  kind: CallKind | "cancellation";
  state: Generated<"open" | "mined" | "external">;
  mined_block: Generated<bigint | null>;
  mined_block_hash: Generated<Buffer | null>;
  /** Hash of the attempt that was mined. */
  mined_attempt: Generated<Buffer | null>;
  mined_cost_wei: ColumnType<string | null, bigint | null | undefined, bigint | null>;
  created_at: Generated<Date>;
  /** The nonce was found in use, with no row that says for what. */
  found: Generated<boolean>;
  /** Root of the request whose deployment the found transaction is. */
  found_root: Generated<string | null>;
}

interface AttemptTable {
  hash: Buffer;
  chain_id: number;
  addr: Buffer;
  nonce: bigint;
  kind: CallKind | "cancellation" | "imported";
  raw: Buffer;
  max_fee: Wei;
  tip: Wei;
  gas: bigint;
  /** Upper bound of the data fee of the chain below (L1). */
  data_wei: ColumnType<string, bigint | undefined, bigint>;
  created_at: Generated<Date>;
  /** The newest block at signing. */
  head_block: Generated<bigint | null>;
}

/** Which mint a token id belongs to; written by triggers. */
interface TokenClaimTable {
  chain_id: number;
  contract: Buffer;
  /** Decimal text. */
  token_id: ColumnType<string, string, never>;
  tenant_id: string;
  root_id: string;
}

interface AttemptEventTable {
  id: Generated<bigint>;
  attempt_hash: Buffer;
  at: Generated<Date>;
  provider: string;
  method: string;
  outcome_code: string;
  detail: string | null;
}
