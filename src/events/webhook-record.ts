import type { ExpressionBuilder, Selectable } from "kysely";
import type { Plan } from "../auth/plan.ts";
import type { Config } from "../config/config.ts";
import type { Database } from "../db/database.ts";
import type { EventFilter } from "../outbox/event-filter.ts";
import { finalities } from "../outbox/event-row.ts";
import { publicKeyText, type SigningKeys, unseal } from "../outbox/sign-webhook.ts";
import type { MembersOf } from "../requests/answer-members.ts";
import type { Services } from "../services.ts";
import { mostChallenges } from "./retry-schedule.ts";

/** The owner of endpoints: an account, through its key (a `Caller`), or the operator, by command. */
export interface WebhookOwner {
  /** Null: the operator. */
  accountId: string | null;
  keyId?: string;
  requestId?: string;
  /** For the audit log, if it is not the key or the account. */
  actor?: string;
  /** Only for an account that came through a key. */
  plan?: Plan;
}

/** Dependencies of the endpoint functions; commands have no other services. */
export type WebhookServices = Pick<Services, "db" | "pool" | "config" | "chains"> & {
  feed: Pick<Services["feed"], "nameOfChain">;
};

export function ownedBy({ accountId }: WebhookOwner) {
  return (is: ExpressionBuilder<Database, "service.webhook">) =>
    accountId === null ? is("account_id", "is", null) : is("account_id", "=", accountId);
}

/** An account's endpoint may be somebody else's server, whatever its plan; the operator's are trusted. */
export function needsHandshake({ webhooks }: Config, accountId: string | null): boolean {
  return accountId !== null && webhooks.handshake;
}

/** An operator's receiver is often next to the service; an account's must never lead into the service's network. */
export function allowsPrivate({ webhooks }: Config, accountId: string | null): boolean {
  return accountId === null || webhooks.allowPrivate;
}

export type WebhookRow = Selectable<Database["service.webhook"]>;

/** A claimed endpoint, with the messages that its account's plan has left for today; null: unlimited. */
export type ClaimedWebhook = WebhookRow & { tries_left: number | null };

export interface DeliveryTry {
  attempt: number;
  at: Date;
  status: number | null;
  fault: string | null;
  milliseconds: number;
  answer: string | null;
}

export const tryMembers: MembersOf<DeliveryTry> = {
  attempt: { kind: "integer", doc: "The number of the attempt to deliver this message, from 1." },
  at: { kind: "date", doc: "When the attempt was made." },
  status: { kind: "integer", nullable: true, doc: "The HTTP status of the answer. Null if there was no answer." },
  fault: {
    kind: "text",
    nullable: true,
    doc: "A code for a failure that the status does not show, such as `no_challenge` (the answer did not repeat the challenge). Null otherwise.",
  },
  milliseconds: { kind: "integer", doc: "How long the attempt took, in milliseconds." },
  answer: { kind: "text", nullable: true, doc: "The first kilobyte of the answer. Null if there was no answer." },
};

/** Reads a try as PostgreSQL stores it. */
export function toTry(stored: unknown): DeliveryTry {
  const one = stored as DeliveryTry & { at: string };
  return { ...one, at: new Date(one.at) };
}

/** Whether no challenge is sent any more until its owner asks. */
export function restsUnverified({ verified_at: verified, challenges }: WebhookRow): boolean {
  return verified === null && challenges >= mostChallenges;
}

export function filterOfRow({ types, chains, contracts, accounts, token_ids, finality }: WebhookRow): EventFilter {
  return { types, chains, contracts, accounts, tokenIds: token_ids, finality };
}

export type Webhook = ReturnType<typeof toWebhook>;

/** All members but `verificationTry`, the last challenge that was sent. */
export const webhookMembers: MembersOf<Webhook> = {
  id: { kind: "id", doc: "The id of the endpoint: `wh_` and 32 hex digits." },
  url: { kind: "text", doc: "The URL that messages are sent to, by POST." },
  description: { kind: "text", doc: "Your note about the endpoint; may be empty." },
  types: { kind: "texts", doc: "The event types that the endpoint receives, or prefixes of them. Empty for all." },
  chains: { kind: "texts", doc: "The chains whose events the endpoint receives, by name. Empty for all." },
  contracts: { kind: "texts", doc: "The contracts whose events the endpoint receives, by address. Empty for all." },
  accounts: { kind: "texts", doc: "The accounts whose transfers the endpoint receives, by address. Empty for all." },
  tokenIds: { kind: "texts", doc: "The token ids whose events the endpoint receives, decimal. Empty for all." },
  finality: {
    kind: "text",
    words: finalities,
    doc: "When a transfer is sent: `latest` (at once, and retracted if a reorganisation removes it), `safe` or `finalized` (once its block is).",
  },
  state: {
    kind: "text",
    words: ["enabled", "unverified", "paused", "disabled"],
    doc: "The state of the endpoint: `enabled`, `paused`, `disabled`, or `unverified` (it has not answered its challenge, and receives nothing else until it does).",
  },
  disabledReason: {
    kind: "text",
    nullable: true,
    doc: "Why the endpoint was disabled: `gone` (it answered 410) or `failing` (no success for five days). Null unless it is disabled.",
  },
  disabledAt: { kind: "date", nullable: true, doc: "When the endpoint was last disabled. Null if it never was." },
  waiting: {
    kind: "text",
    nullable: true,
    doc: "Why messages wait although the endpoint is enabled: `failed` (1,000 failed messages wait), `tries` (the plan's messages of the day are used up), `rate` (the service's rate limit for its host is reached), `storage` (the service's disk is nearly full) or `verification` (it has not answered its challenge). Null otherwise.",
  },
  verifiedAt: {
    kind: "date",
    nullable: true,
    doc: "When the endpoint answered its challenge. Null if it has not; until then it receives nothing else.",
  },
  verificationAt: {
    kind: "date",
    nullable: true,
    doc: "When the next challenge is sent. Null if none is scheduled; you can request one.",
  },
  failingSince: {
    kind: "date",
    nullable: true,
    doc: "When messages to the endpoint began to fail. Null if the last one did not fail.",
  },
  publicKey: { kind: "text", doc: "The public key of the `v1a` (ed25519) signatures, `whpk_…`." },
  createdAt: { kind: "date", doc: "When the endpoint was created." },
};

/** An endpoint in the form that its account gets. */
export function toWebhook({ feed, config }: Pick<WebhookServices, "feed" | "config">, row: WebhookRow) {
  const isAsked = row.state === "enabled" && row.verified_at === null;
  const hex = (bytes: Buffer) => `0x${bytes.toString("hex")}`;
  return {
    id: row.id,
    url: row.url,
    description: row.description,
    types: row.types,
    chains: row.chains.map(feed.nameOfChain),
    contracts: row.contracts.map(hex),
    accounts: row.accounts.map(hex),
    tokenIds: row.token_ids,
    finality: row.finality,
    state: isAsked ? ("unverified" as const) : row.state,
    disabledReason: row.disabled_reason,
    disabledAt: row.disabled_at,
    waiting: row.held,
    verifiedAt: row.verified_at,
    verificationTry: row.challenge_try === null ? null : toTry(row.challenge_try),
    verificationAt: isAsked && !restsUnverified(row) ? row.next_due : null,
    failingSince: row.failing_since,
    publicKey: publicKeyText(unseal(row.signing_key, config.keyPepper)),
    createdAt: row.created_at,
  };
}

/** The keys that sign its messages: the secrets that are valid now, the newest first, and its own ed25519 key. */
export function signingKeysOf(row: WebhookRow, pepper: string): SigningKeys {
  const previous =
    row.previous_secret && row.previous_until && row.previous_until > new Date() ? [row.previous_secret] : [];
  return {
    secrets: [row.secret, ...previous].map((sealed) => unseal(sealed, pepper)),
    signingKey: unseal(row.signing_key, pepper),
  };
}
