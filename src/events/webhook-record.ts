import type { ExpressionBuilder, Selectable } from "kysely";
import type { Plan } from "../auth/plan.ts";
import type { Config } from "../config/config.ts";
import type { Database } from "../db/database.ts";
import type { EventFilter } from "../outbox/event-filter.ts";
import { publicKeyText, type SigningKeys, unseal } from "../outbox/sign-webhook.ts";
import type { Services } from "../services.ts";
import { mostChallenges } from "./retry-schedule.ts";

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

export type WebhookRow = Selectable<Database["service.webhook"]>;

/** An endpoint that is sent to, with what its account's plan leaves of today; null: any number of messages. */
export type ClaimedWebhook = WebhookRow & { tries_left: number | null };

/** One try to reach an endpoint. */
export interface DeliveryTry {
  attempt: number;
  at: Date;
  status: number | null;
  fault: string | null;
  milliseconds: number;
  answer: string | null;
}

/** A try as PostgreSQL keeps it. */
export function toTry(stored: unknown): DeliveryTry {
  const one = stored as DeliveryTry & { at: string };
  return { ...one, at: new Date(one.at) };
}

/** Whether it is sent no challenge any more until its owner asks. */
export function restsUnverified({ verified_at: verified, challenges }: WebhookRow): boolean {
  return verified === null && challenges >= mostChallenges;
}

export function filterOfRow({ types, chains, contracts, accounts, token_ids, finality }: WebhookRow): EventFilter {
  return { types, chains, contracts, accounts, tokenIds: token_ids, finality };
}

export type Webhook = ReturnType<typeof toWebhook>;

/** An endpoint as its account sees it. */
export function toWebhook({ feed, config }: Pick<WebhookServices, "feed" | "config">, row: WebhookRow) {
  const isAsked = row.state === "enabled" && row.verified_at === null;
  const hex = (bytes: Buffer) => `0x${bytes.toString("hex")}`;
  return {
    id: row.id,
    url: row.url,
    description: row.description,
    types: row.types,
    /** Names. */
    chains: row.chains.map(feed.nameOfChain),
    contracts: row.contracts.map(hex),
    accounts: row.accounts.map(hex),
    tokenIds: row.token_ids,
    finality: row.finality,
    /** `unverified` where it would be enabled and has not answered its challenge. */
    state: isAsked ? "unverified" : row.state,
    /** Of a disabled one: `gone` or `failing`. */
    disabledReason: row.disabled_reason,
    /** When it was disabled last; null: never. */
    disabledAt: row.disabled_at,
    /**
     * Why what waits is not sent although it is enabled: `failed`, a thousand messages failed and wait; `tries`, the plan's
     * messages of the day are used; `rate`, its host was sent as many as it may be in a second; `storage`, the service's is
     * nearly full; `verification`, it has not answered its challenge.
     */
    waiting: row.held,
    /** When it answered its challenge; null: not yet. */
    verifiedAt: row.verified_at,
    /** The last challenge that was sent to it, and what came of it. */
    verificationTry: row.challenge_try === null ? null : toTry(row.challenge_try),
    /** When the next one is sent; null: none is, until its owner asks. */
    verificationAt: isAsked && !restsUnverified(row) ? row.next_due : null,
    /** When its tries began to fail; null: the last one did not. */
    failingSince: row.failing_since,
    /** `whpk_…`: for receivers that check `v1a`. */
    publicKey: publicKeyText(unseal(row.signing_key, config.keyPepper)),
    createdAt: row.created_at,
  };
}

/** What its messages are signed with: the secrets that are valid now, the newest first, and its own key. */
export function signingKeysOf(row: WebhookRow, pepper: string): SigningKeys {
  const previous =
    row.previous_secret && row.previous_until && row.previous_until > new Date() ? [row.previous_secret] : [];
  return {
    secrets: [row.secret, ...previous].map((sealed) => unseal(sealed, pepper)),
    signingKey: unseal(row.signing_key, pepper),
  };
}
