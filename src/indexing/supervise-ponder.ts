import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import type pg from "pg";
import { backoffMs } from "../backoff.ts";
import type { Chain } from "../chains.ts";
import type { Config } from "../config/config.ts";
import type { Logger } from "../telemetry/log.ts";
import { extendJournal, recordFreshness, recordNodeFault } from "./block-journal.ts";
import { attachOutbox, beginSettling, recordStall, tellSettled } from "./event-outbox.ts";
import { checkPeriodically, checkRollback, rememberFinalBlock } from "./final-block.ts";
import { type IndexVersion, prepareForReaders, publishIndexVersion, unlockSchema } from "./index-versions.ts";
import { WrongChain } from "./json-rpc.ts";
import { changeLateOne, fungibleFailed, moveAllFungible } from "./late-changes.ts";
import { holds, publishNftViews, tableExists } from "./nft-views.ts";
import { type PonderProcess, startPonder } from "./ponder-process.ts";
import type { RpcGateway } from "./rpc-gateway.ts";
import { LogSampler } from "./sample-logs.ts";

export interface IndexerReady {
  chain: string;
  chainId: number;
  schema: string;
  /** The block that the index has reached. */
  block: bigint;
}

/** What one Ponder process runs for: one chain of this installation, behind the gateway to its nodes. */
export interface IndexRun {
  config: Config;
  chain: Chain;
  gateway: RpcGateway;
  signal: AbortSignal;
  log: Logger;
  onReady(ready: IndexerReady): void;
}

const pollMs = 50;
/** Pause between two looks while the index moves, and at most while nothing happens: readers see when the last was. */
const lookMs = 1_000;
const restMs = 4_000;
const restartPause = { firstMs: 200, mostMs: 30_000 };
/** How often ranges and contracts are checked for a change of what is listed. */
const lateMs = 10_000;
/** Ponder's exit code for "start me again": a node or the database was away. */
const exitForRestart = 75;

/** Restarts Ponder whenever it ends. The pauses grow as long as it does not become ready. */
export async function supervisePonder(
  run: IndexRun,
  client: pg.Client,
  version: IndexVersion,
  salt: string,
  replaces: boolean,
): Promise<void> {
  const { config, chain, gateway, signal, log } = run;
  const aborted = once(signal, "abort").then(() => "aborted" as const);
  for (let failures = 0; !signal.aborted; ) {
    if (failures > 0) await checkRollback(client, gateway, version);
    await beginSettling(client, version.schema);
    const ponder = await startPonder(config, chain, gateway, { schema: version.schema, salt }, log);
    const stopped = new AbortController();
    const ended = ponder.exited.finally(() => stopped.abort());
    try {
      const watch = watchPonder(run, client, version, ponder, replaces, stopped.signal, () => {
        failures = 0;
      });
      const lostTrack = ponder.lostTrack.then(() => "lost track" as const);
      const outcome = await Promise.race([ended, aborted, lostTrack, watch]);
      if (outcome === "aborted") return;
      if (outcome === "lost track") {
        await ponder.stop();
        await checkRollback(client, gateway, version, true);
        throw new Error("a node gave a head that does not continue the chain; going on from the last final block");
      }
      failures += 1;
      const { code, signal: by, lastWords } = outcome;
      if (code !== exitForRestart && by === null && failures > 3)
        throw new Error(`Ponder ended with code ${code}: ${lastWords.join(" | ")}`);
      log.warn({ chain: chain.name, code, signal: by }, "Ponder ended; starting it again");
    } finally {
      await ponder.stop();
    }
    // Ponder respects a dead process's lock for 25 s. This one was ours, we saw it exit, and we own the chain's lock.
    await unlockSchema(client, version.schema);
    await wait(backoffMs(failures, restartPause), undefined, { signal }).catch(() => undefined);
  }
}

/** Publishes the index once readers may see it, reports readiness, then watches Ponder. Only ever rejects. */
async function watchPonder(
  { config, chain, gateway, log, onReady }: IndexRun,
  client: pg.Client,
  version: IndexVersion,
  ponder: PonderProcess,
  replaces: boolean,
  ended: AbortSignal,
  onUp: () => void,
): Promise<never> {
  const { schema } = version;
  const watch = new ProgressWatch(client, gateway, schema, () => readRunDelay([ponder.pid, process.pid]));
  const endStalled = async (head: bigint | null) => {
    log.error({ chain: chain.name, head: head === null ? null : String(head) }, "Ponder is stalled; killing it");
    await recordStall(client, chain.id, chain.name);
    ponder.kill();
  };
  let reportedAt = 0;
  const pause = async () => {
    await wait(pollMs, undefined, { signal: ended });
    if (Date.now() - reportedAt < lookMs) return;
    reportedAt = Date.now();
    const head = gateway.heads.head?.header.number ?? null;
    const progress = await watch.look("backfill", head);
    // While this index replaces another, readers see that one until this one has caught up.
    if (!replaces && head !== null && (await readHead(client, schema)) !== null)
      await recordFreshness(client, gateway, { chain, schema }, head, progress);
    if (progress.isStalled) await endStalled(head);
  };
  try {
    // The first index of a chain is published while it grows; a later one only once it has caught up.
    while ((await readHead(client, schema)) === null) await pause();
    if (!replaces) await publishIndexVersion(client, version);
    while (!(await ponder.isReady())) await pause();
    const block = await catchUp(client, gateway, schema, pause);
    await prepareForReaders(client, schema);
    await moveAllFungible(client, version, pause).catch((error: unknown) => {
      if (ended.aborted) throw error;
      log.error({ chain: chain.name, reason: String(error) }, fungibleFailed);
    });
    if (replaces) await publishIndexVersion(client, version);
    else await publishNftViews(client);
    await attachOutbox(client, version);
    onUp();
    onReady({ chain: chain.name, chainId: chain.id, schema, block });
    ponder.rest();
    const wrongChain = new WrongChainWatch();
    const sampler = new LogSampler(client, gateway, { chain, schema }, config.rpcSamplePercent, log);
    for (let nextCheck = 0, nextLate = 0, pauseMs = 0, known: string | undefined; ; ) {
      // Blocks that arrive in quick succession are handled in one look.
      await wait(Math.min(pauseMs, lookMs), undefined, { signal: ended });
      if (pauseMs > lookMs) await gateway.heads.next(known, pauseMs - lookMs, ended);
      known = gateway.heads.head?.header.hash;
      // Rejects when the database session that owns the chain's lock is lost.
      await rememberFinalBlock(client, gateway, schema, log);
      await sampler.look();
      await tellSettled(client, gateway, schema);
      const kept = await keepJournal(client, gateway, { chain, schema, log, watch }).catch((error: unknown) => {
        // The next start decides whether the other chain is to be indexed.
        if (!(error instanceof WrongChain) || wrongChain.isLasting()) throw error;
        return null;
      });
      if (kept) wrongChain.recordRightChain();
      if (kept?.isStalled) await endStalled(kept.head);
      // A chain's safe block can move without a new block.
      pauseMs = kept?.isLevel ? Math.min(2 * Math.max(pauseMs, lookMs), restMs) : lookMs;
      if (Date.now() >= nextLate)
        nextLate = (await changeLateOne(client, { chain, schema, log })) ? 0 : Date.now() + lateMs;
      if (Date.now() < nextCheck) continue;
      const hasMore = await checkPeriodically(client, gateway, { chain, schema });
      nextCheck = hasMore ? 0 : Date.now() + config.rpcCheckSeconds * 1_000;
    }
  } catch (error) {
    // Ponder has ended, and that is the outcome, not the error that its end caused here.
    if (ended.aborted) return new Promise<never>(() => undefined);
    throw error;
  }
}

/**
 * A node that is away must not end the watch; a lost database session must.
 *
 * @returns the nodes' head, and whether the index has reached it; null when the nodes do not answer.
 * @throws WrongChain when the nodes serve another chain.
 */
async function keepJournal(
  client: pg.Client,
  gateway: RpcGateway,
  { chain, schema, log, watch }: { chain: Chain; schema: string; log: Logger; watch: ProgressWatch },
): Promise<{ head: bigint; isLevel: boolean; isStalled: boolean } | null> {
  try {
    const head = await extendJournal(client, gateway, chain.id);
    const progress = await watch.look("live", head);
    await recordFreshness(client, gateway, { chain, schema }, head, progress);
    return { head, isLevel: progress.isLevel, isStalled: progress.isStalled };
  } catch (error) {
    log.debug({ chain: chain.name, reason: String(error) }, "the journal of blocks waits");
    await recordNodeFault(client, chain.id, error instanceof Error ? error.message : String(error), gateway);
    if (error instanceof WrongChain) throw error;
    return null;
  }
}

async function catchUp(
  client: pg.Client,
  gateway: RpcGateway,
  schema: string,
  pause: () => Promise<void>,
): Promise<bigint> {
  const target = BigInt(String(await gateway.request("eth_blockNumber", [])));
  for (;;) {
    const head = await readHead(client, schema);
    if (head !== null && head >= target) return head;
    await pause();
  }
}

/** What an index that does not move waits for. `indexer`: nothing that we can see; Ponder itself is stuck. */
type WaitsFor = "processor" | "nodes" | "database" | "indexer";

interface Progress {
  /** When the index moved last, or had the nodes' head (ms). */
  movedAt: number;
  /** Whether the index has reached the nodes' head. */
  isLevel: boolean;
  /** Null while it moves. */
  waitsFor: WaitsFor | null;
  /** Ponder itself is stuck: only a restart helps. */
  isStalled: boolean;
}

/** Longest stall of Ponder with no request or statement pending. On a busy machine its start is silent for a minute. */
const idleMs = { backfill: 180_000, live: 60_000 };
/** The limit is this many times longer while a node works on one of its requests, or the database on a statement. */
const busyFactor = 5;
/** An index that has not moved for less than this is merely between two blocks. */
const namedAfterMs = 10_000;
/** The index counts as waiting for the nodes once a request has taken longer than this. */
const slowNodeMs = 3_000;
/** Share of the time in which a process was runnable but not running. Above it, the index waits for the processor. */
const starvedShare = 0.3;
/** At most this share of the waiting is discounted, so that even a process that never runs is given up at last. */
const mostStarvedShare = 0.9;

/**
 * Watches whether the index of a chain moves, and why not. Ponder 0.17.7 can hang for good: a backfill deadlocks (a
 * range that has to be tried again waits for a database connection, while the ranges after it hold all connections and
 * wait for it), and a head whose data could not be fetched is not tried again before the next head.
 *
 * Only results count as progress, not requests. Time in which Ponder or this process waited for the processor does not
 * count as a hang: on a busy machine a restart would take longer than the delay that it is meant to end.
 */
export class ProgressWatch {
  readonly #client: pg.Client;
  readonly #gateway: Pick<RpcGateway, "activity">;
  readonly #schema: string;
  readonly #readDelay: () => Promise<number>;
  #sign = "";
  #movedAt = Date.now();
  #readAt = Date.now();
  /** Time since the index moved, less the time that it waited for the processor. */
  #stoodMs = 0;
  #delayMs = 0;
  #delayRead: number | null = null;

  /** @param readDelay how long the processes of this index have been runnable and waited for a processor (ms). */
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

  /** @param head the chain's head; null while no node gives it. */
  async look(part: "backfill" | "live", head: bigint | null, now = Date.now()): Promise<Progress> {
    await this.#count(now);
    const block = await readHead(this.#client, this.#schema);
    const isLevel = part === "live" && head !== null && block !== null && block >= head;
    // While Ponder follows the chain, answers and rows of other tables can keep coming although the index hangs.
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
    // The counter of another process starts at zero.
    const waited = Math.min(Math.max(delay - (this.#delayRead ?? delay), 0), passed);
    this.#delayRead = delay;
    this.#readAt = now;
    this.#delayMs += waited;
    this.#stoodMs += passed - Math.min(waited, mostStarvedShare * passed);
  }

  /** Changes whenever a backfill makes progress. The block changes only when all its rows are written. */
  async #readWork(): Promise<string> {
    const { rows } = await this.#client.query<{ written: string }>(
      // `_ponder_meta` has Ponder's heartbeat, which is no progress.
      `SELECT coalesce(sum(n_tup_ins + n_tup_upd), 0)::text AS written FROM pg_stat_all_tables
       WHERE schemaname = $1 AND relname <> '_ponder_meta'`,
      [this.#schema],
    );
    return `${rows[0]?.written} ${this.#gateway.activity().answered}`;
  }

  async #isBusy(): Promise<boolean> {
    return await holds(
      this.#client,
      `EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
         AND (application_name LIKE $1 OR application_name = 'ponder_sync')
         AND state = 'active' AND query_start < clock_timestamp() - interval '1 second')`,
      [`${this.#schema}\\_%`],
    );
  }
}

/**
 * The longest time that the main thread of one of these processes has been runnable and waited for a processor, in ms;
 * 0 where the system does not report it.
 */
export async function readRunDelay(pids: readonly number[]): Promise<number> {
  const delays = await Promise.all(
    pids.map(async (pid) => {
      const text = await readFile(`/proc/${pid}/schedstat`, "utf8").catch(() => "");
      // The fields: nanoseconds on a processor, nanoseconds in its run queue, time slices.
      return Number(text.split(" ")[1] ?? 0) / 1_000_000;
    }),
  );
  return Math.max(0, ...delays);
}

/** The newest indexed block; null before the tables exist. */
async function readHead(client: pg.Client, schema: string): Promise<bigint | null> {
  if (!(await tableExists(client, schema, "_ponder_checkpoint"))) return null;
  const { rows } = await client.query<{ block: string }>(
    `SELECT substr(latest_checkpoint, 27, 16) AS block FROM "${schema}"._ponder_checkpoint`,
  );
  return rows[0] ? BigInt(rows[0].block) : null;
}

/** For how long the nodes must serve nothing but another chain. One wrong answer is not enough. */
const timeoutMs = 10_000;
/** On a busy machine a single poll can take as long as that. */
const fewestPolls = 3;

/** Detects nodes that came back as another chain. Polls without an answer are ignored. */
export class WrongChainWatch {
  #since: number | null = null;
  #polls = 0;

  /** The nodes served the chain that is indexed. */
  recordRightChain(): void {
    this.#since = null;
    this.#polls = 0;
  }

  /** The nodes served another chain. @returns true when they have done so for ten seconds. */
  isLasting(now = performance.now()): boolean {
    this.#since ??= now;
    this.#polls += 1;
    return this.#polls >= fewestPolls && now - this.#since >= timeoutMs;
  }
}
