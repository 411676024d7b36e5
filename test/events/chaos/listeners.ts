import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { createAccount } from "../../../src/auth/keys.ts";
import { createDatabase, createPool } from "../../../src/db/pool/pool.ts";
import { freePorts } from "../../../src/free-port.ts";
import type { Anvil } from "../../indexing/anvil.ts";
import type { Beside, ChaosParts } from "../../indexing/chaos/run-chaos.ts";
import { SeededGenerator } from "../../setup/seeded-generator.ts";
import { wait } from "../../setup/wait.ts";
import { CutFollower } from "./cut-follower.ts";
import { FaultyReceiver } from "./faulty-receiver.ts";
import { KeptProcess } from "./keep-process.ts";
import { differences, type MovementBook } from "./movement-book.ts";

/** A restart of the index takes about as long. */
const catchUpMs = 6_000;
const levels = ["latest", "safe", "finalized"] as const;
/** Blocks on top until all that happened is final: Ponder moves its final block by 200 when 400 are above it (chain 137). */
const untilFinal = 450;

export interface ListenerGoal {
  seed: number;
  /** Of all streams together. */
  cuts: number;
  /** Of the API and of the worker, each. */
  kills: number;
}

/** A receiver of webhooks and a client of streams at each finality, beside an API and a worker that are killed. */
export async function startListeners(parts: ChaosParts, goal: ListenerGoal): Promise<Beside> {
  const { databaseUrl, rpcUrls, directory, chainId, chain, world } = parts;
  const pepper = randomUUID();
  const [port = 0] = await freePorts(1);
  const env = {
    ...{ DATABASE_URL: databaseUrl, MINTYARD_DATA_DIR: directory, KEY_PEPPER: pepper, RPC_URL_GOERLI: rpcUrls },
    ...{ CHAIN_ID_GOERLI: String(chainId), LOCAL_GOERLI: "true", LOG_LEVEL: "warn", RATE_LIMITS: "off" },
    ...{ WEBHOOKS_ALLOW_PRIVATE: "true", METRICS_PORT: "0", HOST: "127.0.0.1", PORT: String(port) },
    // Documents are read elsewhere: here their reading would only be load.
    METADATA_FIRST_TOKENS: "0",
  };
  const pool = createPool(databaseUrl, "chaos", 2);
  const key = randomUUID();
  await createAccount(createDatabase(pool), pepper, { name: "chaos", tier: "enterprise", key });
  await pool.end();
  const processes = ["api", "worker"].map((name) => new KeptProcess(`src/processes/${name}.ts`, env));
  const url = `http://127.0.0.1:${port}`;
  await untilAnswering(url, processes);
  const receiver = await FaultyReceiver.start(new SeededGenerator(goal.seed + 11).below);
  const contracts = world.plain.map((address) => address.toLowerCase());
  for (const finality of levels) {
    const input = {
      url: `${receiver.url}/${finality}`,
      types: ["nft.transfer"],
      chains: ["goerli"],
      contracts,
      finality,
    };
    const made = await fetch(`${url}/v1/webhooks`, {
      method: "POST",
      headers: { authorization: key, "content-type": "application/json" },
      body: JSON.stringify(input),
    });
    if (!made.ok) throw new Error(`no endpoint: ${await made.text()}`);
  }
  const followers = new Map<(typeof levels)[number], CutFollower>();
  for (const finality of levels) {
    const query = new URLSearchParams([
      ...[
        ["types", "nft.transfer"],
        ["chain", "goerli"],
        ["finality", finality],
      ].map(([name, value]) => [name ?? "", value ?? ""]),
      ...contracts.map((contract) => ["contract", contract]),
    ]);
    followers.set(finality, await CutFollower.start(url, key, query));
  }
  const books = () => [
    ...levels.map((level) => [`webhook ${level}`, receiver.bookOf(`/${level}`)] as const),
    ...levels.flatMap((level) => {
      const follower = followers.get(level);
      return follower ? [[`stream ${level}`, follower.book] as const] : [];
    }),
  ];
  const cuts = () => [...followers.values()].reduce((sum, follower) => sum + follower.cuts, 0);

  return {
    step: async (random) => {
      if (cuts() < goal.cuts) for (const follower of followers.values()) if (random(2) === 0) follower.cut();
      const victim = processes[random(2)];
      if (victim && victim.kills < goal.kills && random(8) === 0) victim.kill();
      await hurry(databaseUrl);
      // What the index has not told yet cannot be taken back: in most steps it is waited for.
      if (random(3) > 0) await untilCaughtUp(databaseUrl, chain);
    },
    judge: async (client) => {
      for (let block = 0; block < untilFinal; block += 1) await chain.mine();
      const truth = await world.holdings();
      // What waits now meets faults still.
      await untilEqual(databaseUrl, books(), truth, 20_000);
      receiver.faultOneIn = 0;
      await untilEqual(databaseUrl, books(), truth, 180_000);
      const wrong = Object.fromEntries(books().map(([name, book]) => [name, differences(book.holdings(), truth)]));
      const { rows } = await client.query<{ finality: string; sequences: string[] }>(
        `SELECT finality, array_agg(sequence::text ORDER BY sequence) AS sequences FROM service.event
         WHERE type IN ('nft.transfer', 'nft.transfer.retracted') AND contract = ANY ($1::bytea[]) GROUP BY finality`,
        [contracts.map((contract) => Buffer.from(contract.slice(2), "hex"))],
      );
      const missed: Record<string, number> = {};
      for (const [finality, follower] of followers) {
        const got = new Set(follower.sequences.map(String));
        const all = rows.find((row) => row.finality === finality)?.sequences ?? [];
        missed[finality] = all.filter((sequence) => !got.has(sequence)).length;
      }
      const each = <T>(pick: (follower: CutFollower) => T) =>
        Object.fromEntries([...followers].map(([level, follower]) => [level, pick(follower)]));
      return {
        holdings: truth.size,
        wrong,
        events: Object.fromEntries(rows.map(({ finality, sequences }) => [finality, sequences.length])),
        retractions: Object.fromEntries(books().map(([name, book]) => [name, book.retractions])),
        repeated: Object.fromEntries(books().map(([name, book]) => [name, book.repeated])),
        missed,
        disorder: each(({ disorder }) => disorder),
        expired: each(({ expired }) => expired),
        opened: each(({ opened }) => opened),
        cuts: cuts(),
        kills: { api: processes[0]?.kills, worker: processes[1]?.kills },
        answers: Object.fromEntries(receiver.answers),
      };
    },
    stop: async () => {
      await Promise.all([...followers.values()].map((follower) => follower.stop()));
      await Promise.all(processes.map((process) => process.stop()));
      await receiver.close();
    },
  };
}

async function untilAnswering(url: string, processes: readonly KeptProcess[]): Promise<void> {
  const isAnswering = () =>
    fetch(`${url}/livez`).then(
      ({ ok }) => ok,
      () => false,
    );
  await wait("an answer of the API", isAnswering, { lines: () => processes.map(({ lastWords }) => lastWords) });
}

/** What failed is due at once: nobody here waits for hours. While PostgreSQL is away nothing is due. */
async function hurry(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  client.on("error", () => undefined);
  try {
    await client.connect();
    await client.query(
      "UPDATE service.webhook_delivery SET next_at = clock_timestamp() WHERE state = 'pending' AND next_at > clock_timestamp()",
    );
    await client.query(`UPDATE service.webhook w SET next_due = clock_timestamp()
      WHERE (w.lease_until IS NULL OR w.lease_until < clock_timestamp()) AND w.next_due > clock_timestamp()`);
  } catch {
    // It was killed.
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Waits until the index shows the chain's head, for some seconds at most. */
async function untilCaughtUp(databaseUrl: string, chain: Anvil): Promise<void> {
  const head = await chain.head();
  for (const end = Date.now() + catchUpMs; Date.now() < end; await sleep(50)) {
    const client = new pg.Client({ connectionString: databaseUrl });
    client.on("error", () => undefined);
    try {
      await client.connect();
      const { rows } = await client.query<{ block: string }>("SELECT block_number::text AS block FROM nft.heads");
      if (rows.some(({ block }) => BigInt(block) >= head)) return;
    } catch {
      // PostgreSQL is starting.
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

/** Waits until everybody knows what the chain says. */
async function untilEqual(
  databaseUrl: string,
  books: readonly (readonly [string, MovementBook])[],
  truth: ReadonlyMap<string, bigint>,
  withinMs: number,
): Promise<void> {
  for (const end = Date.now() + withinMs; Date.now() < end; ) {
    await hurry(databaseUrl);
    if (books.every(([, book]) => differences(book.holdings(), truth).length === 0)) return;
    await sleep(500);
  }
}
