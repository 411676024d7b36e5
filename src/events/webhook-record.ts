import type { Selectable } from "kysely";
import type { Database } from "../db/database.ts";
import type { EventFilter } from "../outbox/event-filter.ts";
import { publicKeyText, unseal } from "../outbox/sign-webhook.ts";
import { mostChallenges } from "./retry-schedule.ts";
import type { WebhookServices } from "./webhook-owner.ts";

export type WebhookRow = Selectable<Database["service.webhook"]>;

/** An endpoint that is sent to, with what its account's plan leaves of today; null: any number of messages. */
export type ClaimedWebhook = WebhookRow & { tries_left: number | null };

/** An endpoint as its account sees it. */
export interface Webhook {
  id: string;
  url: string;
  description: string;
  types: readonly string[];
  /** Names. */
  chains: readonly string[];
  contracts: readonly string[];
  accounts: readonly string[];
  tokenIds: readonly string[];
  finality: string;
  /** `unverified` where it would be enabled and has not answered its challenge. */
  state: string;
  /** Of a disabled one: `gone` or `failing`. */
  disabledReason: string | null;
  /** When it was disabled last; null: never. */
  disabledAt: Date | null;
  /**
   * Why what waits is not sent although it is enabled: `failed`, a thousand messages failed and wait; `tries`, the plan's
   * messages of the day are used; `rate`, its host was sent as many as it may be in a second; `storage`, the service's is
   * nearly full; `verification`, it has not answered its challenge.
   */
  waiting: string | null;
  /** When it answered its challenge; null: not yet. */
  verifiedAt: Date | null;
  /** The last challenge that was sent to it, and what came of it. */
  verificationTry: DeliveryTry | null;
  /** When the next one is sent; null: none is, until its owner asks. */
  verificationAt: Date | null;
  /** When its tries began to fail; null: the last one did not. */
  failingSince: Date | null;
  /** `whpk_…`: for receivers that check `v1a`. */
  publicKey: string;
  createdAt: Date;
}

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

export function filterOfRow(row: WebhookRow): EventFilter {
  const { types, chains, contracts, accounts, finality } = row;
  return { types, chains, contracts, accounts, tokenIds: row.token_ids, finality };
}

export function toWebhook({ feed, config }: Pick<WebhookServices, "feed" | "config">, row: WebhookRow): Webhook {
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
    state: isAsked ? "unverified" : row.state,
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

/** The secrets that are valid now, the newest first. */
export function secretsOf(row: WebhookRow, pepper: string): Buffer[] {
  const previous =
    row.previous_secret && row.previous_until && row.previous_until > new Date() ? [row.previous_secret] : [];
  return [row.secret, ...previous].map((sealed) => unseal(sealed, pepper));
}
