import type { Selectable } from "kysely";
import type { Database } from "../db/database.ts";
import type { EventFilter } from "../outbox/event-filter.ts";
import { publicKeyText, unseal } from "../outbox/sign-webhook.ts";
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
  state: string;
  /** Of a disabled one: `gone` or `failing`. */
  disabledReason: string | null;
  /** When it was disabled last; null: never. */
  disabledAt: Date | null;
  /**
   * Why what waits is not sent although it is enabled: `failed`, a thousand messages failed and wait; `tries`, the plan's
   * messages of the day are used; `rate`, its host was sent as many as it may be in a second; `storage`, the service's is nearly full.
   */
  waiting: string | null;
  /** When its tries began to fail; null: the last one did not. */
  failingSince: Date | null;
  /** `whpk_…`: for receivers that check `v1a`. */
  publicKey: string;
  createdAt: Date;
}

export function filterOfRow(row: WebhookRow): EventFilter {
  const { types, chains, contracts, accounts, finality } = row;
  return { types, chains, contracts, accounts, tokenIds: row.token_ids, finality };
}

export function toWebhook({ feed, config }: Pick<WebhookServices, "feed" | "config">, row: WebhookRow): Webhook {
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
    state: row.state,
    disabledReason: row.disabled_reason,
    disabledAt: row.disabled_at,
    waiting: row.held,
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
