import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import type { Hex } from "viem";
import { startPostgres } from "../../../src/embedded/postgres.ts";
import { freePorts } from "../../../src/free-port.ts";
import { SeededGenerator } from "../../setup/seeded-generator.ts";
import { wait as waitFor } from "../../setup/wait.ts";
import { type Anvil, startAnvil } from "../anvil.ts";
import { startFaultyRpcProxy } from "./faulty-rpc-proxy.ts";
import { keepIndexer } from "./keep-indexer.ts";
import { again, Kills, type Victim } from "./kills.ts";
import { copyRawLogs, differences } from "./recompute.ts";
import { buildWorld, operatorAddress } from "./world.ts";

export interface ChaosGoal {
  seed: number;
  tokens: number;
  reorgs: number;
  kills: number;
  faults: number;
  /** Reorganisations deeper than Ponder can undo; each makes the chain be indexed anew. */
  deepReorgs: number;
  /** Ends with what was reached when it takes longer. */
  maxMs: number;
  /** Blocks of the deepest reorganisation. */
  deepest?: number;
  /** Ponder takes its depth of finality from it: 30 blocks on a local chain, 200 on 137. */
  chainId?: number;
}

export interface ChaosParts {
  databaseUrl: string;
  /** Of the faulty endpoints, with commas. */
  rpcUrls: string;
  directory: string;
  chainId: number;
  chain: Anvil;
  world: Awaited<ReturnType<typeof buildWorld>>;
}

/** What else runs against the same index, and is judged with it. */
export interface Beside {
  /** Once in each step. */
  step(random: (below: number) => number): Promise<void>;
  /** After the index was compared, with a connection to its database. */
  judge(client: pg.Client): Promise<object>;
  stop(): Promise<void>;
}

export interface ChaosResult {
  seed: number;
  tokens: number;
  blocks: number;
  logs: number;
  /** Product contracts that the chain has in the end. */
  products: number;
  reorgs: number;
  deepReorgs: number;
  deepestReorg: number;
  kills: Record<Victim, number>;
  killCount: number;
  /** Kills after which the index had caught up before the next one. */
  recovered: number;
  faults: Record<string, number>;
  faultCount: number;
  /** Answers that the gateway refused, as the last indexer process counted them. */
  refused: number;
  differing: Awaited<ReturnType<typeof differences>>;
  /** Tokens and balances asked of the contracts themselves, and those that the index shows otherwise. */
  asked: number;
  wrong: number;
  /** What the parts beside the index say. */
  beside?: object;
  /** Until there was quiet, and until all was compared. */
  actingSeconds: number;
  seconds: number;
}

/** So many take more states of the chain than the node remembers by itself. */
const manyReorgs = 100;
/** The deepest reorganisation that the index has to survive. */
const usualDeepest = 256;
/** Tokens of one ERC-2309 log, and with five mints of twice 300 below what suspends a contract for its block. */
const perRange = 5_000;
/** One answer in so many is wrong, until there were as many faults as wanted, and afterwards. */
const faultOneIn = { first: 4, later: 16 };

/**
 * One seeded run: random actions on a real chain, reorganisations with other transactions, kill -9 of
 * Ponder, the launcher, PostgreSQL and all of them, and faulty nodes; then rest, and a comparison of every
 * table with raw logs and with the contracts' own answers.
 */
export async function runChaos(
  goal: ChaosGoal,
  say: (line: string) => void,
  startBeside?: (parts: ChaosParts) => Promise<Beside>,
): Promise<ChaosResult> {
  const { chainId = 31337 } = goal;
  const started = Date.now();
  const seconds = () => Math.round((Date.now() - started) / 1000);
  const random = new SeededGenerator(goal.seed).below;
  const directory = await mkdtemp(join(tmpdir(), "mintyard-chaos-"));
  const [port = 0] = await freePorts(1);
  const start = () => startPostgres(join(directory, "pg"), port);
  const postgres = await start();
  const databaseUrl = postgres.url;
  const [chain, other] = await Promise.all([
    startAnvil(chainId, goal.reorgs > manyReorgs ? 20_000 : undefined),
    startAnvil(chainId + 1),
  ]);
  for (let count = 0; count < 5; count++) await other.mine();
  // Two endpoints of one node; each injects faults by a seeded generator of its own.
  const proxies = await Promise.all(
    [1, 2].map((offset) => startFaultyRpcProxy(chain.url, other.url, new SeededGenerator(goal.seed + offset).below)),
  );
  const sum = (pick: (proxy: (typeof proxies)[number]) => number) => proxies.reduce((all, one) => all + pick(one), 0);
  const faultCount = () => sum((proxy) => proxy.count());
  const inject = (requests: number) => {
    for (const proxy of proxies) proxy.faultOneIn(requests);
  };
  const rpcUrls = proxies.map(({ url }) => url).join(",");
  const indexer = keepIndexer(databaseUrl, rpcUrls, directory, chainId, {
    OPERATOR_GOERLI: operatorAddress(chain),
  });
  let beside: Beside | undefined;
  const asked = () => sum((proxy) => proxy.asked());
  const kills = new Kills({ databaseUrl, indexer, postgres, startPostgres: start, asked }, goal.kills);
  try {
    const world = await buildWorld(chain);
    await indexer.untilReady();
    beside = await startBeside?.({ databaseUrl, rpcUrls, directory, chainId, chain, world });
    const reorgs = new Reorgs(chain, world, goal);
    // Five mints of twice as many stay below what suspends a contract for its block.
    const perMint = 300;
    for (let step = 0; Date.now() - started < goal.maxMs; step++) {
      const tokens = await world.tokens();
      const faults = faultCount();
      const done = reorgs.areDone() && kills.count >= goal.kills;
      if (done && tokens >= goal.tokens && faults >= goal.faults) break;
      inject(faults < goal.faults ? faultOneIn.first : faultOneIn.later);
      if (step % 25 === 0)
        say(
          `step ${step}: ${tokens} tokens, ${reorgs.count} reorgs, ${kills.count} kills, ${faults} faults, ${seconds()} s`,
        );
      // What the node remembers of each block grows with its tokens: those of a long run come when it goes back no more.
      if (reorgs.areDone() && tokens < goal.tokens - perRange) await world.mintRange(random, perRange);
      for (let count = 1 + random(5); count > 0; count--) await world.act(random, tokens < goal.tokens ? perMint : 1);
      await chain.mine();
      await reorgs.perhaps(random);
      await kills.perhaps(random);
      await beside?.step(random);
      // Time for the indexer to be in the middle of something.
      await wait(50 + random(300));
    }
    const actingSeconds = seconds();
    say(`quiet after ${actingSeconds} s; waiting for the index`);
    inject(0);
    await chain.mine();
    const client = await connectAgain(databaseUrl);
    try {
      await untilIndexed(client, chain, () => indexer.lastWords());
      say(`the index has caught up after ${seconds()} s; comparing`);
      const logs = await copyRawLogs(client, chain, await world.addresses());
      const differing = await differences(client);
      const compared = await world.compare(client);
      const { rows } = await client.query<{ refused: number }>(
        "SELECT refused_answers::int AS refused FROM service.chain_freshness",
      );
      const faults = [...new Set(proxies.flatMap(({ injected }) => [...injected.keys()]))];
      return {
        seed: goal.seed,
        tokens: await world.tokens(),
        blocks: Number(await chain.head()),
        logs,
        products:
          (await client.query<{ count: number }>("SELECT count(*)::int AS count FROM nft.products")).rows[0]?.count ??
          0,
        reorgs: reorgs.count,
        deepReorgs: reorgs.deepCount,
        deepestReorg: reorgs.deepest,
        kills: kills.counts,
        killCount: kills.count,
        recovered: kills.recovered,
        faults: Object.fromEntries(faults.map((name) => [name, sum(({ injected }) => injected.get(name) ?? 0)])),
        faultCount: faultCount(),
        refused: rows[0]?.refused ?? 0,
        differing,
        ...compared,
        ...(beside ? { beside: await beside.judge(client) } : {}),
        actingSeconds,
        seconds: seconds(),
      };
    } finally {
      await client.end();
    }
  } finally {
    await beside?.stop();
    await indexer.stop();
    await Promise.all([...proxies, chain, other].map((part) => part.stop()));
    await kills.postgres.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

/** Replaces the chain's last blocks by others with other transactions. */
class Reorgs {
  count = 0;
  deepCount = 0;
  deepest = 0;
  readonly #chain: Anvil;
  readonly #world: Awaited<ReturnType<typeof buildWorld>>;
  readonly #goal: ChaosGoal;

  constructor(chain: Anvil, world: Awaited<ReturnType<typeof buildWorld>>, goal: ChaosGoal) {
    this.#chain = chain;
    this.#world = world;
    this.#goal = goal;
  }

  areDone(): boolean {
    return this.count >= this.#goal.reorgs && this.deepCount >= this.#goal.deepReorgs;
  }

  async perhaps(random: (below: number) => number): Promise<void> {
    if (this.areDone() || random(3) !== 0) return;
    const { reorgs, deepReorgs, deepest = usualDeepest } = this.#goal;
    const room = Number(await this.#chain.head()) - this.#world.firstBlock;
    const deep = this.deepCount < deepReorgs && room >= deepest && this.count >= reorgs / 2;
    // The first deep one is the deepest.
    const depth = deep && this.deepCount === 0 ? deepest : deep ? 40 + random(deepest - 39) : 1 + random(20);
    if (depth > room) return;
    await this.#chain.rpc("anvil_reorg", [depth, this.#world.replacements(random, depth)]);
    await this.#chain.mine();
    this.count += 1;
    if (deep) this.deepCount += 1;
    this.deepest = Math.max(this.deepest, depth);
  }
}

async function connectAgain(url: string): Promise<pg.Client> {
  return again(async () => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    return client;
  });
}

async function untilIndexed(client: pg.Client, chain: Anvil, lastWords: () => string): Promise<void> {
  const look = async () => {
    const head = await chain.rpc<{ hash: Hex; number: Hex }>("eth_getBlockByNumber", ["latest", false]);
    const { rows } = await client.query(
      "SELECT h.block_number, f.* FROM nft.heads h LEFT JOIN service.chain_freshness f ON f.chain_id = h.chain_id",
    );
    return { head, rows };
  };
  // Of a run outside of vitest, block numbers come as text.
  const until = ({ head, rows }: Awaited<ReturnType<typeof look>>) =>
    rows.some(
      ({ block_number, indexed_block, indexed_hash }) =>
        indexed_hash === head.hash &&
        [block_number, indexed_block].every((block) => String(block) === String(BigInt(head.number))),
    );
  await waitFor("the index to catch up", look, { until, lines: () => lastWords().split("\n"), withinMs: 300_000 });
}
