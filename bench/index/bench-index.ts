// Our ledger with triggers compared with per-event upserts through Ponder's store, on the same blocks, which both read
// from the same cache of fetched logs: npm run -s mintyard -- dev bench index [events]
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { readIndexStatements } from "../../schema/read-indexes.ts";
import { startPostgres } from "../../src/embedded/postgres.ts";
import { freePorts } from "../../src/free-port.ts";
import { CrowdChain } from "./crowd-chain.ts";
import { ours, runPonder, upserts, type Variant } from "./ponder-run.ts";

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
  operators: [],
  wsUrl: null,
  scope: "all",
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

  say(
    `\nanother ${events / 2} after a restart, with the indexes for readers in place (only a running service has them)`,
  );
  for (const statement of readIndexStatements(schemas.ours)) await sql.query(statement);
  await chain.addTransfers(events / 2);
  await fetchAll("warm_3");
  const indexed = await rate(ours, schemas.ours, events / 2);

  await latency();
  const line = (name: string, { own, other }: { own: number; other: number }) =>
    say(
      `${name}: ours ${own.toFixed(0)} events/s, upserts ${other.toFixed(0)} events/s, ratio ${(own / other).toFixed(2)}`,
    );
  say("");
  line("in memory", fresh);
  line("after a restart", cold);
  say(`after a restart, indexes for readers in place: ours ${indexed.toFixed(0)} events/s`);
} finally {
  chain.stop();
  await sql.end();
  await postgres.stop();
  rmSync(dir, { recursive: true, force: true });
}
process.exit(0);

/** Fills Ponder's table of fetched logs, so that the runs measure indexing and not the node. */
async function fetchAll(schema: string): Promise<void> {
  await (await runPonder(ours, schema, settings)).stop();
  await sql.query(`DROP SCHEMA "${schema}" CASCADE`);
}

async function round(count = events): Promise<{ own: number; other: number }> {
  return { own: await rate(ours, schemas.ours, count), other: await rate(upserts, schemas.upserts, count) };
}

async function rate(variant: Variant, schema: string, count: number): Promise<number> {
  const run = await runPonder(variant, schema, settings);
  const [seconds, cpu, memory] = [run.seconds.toFixed(2), run.cpuSeconds.toFixed(2), run.peakMb().toFixed(0)];
  say(`  ${variant.name}: ${seconds} s, of it ${cpu} s of a processor in Ponder's process, peak ${memory} MB`);
  await run.stop();
  return count / run.seconds;
}

/** Both must have every transfer, and the same tokens, accounts and contracts. */
async function expectRows(count: number): Promise<void> {
  const [o, u] = [schemas.ours, schemas.upserts];
  const hex = (column: string) => `'0x' || encode(${column}, 'hex')`;
  const differing = (mine: string, theirs: string) =>
    `(SELECT count(*) FROM ((${mine} EXCEPT ALL ${theirs}) UNION ALL (${theirs} EXCEPT ALL ${mine})) d)`;
  const { rows } = await sql.query(
    `SELECT (SELECT count(*) FROM ${o}.transfer) AS ours, (SELECT count(*) FROM ${u}.transfer) AS theirs,
       ${differing(
         `SELECT ${hex("contract")}, token_id, ${hex("owner")}, mint_block, ${hex("creator")}, transfers_721, breaks FROM ${o}.token`,
         `SELECT contract, token_id, owner, mint_block::bigint, creator, transfers::bigint, breaks::bigint FROM ${u}.token`,
       )} AS tokens,
       ${differing(
         `SELECT ${hex("owner")}, holding_count FROM ${o}.account_total WHERE holding_count <> 0`,
         `SELECT owner, tokens::bigint FROM ${u}.account WHERE tokens <> 0`,
       )} AS accounts,
       ${differing(
         `SELECT ${hex("address")}, first_block, transfers_721, token_count, token_count_ever FROM ${o}.contract`,
         `SELECT address, first_block::bigint, transfers::bigint, tokens::bigint, tokens_ever::bigint FROM ${u}.contract`,
       )} AS contracts`,
  );
  const [found] = rows;
  const { ours: own, theirs, tokens, accounts, contracts } = found;
  if (`${[own, theirs, tokens, accounts, contracts]}` !== `${[count, count, 0, 0, 0]}`)
    throw new Error(`the two do not agree: ${JSON.stringify(found)}`);
}

/** Time from a mined block to its row in `token`, with polling every 100 ms, as for an embedded chain. */
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
