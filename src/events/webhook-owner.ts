import type { ExpressionBuilder } from "kysely";
import type { Plan } from "../auth/plan.ts";
import type { Config } from "../config/config.ts";
import type { Database } from "../db/database.ts";
import type { Services } from "../services.ts";

/** Whose endpoints: those of an account, through its key (a `Caller`), or the operator's own, by command. */
export interface WebhookOwner {
  /** Null: the operator. */
  accountId: string | null;
  keyId?: string;
  requestId?: string;
  /** For the audit log, where it is not the key or the account. */
  actor?: string;
  /** Of an account that came through a key. */
  plan?: Plan;
}

/** What the functions of endpoints need; commands run without the rest of the service. */
export type WebhookServices = Pick<Services, "db" | "pool" | "config" | "chains"> & {
  feed: Pick<Services["feed"], "nameOfChain">;
};

export function ownedBy({ accountId }: WebhookOwner) {
  return (is: ExpressionBuilder<Database, "service.webhook">) =>
    accountId === null ? is("account_id", "is", null) : is("account_id", "=", accountId);
}

/** An account's endpoint may be somebody else's server, whatever its plan; the operator names none that is. */
export function needsHandshake({ webhooks }: Config, accountId: string | null): boolean {
  return accountId !== null && webhooks.handshake;
}

/** An operator's receiver stands beside the service as a rule; that of an account may never lead into its network. */
export function allowsPrivate({ webhooks }: Config, accountId: string | null): boolean {
  return accountId === null || webhooks.allowPrivate;
}
