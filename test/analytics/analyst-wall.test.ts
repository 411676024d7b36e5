import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { analystSettings, analystSuperuserSettings } from "../../schema/analyst-role.ts";
import { createAnalystLogin, dropAnalystLogin } from "../../src/db/admin/analyst-logins.ts";
import { type AnalyticsFixture, createAnalyticsFixture, outcome } from "./analytics-fixture.ts";
import { type Attempt, attempts } from "./attempts.ts";

let fixture: AnalyticsFixture;
let analyst: pg.Client;
let owner: pg.Client;
beforeAll(async () => {
  fixture = await createAnalyticsFixture([1]);
  await fixture.database.pool.query("CREATE SCHEMA ponder_sync; CREATE TABLE ponder_sync.logs (chain_id bigint)");
  analyst = await fixture.connectAnalyst();
  // Any session may do this, so the wall has to stand without it.
  await analyst.query("SET default_transaction_read_only = off");
  owner = new pg.Client({ connectionString: fixture.database.url });
  await owner.connect();
});
afterAll(async () => {
  await owner?.end();
  await fixture?.remove();
});

async function withVictim<T>(run: (pid: number) => Promise<T>): Promise<T> {
  const victim = new pg.Client({ connectionString: fixture.database.url });
  victim.on("error", () => undefined);
  await victim.connect();
  try {
    const { rows } = await victim.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
    return await run(rows[0]?.pid ?? 0);
  } finally {
    await victim.end().catch(() => undefined);
  }
}

const fill = (sql: string, victim: number) =>
  sql
    .replaceAll("{victim}", String(victim))
    .replaceAll("{self}", fixture.analystRole)
    .replaceAll("{database}", new URL(fixture.database.url).pathname.slice(1));

/** @returns the SQLSTATE for this caller; whatever it changed is undone. */
async function make(client: pg.Client, { sql, undo }: Attempt): Promise<string> {
  return withVictim(async (victim) => {
    if (undo !== undefined) {
      const result = await outcome(client, [fill(sql, victim)]);
      if (result === "ok") await client.query(fill(undo, victim));
      return result;
    }
    await client.query("BEGIN");
    const result = await outcome(client, fill(sql, victim).split(";\n"));
    await client.query(
      "ROLLBACK; RESET ROLE; RESET SESSION AUTHORIZATION; RESET ALL; SET default_transaction_read_only = off",
    );
    return result;
  });
}

describe("an analyst is refused, and the owner is not, who", () => {
  test.each(attempts)("$name", async (attempt) => {
    expect(await make(analyst, attempt)).toBe(attempt.refusal ?? "42501");
    expect(await make(owner, attempt), "the same as the owner").toBe(attempt.owner ?? "ok");
  });
});

test("sees nothing of other sessions' queries and of sampled values", async () => {
  const activity = "SELECT query FROM pg_stat_activity WHERE datname = current_database() AND usename = 'postgres'";
  await owner.query("SELECT 'a secret in a query'");
  const seen = await analyst.query<{ query: string }>(activity);
  expect(seen.rows.length).toBeGreaterThan(0);
  expect(new Set(seen.rows.map(({ query }) => query))).toEqual(new Set(["<insufficient privilege>"]));
  const samples = "SELECT count(*)::int AS count FROM pg_stats WHERE schemaname = 'service'";
  await owner.query("ANALYZE service.migration");
  expect((await analyst.query(samples)).rows).toEqual([{ count: 0 }]);
  expect((await owner.query<{ count: number }>(samples)).rows[0]?.count).toBeGreaterThan(0);
});

test("a session starts read-only, with time-outs, in its schema, and the group has the same settings", async () => {
  const session = await fixture.connectAnalyst();
  expect(await outcome(session, ["CREATE TABLE t (a int)"])).toBe("25006");
  const shown = Object.keys({ ...analystSettings, ...analystSuperuserSettings });
  const { rows } = await session.query<Record<string, string>>(
    `SELECT ${shown.map((name) => `current_setting('${name}') AS "${name}"`).join(", ")}`,
  );
  expect(rows[0]).toEqual({ ...analystSettings, ...analystSuperuserSettings });
  const group = await owner.query<{ settings: string[] }>(
    "SELECT setconfig AS settings FROM pg_db_role_setting WHERE setrole = 'mintyard_analyst'::regrole",
  );
  expect(group.rows[0]?.settings.toSorted()).toEqual(
    Object.entries({ ...analystSettings, ...analystSuperuserSettings })
      .map(([name, value]) => `${name}=${value}`)
      .toSorted(),
  );
});

test("has a limited number of connections, and none to the server's other databases", async () => {
  const other = new pg.Client({ connectionString: fixture.analystUrl.replace(/\/[^/]*$/, "/postgres") });
  await expect(other.connect()).rejects.toMatchObject({ code: "42501" });
  const login = await createAnalystLogin(fixture.database.url, "limit_probe");
  const sessions = Array.from({ length: 6 }, () => new pg.Client({ connectionString: login.url }));
  try {
    // One after another: PostgreSQL counts a session that it is about to refuse, so that two at once may both be refused.
    for (const session of sessions.slice(0, -1)) await session.connect();
    await expect(sessions.at(-1)?.connect()).rejects.toMatchObject({ code: "53300" });
  } finally {
    await Promise.all(sessions.map((session) => session.end().catch(() => undefined)));
    await dropAnalystLogin(fixture.database.url, "limit_probe");
  }
});

test("a condition that throws does not tell what a barrier view leaves out", async () => {
  const { pool } = fixture.database;
  const token = "(1, decode(repeat('aa', 20), 'hex'), 1, 'pending', 'hidden text')";
  await pool.query(`INSERT INTO service.token_metadata (chain_id, contract, token_id, status, name) VALUES ${token}`);
  // The same view twice; its condition is dear, so that PostgreSQL would rather try the cheap one first.
  const body = "SELECT name FROM service.token_metadata WHERE md5(md5(md5(md5(status)))) = ''";
  await pool.query(`CREATE VIEW analytics.open AS ${body};
    CREATE VIEW analytics.barrier WITH (security_barrier) AS ${body};
    GRANT SELECT ON analytics.open, analytics.barrier TO mintyard_analyst`);
  try {
    const leak = (view: string) => analyst.query(`SELECT * FROM analytics.${view} WHERE name::int > 0`);
    await expect(leak("open")).rejects.toThrow("hidden text");
    expect((await leak("barrier")).rows).toEqual([]);
    expect((await leak("metadata")).rows).toEqual([]);
  } finally {
    await pool.query("DROP VIEW analytics.open, analytics.barrier");
  }
  const { rows } = await pool.query<{ barriers: string[] }>(
    `SELECT array_agg(relname::text ORDER BY relname) AS barriers FROM pg_class
     WHERE relnamespace = 'analytics'::regnamespace AND reloptions @> '{security_barrier=true}'`,
  );
  // Those that read schema service.
  expect(rows[0]?.barriers).toEqual(["collections", "metadata"]);
});

test("may read every relation of its schema, call one function, and do nothing else to them", async () => {
  const { rows } = await owner.query<{ relation: string; privileges: string }>(
    `SELECT c.relnamespace::regnamespace || '.' || c.relname AS relation, string_agg(a.privilege_type, ' ') AS privileges
     FROM pg_class c, aclexplode(c.relacl) a WHERE a.grantee = 'mintyard_analyst'::regrole GROUP BY 1
     UNION ALL
     SELECT p.oid::regprocedure::text, string_agg(a.privilege_type, ' ') FROM pg_proc p, aclexplode(p.proacl) a
     WHERE a.grantee = 'mintyard_analyst'::regrole GROUP BY 1 ORDER BY 1`,
  );
  const views = ["chains", "collections", "contract_flags", "daily_activity", "holders_distribution", "holdings"];
  const all = [...views, "metadata", "mints", "tokens", "transfers", "version"];
  expect(Object.fromEntries(rows.map(({ relation, privileges }) => [relation, privileges]))).toEqual({
    ...Object.fromEntries(all.map((view) => [`analytics.${view}`, "SELECT"])),
    "analytics.holdings_at(integer,bigint)": "EXECUTE",
  });
});

test("there are at least 60 attempts, each another one", () => {
  expect(new Set(attempts.map(({ sql }) => sql)).size).toBeGreaterThanOrEqual(60);
});
