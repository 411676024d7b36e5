import type { Generated } from "kysely";

export type Tier = "free" | "growth" | "scale" | "enterprise";

export interface AccountTables {
  "service.account": AccountTable;
  "service.key_secret": KeySecretTable;
}

interface AccountTable {
  id: Generated<string>;
  name: string;
  email: string | null;
  tier: Tier;
  suspended: Generated<boolean>;
  created_at: Generated<Date>;
}

/** `digest` is HMAC-SHA256(pepper, key in canonical form); the key itself is never stored. */
interface KeySecretTable {
  digest: Buffer;
  account_id: string;
  kind: "uuid" | "secret";
  revoked_at: Date | null;
  created_at: Generated<Date>;
}
