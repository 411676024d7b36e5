import type { ColumnType, Generated } from "kysely";

export type Tier = "free" | "growth" | "scale" | "enterprise";

/** What a key may be used for; `admin` manages the keys of its own account. */
export type Scope = "read" | "upload" | "deploy" | "admin";

export type ChargeState = "open" | "settled" | "void" | "refund_due" | "refunded";

export interface AccountTables {
  "service.account": AccountTable;
  "service.api_key": ApiKeyTable;
  "service.key_secret": KeySecretTable;
  "service.wallet_login": WalletLoginTable;
  "service.sign_in_nonce": SignInNonceTable;
  "service.plan": PlanTable;
  "service.charge": ChargeTable;
  "service.account_storage": AccountStorageTable;
  "service.audit_log": AuditLogTable;
}

interface AccountTable {
  id: Generated<string>;
  name: string;
  email: string | null;
  tier: Tier;
  suspended: Generated<boolean>;
  created_at: Generated<Date>;
}

/** `id` is public: `key_` and 32 hex digits. */
interface ApiKeyTable {
  id: Generated<string>;
  account_id: string;
  name: string;
  scopes: Scope[];
  expires_at: Date | null;
  revoked_at: Date | null;
  last_used_at: Date | null;
  /** The wallet that signed in; null: this is a key and no session. */
  wallet: ColumnType<Buffer | null, Buffer | undefined, never>;
  created_at: Generated<Date>;
}

/** `digest` is HMAC-SHA256(pepper, key in canonical form); the key itself is never stored. */
interface KeySecretTable {
  digest: Buffer;
  account_id: string;
  key_id: string;
  kind: "uuid" | "secret" | "session";
  revoked_at: Date | null;
  created_at: Generated<Date>;
}

/** `chain_id` is 0 for a wallet that signs with its own private key. */
interface WalletLoginTable {
  address: Buffer;
  chain_id: number;
  account_id: string;
  created_at: Generated<Date>;
}

/** SHA-256 of the nonce, and of the cookie of the browser that requested it. */
interface SignInNonceTable {
  digest: Buffer;
  browser: Buffer;
  expires_at: Date;
}

/** A tier's policy; null: no limit. The migration documents each column. */
export interface PlanTable {
  tier: Tier;
  reads_per_second: number | null;
  uploads_per_minute: number | null;
  deploys_per_minute: number | null;
  requests_per_month: bigint | null;
  mints_included: number | null;
  max_mints: number | null;
  contracts_included: number | null;
  max_contracts: number | null;
  max_supply: string | null;
  paid_chains: boolean;
  window_days: number | null;
  storage_bytes: bigint | null;
  uploads_at_once: number | null;
  max_awaited_deployments: number | null;
  max_allowlists: number | null;
  allowlist_bytes: bigint | null;
  transactions_per_day: number | null;
  transactions_per_month: number | null;
  deploy_gas: bigint | null;
  update_gas: bigint | null;
  token_gas: bigint | null;
  deploy_requests_per_day: number | null;
  upload_requests_per_day: number | null;
  max_webhooks: number | null;
  webhook_tries_per_day: number | null;
  whole_chain_webhooks: boolean;
}

/** Maintained by triggers on `service.upload` and `service.allowlist`; no row: nothing is stored. */
interface AccountStorageTable {
  account_id: string;
  bytes: bigint;
  allowlists: number;
  allowlist_bytes: bigint;
}

interface ChargeTable {
  id: Generated<string>;
  account_id: string;
  /** The intent's `root_id`. */
  root_id: string;
  chain_id: number;
  kind: string;
  usd_cents: number;
  state: Generated<ChargeState>;
  note: string | null;
  created_at: Generated<Date>;
  changed_at: Generated<Date>;
}

/** `seq`, `at` and the hashes are filled in by a trigger. */
interface AuditLogTable {
  seq: ColumnType<bigint, never, never>;
  at: ColumnType<Date, never, never>;
  actor: string;
  request_id: string | null;
  action: string;
  object: string;
  before: ColumnType<unknown, string | null, never>;
  after: ColumnType<unknown, string | null, never>;
  prev_hash: ColumnType<Buffer, never, never>;
  hash: ColumnType<Buffer, never, never>;
}
