import type { ColumnType, Generated } from "kysely";

export interface EventTables {
  "service.webhook": WebhookTable;
}

export type WebhookState = "enabled" | "paused" | "disabled";

interface WebhookTable {
  id: Generated<string>;
  /** Null: the operator's endpoint. */
  account_id: string | null;
  url: string;
  description: string;
  types: readonly string[];
  chains: readonly number[];
  contracts: readonly Buffer[];
  accounts: readonly Buffer[];
  /** Decimal. */
  token_ids: readonly string[];
  finality: "latest" | "safe" | "finalized";
  state: Generated<WebhookState>;
  disabled_reason: Generated<string | null>;
  disabled_at: Generated<Date | null>;
  secret: Buffer;
  previous_secret: Generated<Buffer | null>;
  previous_until: Generated<Date | null>;
  signing_key: Buffer;
  since: bigint;
  /** Events up to this one are done, or have a row in `service.webhook_delivery`; so do those in `ahead`. */
  cursor: Generated<bigint>;
  ahead: Generated<bigint[]>;
  /** The newest event that the filter matched. */
  wanted: Generated<bigint>;
  /** See `storedReplay` (src/events/read-waiting.ts). */
  replays: ColumnType<unknown, never, never>;
  held: Generated<string | null>;
  next_due: Generated<Date | null>;
  lease_id: Generated<string | null>;
  lease_until: Generated<Date | null>;
  failures: Generated<number>;
  slow: Generated<boolean>;
  /** Whether it has ever answered quickly. */
  proven: Generated<boolean>;
  failing_since: Generated<Date | null>;
  /** When it answered its challenge; null: not yet, and nothing else is sent to it. */
  verified_at: Generated<Date | null>;
  /** Tries since its owner last asked for a challenge. */
  challenges: Generated<number>;
  /** The last try of the challenge, in the form of a delivery's try. */
  challenge_try: ColumnType<unknown, never, null>;
  created_at: Generated<Date>;
  changed_at: Generated<Date>;
}
