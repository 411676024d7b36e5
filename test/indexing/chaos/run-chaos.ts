import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import type { Hex } from "viem";
import { type EmbeddedPostgres, startPostgres } from "../../../src/embedded/postgres.ts";
import { freePorts } from "../../../src/free-port.ts";
import { type Anvil, startAnvil } from "../anvil.ts";
import { randomOf } from "../hostile-cases.ts";
import { keepIndexer } from "./keep-indexer.ts";
import { startLyingProxy } from "./lying-proxy.ts";
import { copyRawLogs, differences } from "./recompute.ts";
import { buildWorld } from "./world.ts";

export interface ChaosGoal {
  seed: number;
  tokens: number;
  reorgs: number;
  kills: number;
  lies: number;
  /** Reorganisations deeper than Ponder can undo; each makes the chain be indexed anew. */
  deepReorgs: number;
  /** Ends with what was reached when it takes longer. */
  maxMs: number;
}

export interface ChaosResult {
  seed: number;
  tokens: number;
  blocks: number;
  logs: number;
  reorgs: number;
  deepReorgs: number;
  deepestReorg: number;
  kills: Record<string, number>;
  /** Kills after which the index had caught up before the next one. */
  recovered: number;
  lies: Record<string, number>;
  lieCount: number;
  /** Answers that the gateway refused, as the last indexer process counted them. */
  refused: number;
  differing: Awaited<ReturnType<typeof differences>>;
  /** Tokens and balances asked of the contracts themselves, and those that the index shows otherwise. */
  asked: number;
  wrong: number;
  seconds: number;
}

/** How long a kill waits until the index has caught up after the one before. */
const patienceMs = 30_000;

/** Blocks of the deepest reorganisation. */
const deepest = 256;

/**
 * One seeded run: random actions on a real chain, reorganisations with other transactions, kill -9 of
 * Ponder, the launcher and PostgreSQL, and a node that lies; then rest, and a comparison of every
 * table with raw logs and with the contracts' own answers.
 */
export async function runChaos(goal: ChaosGoal, say: (line: string) => void): Promise<ChaosResult> {
  const started = Date.now();
  const random = randomOf(goal.seed);
  const directory = await mkdtemp(join(tmpdir(), "mintyard-chaos-"));
  const [port = 0] = await freePorts(1);
  let postgres: EmbeddedPostgres = await startPostgres(join(directory, "pg"), port);
  const databaseUrl = postgres.url;
  const [chain, other] = await Promise.all([startAnvil(), startAnvil(31338)]);
  for (let count = 0; count < 5; count++) await other.mine();
  // Two endpoints of one node; each lies by dice of its own.
  const proxies = await Promise.all(
    [1, 2].map((offset) => startLyingProxy(chain.url, other.url, randomOf(goal.seed + offset))),
  );
  const sum = (pick: (proxy: (typeof proxies)[number]) => number) => proxies.reduce((all, one) => all + pick(one), 0);
  const lieCount = () => sum((proxy) => proxy.count());
  const asked = () => sum((proxy) => proxy.asked());
  const lieOneIn = (requests: number) => {
    for (const proxy of proxies) proxy.lieOneIn(requests);
  };
  const indexer = keepIndexer(databaseUrl, proxies.map(({ url }) => url).join(","), directory);
  const kills = { ponder: 0, launcher: 0, postgres: 0 };
  let reorgs = 0;
  let deepestReorg = 0;
  let deepReorgs = 0;
  let askedAtKill = 0;
  let killedAt = 0;
  let recovered = 0;
  let hasRecovered = true;
  try {
    const world = await buildWorld(chain);
    await indexer.untilReady();
    lieOneIn(4);
    // Five mints of twice as many stay below what suspends a contract for its block.
    const perMint = Math.min(900, Math.max(300, Math.ceil(goal.tokens / 1_000)));
    for (let step = 0; Date.now() - started < goal.maxMs; step++) {
      const tokens = await world.tokens();
      const killCount = kills.ponder + kills.launcher + kills.postgres;
      const acted = reorgs >= goal.reorgs && deepReorgs >= goal.deepReorgs && killCount >= goal.kills;
      if (acted && tokens >= goal.tokens && lieCount() >= goal.lies) break;
      if (step % 25 === 0)
        say(
          `step ${step}: ${tokens} tokens, ${reorgs} reorgs, ${killCount} kills, ${lieCount()} lies, ${Math.round((Date.now() - started) / 1000)} s`,
        );
      for (let count = 1 + random(5); count > 0; count--) await world.act(random, tokens < goal.tokens ? perMint : 1);
      await chain.mine();
      const height = Number(await chain.head());
      if ((reorgs < goal.reorgs || deepReorgs < goal.deepReorgs) && random(3) === 0) {
        const room = height - world.firstBlock;
        const deep = deepReorgs < goal.deepReorgs && room >= deepest && reorgs >= goal.reorgs / 2;
        // The first deep one is as deep as any that the index has to survive.
        const depth = deep && deepReorgs === 0 ? deepest : deep ? 40 + random(deepest - 39) : 1 + random(20);
        if (depth <= room) {
          await chain.rpc("anvil_reorg", [depth, world.replacements(random, depth)]);
          await chain.mine();
          reorgs += 1;
          if (deep) deepReorgs += 1;
          deepestReorg = Math.max(deepestReorg, depth);
        }
      }
      // Every second one when it has caught up, the others while it is starting.
      if (!hasRecovered && (await isFresh(databaseUrl, killedAt))) {
        hasRecovered = true;
        recovered += 1;
      }
      const isWaiting = killCount % 2 === 0 && !hasRecovered && Date.now() - killedAt < patienceMs;
      const mayKill = !isWaiting && asked() > askedAtKill + 30;
      if (killCount < goal.kills && mayKill && random(3) === 0) {
        askedAtKill = asked();
        killedAt = Date.now();
        hasRecovered = false;
        const which = killCount % 7 === 3 ? "postgres" : killCount % 4 === 2 ? "launcher" : "ponder";
        if (which === "postgres") {
          postgres.process.kill("SIGKILL");
          if (postgres.process.exitCode === null && postgres.process.signalCode === null)
            await once(postgres.process, "exit");
          postgres = await restart(() => startPostgres(join(directory, "pg"), port));
          kills.postgres += 1;
        } else if (await indexer.kill(which)) kills[which] += 1;
      }
      // Time for the indexer to be in the middle of something.
      await wait(50 + random(300));
    }
    say(`quiet after ${Math.round((Date.now() - started) / 1000)} s; waiting for the index`);
    lieOneIn(0);
    await chain.mine();
    const client = await connectAgain(databaseUrl);
    try {
      await untilIndexed(client, chain, () => indexer.lastWords());
      const logs = await copyRawLogs(client, chain, world.addresses);
      const differing = await differences(client);
      const compared = await world.compare(client);
      const { rows } = await client.query<{ refused: number }>(
        "SELECT refused_answers::int AS refused FROM service.chain_freshness",
      );
      return {
        seed: goal.seed,
        tokens: await world.tokens(),
        blocks: Number(await chain.head()),
        logs,
        reorgs,
        deepReorgs,
        deepestReorg,
        kills,
        recovered,
        lies: Object.fromEntries(
          [...new Set(proxies.flatMap(({ told }) => [...told.keys()]))].map((name) => [
            name,
            sum(({ told }) => told.get(name) ?? 0),
          ]),
        ),
        lieCount: lieCount(),
        refused: rows[0]?.refused ?? 0,
        differing,
        ...compared,
        seconds: Math.round((Date.now() - started) / 1000),
      };
    } finally {
      await client.end();
    }
  } finally {
    await indexer.stop();
    await Promise.all([...proxies, chain, other].map((part) => part.stop()));
    await postgres.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

/** Whether the index caught up with the chain's head after this time (ms). */
async function isFresh(url: string, since: number): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  try {
    await client.connect();
    const { rows } = await client.query<{ at: Date; lag: string }>(
      "SELECT checked_at AS at, (node_head - indexed_block)::text AS lag FROM service.chain_freshness",
    );
    return rows.some(({ at, lag }) => at.getTime() > since && Number(lag) <= 2);
  } catch {
    return false; // PostgreSQL is starting.
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function restart<T>(start: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await start();
    } catch (error) {
      if (tries > 40) throw error;
      await wait(250);
    }
  }
}

async function connectAgain(url: string): Promise<pg.Client> {
  return restart(async () => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    return client;
  });
}

async function untilIndexed(client: pg.Client, chain: Anvil, lastWords: () => string): Promise<void> {
  for (const started = Date.now(); Date.now() - started < 300_000; ) {
    const { hash, number } = await chain.rpc<{ hash: Hex; number: Hex }>("eth_getBlockByNumber", ["latest", false]);
    const { rows } = await client.query(
      "SELECT 1 FROM service.chain_freshness f JOIN nft.heads h ON h.chain_id = f.chain_id WHERE indexed_hash = $1 AND h.block_number = $2 AND indexed_block = $2",
      [hash, String(BigInt(number))],
    );
    if (rows.length > 0) return;
    await wait(200);
  }
  const { rows } = await client.query(
    "SELECT h.block_number::text AS shown, f.* FROM nft.heads h LEFT JOIN service.chain_freshness f ON f.chain_id = h.chain_id",
  );
  throw new Error(
    `the index does not catch up: ${JSON.stringify(rows, (_, value) => (typeof value === "bigint" ? String(value) : value))}\n${lastWords()}`,
  );
}
