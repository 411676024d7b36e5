import { createPoster, type Poster } from "../outbound/post.ts";
import type { Rounds } from "../rounds.ts";
import type { Services } from "../services.ts";
import { causeOf } from "../telemetry/log-once.ts";
import { type ClaimedWebhook, claimWebhooks, holdForStorage, serveWebhook, webhookPlaces } from "./deliver-webhooks.ts";
import { keepEvents } from "./keep-events.ts";
import { WebhookMatcher } from "./match-webhooks.ts";
import { type Item, readDueRows, readWaiting } from "./read-waiting.ts";
import { RecentEvents } from "./recent-events.ts";
import { allowsPrivate } from "./webhook-owner.ts";
import type { WebhookRow } from "./webhook-record.ts";
import { renewInterests } from "./webhooks.ts";

/** What is due again; while nobody has an endpoint, events whose notification was lost. */
const pace = { periodMs: 1_000, rests: true };
const upkeepMs = 600_000;

/** Sends events to endpoints until the signal, and drops those that are too old. */
export async function runWebhooks(services: Services, rounds: Rounds): Promise<void> {
  const { config, log } = services;
  const posters = {
    ofAccounts: createPoster({ allowPrivate: allowsPrivate(config, "") }),
    ofOperator: createPoster({ allowPrivate: allowsPrivate(config, null) }),
  };
  const recent = new RecentEvents();
  const matcher = new WebhookMatcher(services, recent);
  const serving = new Serving(services, posters, recent, rounds);
  let kept = Number.NEGATIVE_INFINITY;
  let isUsed = false;
  const round = async () => {
    if (performance.now() - kept > upkeepMs) {
      kept = performance.now();
      await renewInterests(services);
      const dropped = await keepEvents(services);
      if (dropped > 0) log.info({ partitions: dropped }, "dropped events that are too old");
    }
    isUsed = await matcher.matchAll();
    rounds.eventsWanted = isUsed;
    if (isUsed) await serving.begin();
    return isUsed ? "soon" : "rest";
  };
  // An event is sent at once where somebody gets it.
  await rounds.repeat(round, { ...pace, eager: () => isUsed }, { log, failing: "webhooks could not be sent" });
  await serving.end();
  for (const poster of Object.values(posters)) await poster.close();
}

/** Endpoints that are being sent to. */
class Serving {
  readonly #services: Services;
  readonly #posters: { ofAccounts: Poster; ofOperator: Poster };
  readonly #recent: RecentEvents;
  readonly #rounds: Rounds;
  readonly #running = { quick: new Map<string, WebhookRow>(), slow: new Map<string, WebhookRow>() };
  readonly #works = new Set<Promise<void>>();

  constructor(
    services: Services,
    posters: { ofAccounts: Poster; ofOperator: Poster },
    recent: RecentEvents,
    rounds: Rounds,
  ) {
    this.#services = services;
    this.#posters = posters;
    this.#recent = recent;
    this.#rounds = rounds;
  }

  /** Claims as many endpoints as there are places, and begins to send to them. */
  async begin(): Promise<void> {
    const { full: marks } = await this.#services.disk.status();
    const full = marks.some((mark) => mark !== "free_accounts");
    if (full) await holdForStorage(this.#services);
    for (const kind of ["quick", "slow"] as const) while (await this.#claim(kind, full));
  }

  /** @returns whether there may be more to claim. */
  async #claim(kind: keyof typeof webhookPlaces, full: boolean): Promise<boolean> {
    const { all, ofAccount } = webhookPlaces[kind];
    // One claim may find endpoints of one account alone: with half of its places at most before, it has all after it.
    const most = Math.floor(ofAccount / 2);
    const limit = Math.min(all - this.#running[kind].size, most);
    if (limit <= 0) return false;
    const claimed = await claimWebhooks(this.#services, kind, limit, {
      busy: this.#busyAccounts(kind, most),
      full,
    });
    if (claimed.length === 0) return false;
    const due = await readDueRows(this.#services, claimed);
    for (const row of claimed) this.#serve(kind, row, due.get(row.id) ?? []);
    return claimed.length === limit;
  }

  async end(): Promise<void> {
    await Promise.allSettled(this.#works);
  }

  #serve(kind: keyof typeof webhookPlaces, row: ClaimedWebhook, due: readonly Item[]): void {
    const running = this.#running[kind];
    running.set(row.id, row);
    const poster = row.account_id === null ? this.#posters.ofOperator : this.#posters.ofAccounts;
    const work = readWaiting(this.#services, this.#recent, row, due)
      .then((waiting) => serveWebhook(this.#services, poster, row, waiting, this.#rounds.signal))
      .then(() => undefined)
      .catch((error: unknown) => {
        // The claim ends by itself, and the deliveries are tried again: at least once.
        this.#services.logOnce.write(
          "warn",
          `webhook ${causeOf(error)}`,
          { err: error, webhook: row.id },
          "a delivery could not be noted",
        );
      })
      .finally(() => {
        running.delete(row.id);
        this.#works.delete(work);
        this.#rounds.wake();
      });
    this.#works.add(work);
  }

  /** Accounts that have more than so many places. */
  #busyAccounts(kind: keyof typeof webhookPlaces, most: number): string[] {
    const counts = new Map<string, number>();
    for (const { account_id } of this.#running[kind].values())
      if (account_id !== null) counts.set(account_id, (counts.get(account_id) ?? 0) + 1);
    return [...counts].filter(([, count]) => count > most).map(([account]) => account);
  }
}
