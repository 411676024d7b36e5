import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import type { EmbeddedPostgres } from "../../../src/embedded/postgres.ts";
import type { keepIndexer } from "./keep-indexer.ts";

/** What is killed with SIGKILL; `power`: all three at the same moment, as when a machine loses its power. */
export type Victim = "ponder" | "launcher" | "postgres" | "power";

export interface KillParts {
  databaseUrl: string;
  indexer: ReturnType<typeof keepIndexer>;
  postgres: EmbeddedPostgres;
  startPostgres(): Promise<EmbeddedPostgres>;
  /** Requests that the indexer has made so far. */
  asked(): number;
}

/** How long a kill waits until the index has caught up after the one before. */
const timeoutMs = 30_000;
/** Requests of a new process before it may be killed: it is in the middle of its start then. */
const leastAsked = 10;
/** Four Ponders in eight; a run with four kills has met each victim. */
const order: readonly Victim[] = ["ponder", "launcher", "postgres", "power", "ponder", "ponder", "launcher", "ponder"];

/** Kills parts of the indexer one after the other and starts PostgreSQL again; the launcher comes back by itself. */
export class Kills {
  readonly counts: Record<Victim, number> = { ponder: 0, launcher: 0, postgres: 0, power: 0 };
  /** Kills after which the index had caught up before the next one. */
  recovered = 0;
  readonly #parts: KillParts;
  readonly #goal: number;
  #hasRecovered = true;
  #askedAtKill = 0;
  #killedAt = 0;

  constructor(parts: KillParts, goal: number) {
    this.#parts = parts;
    this.#goal = goal;
  }

  get count(): number {
    return Object.values(this.counts).reduce((sum, count) => sum + count, 0);
  }

  get postgres(): EmbeddedPostgres {
    return this.#parts.postgres;
  }

  /** Every fourth one comes when the index has caught up, the others while it is starting. */
  async perhaps(random: (below: number) => number): Promise<void> {
    const { asked, databaseUrl } = this.#parts;
    if (!this.#hasRecovered && (await isFresh(databaseUrl, this.#killedAt))) {
      this.#hasRecovered = true;
      this.recovered += 1;
    }
    const { count } = this;
    const isWaiting = count % 4 === 0 && !this.#hasRecovered && Date.now() - this.#killedAt < timeoutMs;
    if (count >= this.#goal || isWaiting || asked() <= this.#askedAtKill + leastAsked || random(3) !== 0) return;
    const victim = order[count % order.length] ?? "ponder";
    const killedAt = Date.now();
    if (!(await this.#kill(victim))) return;
    this.counts[victim] += 1;
    this.#killedAt = killedAt;
    this.#askedAtKill = asked();
    this.#hasRecovered = false;
  }

  async #kill(victim: Victim): Promise<boolean> {
    const { indexer, startPostgres } = this.#parts;
    if (victim === "ponder" || victim === "launcher") return indexer.kill(victim);
    if (victim === "power") await Promise.all([indexer.kill("ponder"), indexer.kill("launcher")]);
    const { process } = this.#parts.postgres;
    process.kill("SIGKILL");
    if (process.exitCode === null && process.signalCode === null) await once(process, "exit");
    this.#parts.postgres = await again(startPostgres);
    return true;
  }
}

/** Whether the index caught up with the chain's head after this time (ms). */
async function isFresh(url: string, since: number): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  try {
    await client.connect();
    const { rows } = await client.query<{ at: Date; lag: string }>(
      "SELECT node_seen_at AS at, (node_head - indexed_block)::text AS lag FROM service.chain_freshness",
    );
    return rows.some(({ at, lag }) => at.getTime() > since && Number(lag) <= 2);
  } catch {
    return false; // PostgreSQL is starting.
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Tries for ten seconds. */
export async function again<T>(start: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await start();
    } catch (error) {
      if (tries > 40) throw error;
      await wait(250);
    }
  }
}
