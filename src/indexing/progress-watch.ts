import { readFile } from "node:fs/promises";
import type pg from "pg";
import { tableExists } from "./chain-lock.ts";
import type { RpcGateway } from "./rpc-gateway.ts";

/** What an index that does not move waits for. `indexer`: nothing that can be seen; it stands by itself. */
export type WaitsFor = "processor" | "nodes" | "database" | "indexer";

export interface Progress {
  /** When the index moved last, or had the nodes' head (ms). */
  movedAt: number;
  /** Whether it has the nodes' head. */
  isLevel: boolean;
  /** Null while it moves. */
  waitsFor: WaitsFor | null;
  /** Ponder stands by itself: to start it anew is all that helps. */
  isStalled: boolean;
}

/** How long Ponder may stand while nothing is under way for it. Its start on a very busy machine is silent for a minute. */
const idleMs = { backfill: 180_000, live: 60_000 };
/** The same while a question of its is with the nodes, or a statement with the database. */
const busyFactor = 5;
/** An index that stands for less is only between two blocks. */
const namedAfterMs = 10_000;
/** A question that is with the nodes for longer counts as one that is waited for. */
const slowNodeMs = 3_000;
/** Share of the time in which a process was ready to run and did not: from here on it is what is waited for. */
const starvedShare = 0.3;
/** Even a process that never runs is given up at last. */
const mostStarvedShare = 0.9;

/**
 * Finds out whether the index of a chain moves, and why not. Ponder 0.17.7 can stand for good: a backfill locks itself up
 * (a range that has to be tried again waits for a connection to the database, while those after it hold all of them and
 * wait for it), and a head whose data could not be fetched is not tried again before another one comes.
 *
 * Only what was achieved counts as movement, not that something is asked. Time in which Ponder or this process waited for
 * the processor does not count: on a busy machine a new start would take longer than what it mends.
 */
export class ProgressWatch {
  readonly #client: pg.Client;
  readonly #gateway: Pick<RpcGateway, "activity">;
  readonly #schema: string;
  readonly #readDelay: () => Promise<number>;
  #sign = "";
  #movedAt = Date.now();
  #readAt = Date.now();
  /** Since it moved, without what it waited for the processor. */
  #stoodMs = 0;
  #delayMs = 0;
  #delayRead: number | null = null;

  /**
   * @param readDelay how long the processes of this index have been ready to run and waited for a processor (ms).
   */
  constructor(
    client: pg.Client,
    gateway: Pick<RpcGateway, "activity">,
    schema: string,
    readDelay: () => Promise<number>,
  ) {
    this.#client = client;
    this.#gateway = gateway;
    this.#schema = schema;
    this.#readDelay = readDelay;
  }

  /** @param head of the chain; null while no node tells it. */
  async look(part: "backfill" | "live", head: bigint | null, now = Date.now()): Promise<Progress> {
    await this.#count(now);
    const block = await readHead(this.#client, this.#schema);
    const isLevel = part === "live" && head !== null && block !== null && block >= head;
    // While a chain is followed, answers and rows of other tables can go on for ever beside an index that stands.
    const sign = part === "live" ? `live ${block}` : `${block} ${await this.#readWork()}`;
    if (isLevel || sign !== this.#sign) {
      this.#sign = sign;
      this.#movedAt = now;
      this.#stoodMs = 0;
      this.#delayMs = 0;
    }
    const stands = now - this.#movedAt;
    if (stands <= namedAfterMs) return { movedAt: this.#movedAt, isLevel, waitsFor: null, isStalled: false };
    const busy = await this.#isBusy();
    const { oldestMs } = this.#gateway.activity();
    const mostMs = idleMs[part] * (busy || oldestMs > 0 || head === null ? busyFactor : 1);
    const waitsFor = this.#cause(stands, { busy, nodes: head === null || oldestMs > slowNodeMs });
    return { movedAt: this.#movedAt, isLevel, waitsFor, isStalled: this.#stoodMs > mostMs };
  }

  #cause(stands: number, { busy, nodes }: { busy: boolean; nodes: boolean }): WaitsFor {
    if (this.#delayMs > starvedShare * stands) return "processor";
    if (nodes) return "nodes";
    return busy ? "database" : "indexer";
  }

  /** Adds the time since the last look. */
  async #count(now: number): Promise<void> {
    const passed = now - this.#readAt;
    const delay = await this.#readDelay();
    // Another process has begun at zero.
    const waited = Math.min(Math.max(delay - (this.#delayRead ?? delay), 0), passed);
    this.#delayRead = delay;
    this.#readAt = now;
    this.#delayMs += waited;
    this.#stoodMs += passed - Math.min(waited, mostStarvedShare * passed);
  }

  /** What a backfill has done: a block counts when all that belongs to it is written, which can take long. */
  async #readWork(): Promise<string> {
    const { rows } = await this.#client.query<{ written: string }>(
      // Without the table that holds Ponder's heartbeat.
      `SELECT coalesce(sum(n_tup_ins + n_tup_upd), 0)::text AS written FROM pg_stat_all_tables
       WHERE schemaname = $1 AND relname <> '_ponder_meta'`,
      [this.#schema],
    );
    return `${rows[0]?.written} ${this.#gateway.activity().answered}`;
  }

  async #isBusy(): Promise<boolean> {
    const { rows } = await this.#client.query<{ busy: boolean }>(
      `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
         AND (application_name LIKE $1 OR application_name = 'ponder_sync')
         AND state = 'active' AND query_start < clock_timestamp() - interval '1 second') AS busy`,
      [`${this.#schema}\\_%`],
    );
    return rows[0]?.busy === true;
  }
}

/**
 * For how long the main threads of these processes, one or the other, have been ready to run and waited for a
 * processor, in ms; 0 where the system does not tell.
 */
export async function readRunDelay(pids: readonly number[]): Promise<number> {
  const delays = await Promise.all(
    pids.map(async (pid) => {
      const text = await readFile(`/proc/${pid}/schedstat`, "utf8").catch(() => "");
      // Nanoseconds on a processor, nanoseconds in the queue for one, turns.
      return Number(text.split(" ")[1] ?? 0) / 1_000_000;
    }),
  );
  return Math.max(0, ...delays);
}

/** The last block taken in; null before the tables exist. */
export async function readHead(client: pg.Client, schema: string): Promise<bigint | null> {
  if (!(await tableExists(client, schema, "_ponder_checkpoint"))) return null;
  const { rows } = await client.query<{ block: string }>(
    `SELECT substr(latest_checkpoint, 27, 16) AS block FROM "${schema}"._ponder_checkpoint`,
  );
  return rows[0] ? BigInt(rows[0].block) : null;
}
