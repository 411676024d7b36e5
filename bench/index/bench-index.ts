// Our ledger with triggers beside per-event upserts through Ponder's store, on the same blocks, which both find in the
// same cache of fetched logs: npm run bench:index [-- events]
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { startPostgres } from "../../src/embedded/postgres.ts";
import { freePorts } from "../../src/free-port.ts";
import { CrowdChain } from "./crowd-chain.ts";
import { ours, runPonder, upserts } from "./ponder-run.ts";

const events = Number(process.argv[2] ?? 100_000);
const dir = mkdtempSync(join(tmpdir(), "mintyard-bench-"));
const [port = 0] = await freePorts(1);
const postgres = await startPostgres(dir, port);
const chain = await CrowdChain.start();
const settings = {
  chainId: chain.chainId,
  rpcUrl: chain.url,
  pollingIntervalMs: 100,
  startBlock: 0,
  factory: null,
  databaseUrl: postgres.url,
  salt: "bench",
};
const sql = new pg.Pool({ connectionString: postgres.url });
const schemas = { ours: "bench_ours", upserts: "bench_upserts" };

try {
  say(`${events} transfers in ${events / 500} blocks`);
  await chain.addTransfers(events);
  await fetchAll("warm_1");
  say("\nfresh tables, everything in memory");
  const fresh = await round();
  await expectRows(events);

  say(`\nanother ${events / 2} transfers after a restart: nothing is in memory`);
  await chain.addTransfers(events / 2);
  await fetchAll("warm_2");
  const cold = await round(events / 2);
  await expectRows(events * 1.5);

  await latency();
  const line = (name: string, { own, other }: { own: number; other: number }) =>
    say(
      `${name}: ours ${own.toFixed(0)} events/s, upserts ${other.toFixed(0)} events/s, ratio ${(own / other).toFixed(2)}`,
    );
  say("");
  line("in memory", fresh);
  line("after a restart", cold);
} finally {
  chain.stop();
  await sql.end();
  await postgres.stop();
  rmSync(dir, { recursive: true, force: true });
}
process.exit(0);

/** Fills Ponder's table of fetched logs, so that what follows measures indexing and not the node. */
async function fetchAll(schema: string): Promise<void> {
  await (await runPonder(ours, schema, settings)).stop();
  await sql.query(`DROP SCHEMA "${schema}" CASCADE`);
}

async function round(count = events): Promise<{ own: number; other: number }> {
  const rates: number[] = [];
  for (const [variant, schema] of [
    [ours, schemas.ours],
    [upserts, schemas.upserts],
  ] as const) {
    const run = await runPonder(variant, schema, settings);
    say(`  ${variant.name}: ${run.seconds.toFixed(2)} s, peak ${run.peakMb().toFixed(0)} MB`);
    rates.push(count / run.seconds);
    await run.stop();
  }
  const [own = 0, other = 0] = rates;
  return { own, other };
}

/** Both must have counted every transfer, and agree on who owns what. */
async function expectRows(count: number): Promise<void> {
  const { rows } = await sql.query(
    `SELECT (SELECT count(*) FROM ${schemas.ours}.transfer) AS ours, (SELECT count(*) FROM ${schemas.upserts}.transfer) AS theirs,
       (SELECT count(*) FROM ${schemas.ours}.token t FULL JOIN ${schemas.upserts}.token u
          ON u.contract = '0x' || encode(t.contract, 'hex') AND u.token_id = t.token_id
        WHERE u.owner IS DISTINCT FROM '0x' || encode(t.owner, 'hex')) AS different`,
  );
  const [found] = rows;
  if (Number(found.ours) !== count || Number(found.theirs) !== count || Number(found.different) !== 0)
    throw new Error(`the two do not agree: ${JSON.stringify(found, (_, value) => String(value))}`);
}

/** From a mined block to its row in `token`, with polling every 100 ms, as an embedded chain has it. */
async function latency(): Promise<void> {
  const run = await runPonder(ours, schemas.ours, settings);
  const count = async () => {
    const { rows } = await sql.query<{ count: string }>(`SELECT count(*) FROM ${schemas.ours}.transfer`);
    return Number(rows[0]?.count);
  };
  const times: number[] = [];
  for (let i = 0; i < 20; i++) {
    const before = await count();
    await chain.run(i, 2);
    const mined = performance.now();
    while ((await count()) < before + 2) await new Promise((done) => setTimeout(done, 2));
    times.push(performance.now() - mined);
    await new Promise((done) => setTimeout(done, 137));
  }
  times.sort((a, b) => a - b);
  say(`\nblock to row, 20 times: median ${times[10]?.toFixed(0)} ms, worst ${times[19]?.toFixed(0)} ms`);
  await run.stop();
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
