import { join } from "node:path";
import pg from "pg";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createAnalystLogin } from "../../src/db/admin/analyst-logins.ts";
import { migrate } from "../../src/db/admin/migrate.ts";
import { createPool } from "../../src/db/pool/pool.ts";
import { type EmbeddedPostgres, startPostgres } from "../../src/embedded/postgres.ts";
import { freePorts } from "../../src/free-port.ts";
import { changeNft, connect } from "../../src/indexing/nft-views.ts";
import { prepareDatabase } from "../../src/processes/prepare-database.ts";
import { addressOf, NftFixture, nobody } from "../setup/nft-fixture.ts";
import { startStandby } from "../setup/standby.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { patient } from "../setup/wait.ts";
import { outcome } from "./analytics-fixture.ts";
import { attempts } from "./attempts.ts";

// A primary and a streaming standby of their own: analysts are sent to such a standby, and what they may has to hold there.
const dir = temporaryFolder();
let primary: EmbeddedPostgres;
let standby: EmbeddedPostgres;
let pool: pg.Pool;
let ledger: NftFixture | undefined;
let analyst: pg.Client;

beforeAll(async () => {
  const [first = 0, second = 0] = await freePorts(2);
  primary = await startPostgres(join(dir, "primary"), first);
  await migrate(primary.url);
  pool = createPool(primary.url, "test", 2);
  [ledger] = await NftFixture.create(pool, [1]);
  await pool.query("CREATE SCHEMA ponder_sync; CREATE TABLE ponder_sync.logs (chain_id bigint)");
  await ledger?.add([{ contract: addressOf(0x2a), tokenId: 1n, from: nobody, to: addressOf(0xa1) }]);
  const client = await connect(primary.url, "test");
  await changeNft(client, () =>
    client.query(
      "INSERT INTO nft.index_version (schema_name, chain_id, genesis_hash, live) VALUES ('c1_test', 1, '0x', true)",
    ),
  );
  await client.end();
  await prepareDatabase(primary.url, pino({ level: "silent" }));
  const login = await createAnalystLogin(primary.url, "ada");
  standby = await startStandby(primary, join(dir, "primary"), join(dir, "standby"), second);
  analyst = new pg.Client({ connectionString: login.url.replace(`:${first}/`, `:${second}/`) });
  analyst.on("error", () => undefined);
  await analyst.connect();
  await analyst.query("SET statement_timeout = '5s'");
});
afterAll(async () => {
  await analyst?.end().catch(() => undefined);
  await pool?.end();
  await standby?.stop();
  await primary?.stop();
});

test("an analyst reads every view and the function there, and sees what the primary writes", async () => {
  const { rows: views } = await analyst.query<{ name: string }>(
    "SELECT relname AS name FROM pg_class WHERE relnamespace = 'analytics'::regnamespace AND relkind = 'v' ORDER BY 1",
  );
  expect(views.length).toBeGreaterThanOrEqual(10);
  for (const { name } of views) expect(await outcome(analyst, [`SELECT * FROM ${name}`]), name).toBe("ok");
  expect((await analyst.query("SELECT owner FROM tokens")).rows).toEqual([{ owner: addressOf(0xa1) }]);
  expect(await outcome(analyst, ["SELECT * FROM holdings_at(1, 101)"])).toBe("ok");
  await ledger?.add([{ contract: addressOf(0x2a), tokenId: 2n, from: nobody, to: addressOf(0xa2) }]);
  await expect
    .poll(async () => (await analyst.query("SELECT owner FROM tokens ORDER BY token_id")).rows, patient)
    .toEqual([{ owner: addressOf(0xa1) }, { owner: addressOf(0xa2) }]);
});

/** 42501: no right; 25006: a standby takes no writes; 57014: the time-out. */
const refusals = ["42501", "25006", "57014"];

test("what an analyst may not do on the primary is refused there too", async () => {
  const victim = new pg.Client({ connectionString: standby.url });
  await victim.connect();
  const pid = String((await victim.query("SELECT pg_backend_pid() AS pid")).rows[0].pid);
  const fill = (sql: string) =>
    sql.replaceAll("{victim}", pid).replaceAll("{self}", "mintyard_analyst_ada").replaceAll("{database}", "mintyard");
  const passed: string[] = [];
  for (const { name, sql, refusal, undo } of attempts) {
    if (undo === undefined) await analyst.query("BEGIN");
    const result = await outcome(analyst, fill(sql).split(";\n"));
    await analyst.query("ROLLBACK; RESET ROLE; RESET ALL; SET statement_timeout = '5s'");
    if (!refusals.includes(result) && result !== refusal) passed.push(`${name}: ${result}`);
  }
  await victim.end();
  expect(passed).toEqual([]);
});

test("what nothing can forbid on the primary is forbidden there: notifications, listening, transaction ids", async () => {
  for (const sql of ["NOTIFY x, 'y'", "LISTEN x", `ALTER ROLE mintyard_analyst_ada SET work_mem = '1GB'`])
    expect(await outcome(analyst, [sql]), sql).toBe("25006");
});

test("an analyst's open transaction there keeps nothing back on the primary", async () => {
  await analyst.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
  await analyst.query("SELECT count(*) FROM tokens");
  await pool.query("SET lock_timeout = '5s'; ALTER TABLE service.token_metadata ADD COLUMN probe integer");
  const { rows } = await pool.query(
    "SELECT count(*)::int AS held FROM pg_stat_replication WHERE backend_xmin IS NOT NULL",
  );
  expect(rows).toEqual([{ held: 0 }]);
  await analyst.query("ROLLBACK");
});
