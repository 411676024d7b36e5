import type { Scope, Tier } from "../db/tables/accounts.ts";
import type { Plan } from "./plan.ts";

/** The account behind a request's key. */
export interface Caller {
  accountId: string;
  tier: Tier;
  /** Identifies this request in logs and answers. */
  requestId: string;
  /** The tier's policy as set by the operator; absent: the default one. */
  plan?: Plan;
  /** Absent: a caller without a key, as in tests and commands. */
  keyId?: string;
}

/** A caller who sent a key. */
export interface Session extends Caller {
  keyId: string;
  scopes: readonly Scope[];
  plan: Plan;
  /** The account's requests in this calendar month, as counted in the database so far. */
  requestsThisMonth: number;
}
