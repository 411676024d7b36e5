import type { Scope, Tier } from "../db/tables/accounts.ts";
import type { Plan } from "./plan.ts";

/** Who asks: the account behind the key of a request. */
export interface Caller {
  accountId: string;
  tier: Tier;
  /** Names this request in logs and answers. */
  requestId: string;
  /** The tier's policy as the operator has set it; absent: the default one. */
  plan?: Plan;
  /** Absent: the caller came without a key, as tests and commands do. */
  keyId?: string;
}

/** A caller who came through a key. */
export interface Session extends Caller {
  keyId: string;
  scopes: readonly Scope[];
  plan: Plan;
  /** Requests of this account in the calendar month, as far as they are counted in the database. */
  requestsThisMonth: number;
}
