// npm run bench:index [events]: our indexer, derived state included, beside a Ponder app that upserts per event.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { encodeFunctionData, toHex } from "viem";
import { startPostgres } from "../../src/embedded/postgres.ts";
import { freePorts } from "../../src/free-port.ts";
import { ponderFolder } from "../../src/indexing/ponder-process.ts";
import { startAnvil } from "../../test/indexing/anvil.ts";
import { randomOf } from "../../test/indexing/hostile-cases.ts";
import { compileSolidity } from "../../test/setup/compile.ts";

const events = Number(process.argv[2] ?? 100_000);
const perTransaction = 500;
const root = new URL("../../", import.meta.url).pathname;
const roots = { ours: join(root, "indexer"), upsert: join(root, "bench/index/upsert") };
type Variant = keyof typeof roots;
const directory = await mkdtemp(join(tmpdir(), "mintyard-bench-"));
const [port = 0] = await freePorts(1);
const postgres = await startPostgres(join(directory, "pg"), port);
const chain = await startAnvil();
const client = new pg.Client({ connectionString: postgres.url });
const figures: Record<string, unknown> = { events, cores: (await import("node:os")).availableParallelism() };

try {
  await client.connect();
  const { Chaos721 } = compileSolidity(readFileSync(join(root, "test/fixtures/Chaos.sol"), "utf8"));
  if (!Chaos721) throw new Error("Chaos.sol was not compiled");
  const nft = await chain.deploy(Chaos721);
  for (let minted = 0; minted < events; minted += perTransaction) {
    await chain.call(nft, "mint", [toHex(BigInt(1 + (minted % 997)), { size: 20 }), BigInt(perTransaction)]);
    await chain.mine();
  }
  await mineToFinality();
  // Fills Ponder's cache of logs, so that the timed runs below measure indexing and not the node.
  await timed("ours", "warm_up");
  const first = { ours: await timed("ours", "ours"), upsert: await timed("upsert", "upsert") };
  figures["backfillInMemory"] = { ...first, ratio: ratio(first.upsert.eventsPerSecond, first.ours.eventsPerSecond) };

  const random = randomOf(1);
  const moves = Math.floor(events / 5);
  for (let moved = 0; moved < moves; ) {
    for (let count = 0; count < 500; count++, moved++) {
      const args = [BigInt(random(events)), toHex(BigInt(1 + random(1_000_000)), { size: 20 })];
      await chain.send(
        nft.address,
        encodeFunctionData({ abi: nft.abi, functionName: "move", args }),
        count % 10,
        200_000,
      );
    }
    await chain.mine();
  }
  await mineToFinality();
  await timed("ours", "warm_up");
  const second = { ours: await timed("ours", "ours", moves), upsert: await timed("upsert", "upsert", moves) };
  figures["afterRestart"] = {
    moves,
    ...second,
    ratio: ratio(second.upsert.eventsPerSecond, second.ours.eventsPerSecond),
  };
  figures["blockToRowMs"] = await latency(nft);
  process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
} finally {
  await client.end();
  await chain.stop();
  await postgres.stop();
  await rm(directory, { recursive: true, force: true });
}

function ratio(base: number, ours: number): number {
  return Math.round((ours / base) * 100) / 100;
}

async function mineToFinality(): Promise<void> {
  for (let count = 0; count < 40; count++) await chain.mine();
}

function start(variant: Variant, schema: string, httpPort: number): ChildProcess {
  const settings = {
    chainId: 31337,
    rpcUrl: chain.url,
    wsUrl: null,
    scope: "all",
    pollingIntervalMs: 100,
    startBlock: 0,
    factory: null,
    databaseUrl: postgres.url,
    salt: "bench",
  };
  const config = variant === "ours" ? ["--config", "../ponder.config.ts"] : [];
  const args = [
    join(ponderFolder(), "dist/esm/bin/ponder.js"),
    "--root",
    roots[variant],
    ...config,
    "--log-format",
    "json",
    "start",
    "--schema",
    schema,
    "-p",
    String(httpPort),
    "-H",
    "127.0.0.1",
  ];
  const env = { DATABASE_URL: postgres.url, NODE_ENV: "production", MINTYARD_PONDER: JSON.stringify(settings) };
  return spawn(process.execPath, args, { cwd: directory, env, stdio: ["ignore", "pipe", "inherit"] });
}

/** Runs to the end of the backfill. The time is Ponder's own, from the start of indexing: without its start-up. */
async function timed(variant: Variant, schema: string, count = events) {
  const [httpPort = 0] = await freePorts(1);
  const child = start(variant, schema, httpPort);
  const ms = await new Promise<number>((done, failed) => {
    let text = "";
    let began = 0;
    child.once("exit", (code) => failed(new Error(`${variant} ended with ${code}: ${text.slice(-2_000)}`)));
    child.stdout?.on("data", (chunk: Buffer) => {
      text = (text + chunk.toString()).slice(-20_000);
      if (began === 0 && text.includes("Started backfill indexing")) began = performance.now();
      if (text.includes("Completed backfill indexing across all chains")) done(performance.now() - began);
    });
  });
  const peak = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1];
  child.removeAllListeners("exit");
  const ended = once(child, "exit");
  child.kill("SIGINT");
  await ended;
  return {
    ms: Math.round(ms),
    eventsPerSecond: Math.round((count / ms) * 1_000),
    peakMb: Math.round(Number(peak) / 1_024),
  };
}

async function latency(nft: Awaited<ReturnType<typeof chain.deploy>>): Promise<{ median: number; worst: number }> {
  const [httpPort = 0] = await freePorts(1);
  const child = start("ours", "ours", httpPort);
  const rows = async () =>
    Number(
      (await client.query('SELECT count(*) AS n FROM "ours".transfer WHERE block_number > $1', [String(before)]))
        .rows[0].n,
    );
  const before = await chain.head();
  const untilRows = async (wanted: number) => {
    while ((await rows()) < wanted) await new Promise((done) => setTimeout(done, 2));
  };
  const times: number[] = [];
  for (let round = 0; round <= 20; round++) {
    await chain.call(nft, "mint", [chain.account(1), 1n]);
    await chain.mine();
    const mined = performance.now();
    await untilRows(round + 1);
    if (round > 0) times.push(Math.round(performance.now() - mined));
  }
  const ended = once(child, "exit");
  child.kill("SIGINT");
  await ended;
  times.sort((a, b) => a - b);
  return { median: times[10] ?? 0, worst: times[19] ?? 0 };
}
