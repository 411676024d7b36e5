import type { Tier } from "../db/tables/accounts.ts";

/** Who asks: the account behind the key of a request. */
export interface Caller {
  accountId: string;
  tier: Tier;
  /** Names this request in logs and answers. */
  requestId: string;
}
