import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type pg from "pg";
import { backoffMs } from "../backoff.ts";
import { type Chain, operatorsOf } from "../chains.ts";
import type { Config } from "../config/config.ts";
import type { Logger } from "../telemetry/log.ts";
import { extendJournal, recordFreshness, recordNodeFault } from "./block-journal.ts";
import { endOrphans, lockChain, unlockSchema } from "./chain-lock.ts";
import { attachOutbox, beginSettling, recordStall, tellSettled } from "./event-outbox.ts";
import { checkFinalBlock, keepsDeadBlocks, rememberFinalBlock } from "./final-block.ts";
import { moveAllFungible, moveOneFungible } from "./fungible-contracts.ts";
import { readGenesis } from "./genesis.ts";
import {
  type IndexVersion,
  orderRebuild,
  publishIndexVersion,
  readRebuilds,
  recordIndexVersion,
} from "./index-versions.ts";
import { WrongChain } from "./json-rpc.ts";
import { listOneLateRange } from "./late-ranges.ts";
import { connect, ensureNftViews, publishNftViews } from "./nft-views.ts";
import { checkPeriodically } from "./periodic-checks.ts";
import { type PonderProcess, startPonder } from "./ponder-process.ts";
import { ProgressWatch, readHead, readRunDelay } from "./progress-watch.ts";
import { prepareForReaders } from "./reader-indexes.ts";
import type { RpcGateway } from "./rpc-gateway.ts";
import { LogSampler } from "./sample-logs.ts";
import { type IndexIdentity, indexIdentity } from "./schema-name.ts";
import { WrongChainWatch } from "./wrong-chain-watch.ts";

export interface IndexerReady {
  chain: string;
  chainId: number;
  schema: string;
  /** The block the index had caught up with. */
  block: bigint;
}

export interface IndexVersionRun {
  config: Config;
  chain: Chain;
  gateway: RpcGateway;
  signal: AbortSignal;
  log: Logger;
  onReady(ready: IndexerReady): void;
}

const pollMs = 50;
/** Between two looks while the index moves, and at most while nothing happens: readers are told of the last one. */
const lookMs = 1_000;
const restMs = 4_000;
const fungibleFailed = "what is of ERC-20 could not be left out, or a contract not be taken in again";
const restartPause = { firstMs: 200, mostMs: 30_000 };
/** How often it is looked whether what is known of contracts changes what of them is listed. */
const lateMs = 10_000;
/** Ponder's word for "start me again": a node or the database was away. */
const exitForRestart = 75;

/**
 * Runs one chain's Ponder in one schema until the signal aborts or the chain has to be indexed anew.
 *
 * @throws Error when the database or the nodes fail, or Ponder ends for a reason that a restart does not mend.
 */
export async function runIndexVersion(run: IndexVersionRun): Promise<void> {
  const { config, chain, gateway, signal } = run;
  await ensureNftViews(config.databaseUrl);
  const client = await connect(config.databaseUrl, `indexer-${chain.name}`);
  try {
    await lockChain(client, chain, signal);
    gateway.heads.start();
    await endOrphans(client, chain);
    const genesisHash = await readGenesis(client, gateway, chain);
    gateway.expectGenesis(genesisHash);
    const identity = await indexIdentity(chain, genesisHash, await readRebuilds(client, chain.id));
    const version = { schema: identity.schema, chainId: chain.id, genesisHash };
    const replaces = await recordIndexVersion(client, version);
    await checkRollback(run, client, version.schema, { suspected: false });
    await supervise(run, client, version, identity, replaces);
  } finally {
    await client.end();
  }
}

/** Restarts Ponder whenever it ends, with growing pauses as long as it does not become ready. */
async function supervise(
  run: IndexVersionRun,
  client: pg.Client,
  version: IndexVersion,
  identity: IndexIdentity,
  replaces: boolean,
): Promise<void> {
  const { chain, signal, log } = run;
  const aborted = new Promise<"aborted">((done) => onAbort(signal, () => done("aborted")));
  for (let failures = 0; !signal.aborted; ) {
    if (failures > 0) await checkRollback(run, client, version.schema, { suspected: false });
    await beginSettling(client, version.schema);
    const ponder = await startPonder(ponderOptions(run, identity));
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
        await checkRollback(run, client, version.schema, { suspected: true });
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
    // Ponder keeps a dead process's lock for 25 s. This one was ours, we saw it end, and we hold the chain's lock.
    await unlockSchema(client, version.schema);
    await wait(backoffMs(failures, restartPause), undefined, { signal }).catch(() => undefined);
  }
}

/**
 * Compares what we hold as final with the node. A node that only lags, or a development chain that is
 * replaying its past, comes back to it; a chain that was rolled back further is indexed anew. Either
 * way the caller's pause keeps a node that contradicts itself from making us index without end.
 */
async function checkRollback(
  { chain, gateway }: IndexVersionRun,
  client: pg.Client,
  schema: string,
  { suspected }: { suspected: boolean },
): Promise<void> {
  const check = await checkFinalBlock(client, gateway, schema);
  if (check === "behind") throw new Error("the node is behind a block that was final; waiting for it");
  const dead = await keepsDeadBlocks(client, gateway, { schema, chainId: chain.id });
  if (!dead && (check === "agrees" || (check === "unknown" && !suspected))) return;
  await orderRebuild(client, chain.id);
  throw new Error("the chain was rolled back beyond finality; indexing it anew");
}

function ponderOptions({ config, chain, gateway, log }: IndexVersionRun, { schema, salt }: IndexIdentity) {
  return {
    schema,
    databaseUrl: config.databaseUrl,
    directory: join(config.dataDir, "indexer", chain.name),
    log,
    settings: {
      chainId: chain.id,
      rpcUrl: gateway.url,
      pollingIntervalMs: 1_000,
      startBlock: chain.startBlock,
      scope: chain.indexScope,
      wsUrl: gateway.wsUrl,
      factory: chain.factory && { address: chain.factory.address, startBlock: Number(chain.factory.block) },
      operators: operatorsOf(chain).map(({ address, block }) => ({ address, startBlock: Number(block) })),
      salt,
    },
  };
}

/** Publishes at the right moment, reports readiness, then looks after Ponder. Settles only by failing. */
async function watchPonder(
  { config, chain, gateway, log, onReady }: IndexVersionRun,
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
    // What readers see is another index until this one has caught up.
    if (!replaces && head !== null && (await readHead(client, schema)) !== null)
      await recordFreshness(client, gateway, { chain, schema, head, progress });
    if (progress.isStalled) await endStalled(head);
  };
  try {
    // The first index of a chain is shown while it grows; a later one only when it is no step back.
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
      // Blocks that come fast are looked at together.
      await wait(Math.min(pauseMs, lookMs), undefined, { signal: ended });
      if (pauseMs > lookMs) await gateway.heads.next(known, pauseMs - lookMs, ended);
      known = gateway.heads.head?.header.hash;
      // Fails when the session is lost in which the chain's lock lives.
      await rememberFinalBlock(client, gateway, schema, log);
      await sampler.look();
      await tellSettled(client, gateway, schema);
      const kept = await keepJournal(client, gateway, { chain, schema, log, watch }).catch((error: unknown) => {
        // At the next start it is decided whether that chain is to be indexed.
        if (!(error instanceof WrongChain) || wrongChain.isLasting()) throw error;
        return null;
      });
      if (kept) wrongChain.recordRightChain();
      if (kept?.isStalled) await endStalled(kept.head);
      // The safe block of a chain can move without a new one.
      pauseMs = kept?.isLevel ? Math.min(2 * Math.max(pauseMs, lookMs), restMs) : lookMs;
      if (Date.now() >= nextLate)
        nextLate = (await changeLateOne(client, { chain, schema, log })) ? 0 : Date.now() + lateMs;
      if (Date.now() < nextCheck) continue;
      const hasMore = await checkPeriodically(client, gateway, { chain, schema });
      nextCheck = hasMore ? 0 : Date.now() + config.rpcCheckSeconds * 1_000;
    }
  } catch (error) {
    // Ponder's own end is the outcome then, not what it broke here.
    if (ended.aborted) return new Promise<never>(() => undefined);
    throw error;
  }
}

/**
 * Changes what of a range or a contract is listed, where there is a reason. Whatever keeps it from that, the chain is followed on.
 *
 * @returns whether there may be more to do.
 */
async function changeLateOne(
  client: pg.Client,
  { chain, schema, log }: { chain: Chain; schema: string; log: Logger },
): Promise<boolean> {
  const version = { chainId: chain.id, schema };
  const failed = (what: string) => (error: unknown) => {
    log.error({ chain: chain.name, reason: String(error) }, what);
    return false;
  };
  const range = await listOneLateRange(client, version).catch(failed("a withheld range could not be listed"));
  const contract = await moveOneFungible(client, version)
    .then(async (outcome) => {
      if (outcome === "moved") await publishNftViews(client);
      return outcome !== "done";
    })
    .catch(failed(fungibleFailed));
  return range || contract;
}

/**
 * A node that is away must not end the watch; a lost database session must.
 *
 * @returns the nodes' head, and whether the index has it; null when they do not say.
 * @throws WrongChain when they serve another chain.
 */
async function keepJournal(
  client: pg.Client,
  gateway: RpcGateway,
  { chain, schema, log, watch }: { chain: Chain; schema: string; log: Logger; watch: ProgressWatch },
): Promise<{ head: bigint; isLevel: boolean; isStalled: boolean } | null> {
  try {
    const { head } = await extendJournal(client, gateway, chain.id);
    const progress = await watch.look("live", head);
    await recordFreshness(client, gateway, { chain, schema, head, progress });
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

function onAbort(signal: AbortSignal, run: () => void): void {
  if (signal.aborted) run();
  else signal.addEventListener("abort", run, { once: true });
}
