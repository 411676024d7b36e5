import { randomBytes } from "node:crypto";
import type { Kysely } from "kysely";
import pg from "pg";
import { inject } from "vitest";
import { migrate } from "../../src/db/admin/migrate.ts";
import type { Database } from "../../src/db/database.ts";
import { createDatabase, createPool } from "../../src/db/pool/pool.ts";
import { ensureRendering } from "../../src/nfts/rendered.ts";
import { NftFixture } from "./nft-fixture.ts";

export interface TestDatabase {
  url: string;
  pool: pg.Pool;
  db: Kysely<Database>;
  /** Closes the pool and drops the database. */
  drop(): Promise<void>;
}

/** A fresh, migrated database of the run's PostgreSQL. Call it in `beforeAll`, and `drop()` in `afterAll`. */
export async function createTestDatabase(options: { migrated?: boolean } = {}): Promise<TestDatabase> {
  return await copyOf(options.migrated === false ? "template1" : await migratedTemplate());
}

/** A migrated database with the index's tables of these chains, empty; one fixture for each chain fills them. */
export async function createIndexedDatabase(
  chainIds: readonly number[],
): Promise<{ database: TestDatabase; nfts: NftFixture[] }> {
  const database = await copyOf(
    await template(`template_indexed_${chainIds.join("_")}`, await migratedTemplate(), async (url) => {
      const pool = createPool(url, "template", 1);
      await NftFixture.create(pool, chainIds);
      await pool.end();
      await ensureRendering(url);
    }),
  );
  return { database, nfts: NftFixture.of(database.pool, chainIds) };
}

function migratedTemplate(): Promise<string> {
  return template("template_migrated", "template1", async (url) => void (await migrate(url)));
}

const made = new Map<string, Promise<string>>();

/**
 * Makes a database once in a run, for all workers, and leaves it without a session: a copy of it takes a fraction of
 * what the statements behind it take. A worker asks once whether it is there.
 *
 * @returns `name`.
 */
function template(name: string, from: string, fill: (url: string) => Promise<void>): Promise<string> {
  const making = made.get(name) ?? makeTemplate(name, from, fill);
  made.set(name, making);
  // The next one tries again.
  making.catch(() => made.delete(name));
  return making;
}

async function makeTemplate(name: string, from: string, fill: (url: string) => Promise<void>): Promise<string> {
  const admin = new pg.Client({ connectionString: inject("postgresUrl") });
  await admin.connect();
  try {
    // It ends with the session.
    await admin.query("SELECT pg_advisory_lock(hashtext($1))", [name]);
    const there = await admin.query("SELECT FROM pg_database WHERE datname = $1", [name]);
    if (there.rowCount !== 0) return name;
    // It has its name only when it is whole: a worker may end in the middle.
    const unfinished = `${name}_unfinished`;
    await admin.query(`DROP DATABASE IF EXISTS ${unfinished} WITH (FORCE)`);
    await admin.query(`CREATE DATABASE ${unfinished} TEMPLATE ${from}`);
    await fill(urlOf(unfinished));
    await admin.query(`ALTER DATABASE ${unfinished} RENAME TO ${name}`);
    return name;
  } finally {
    await admin.end();
  }
}

async function copyOf(template: string): Promise<TestDatabase> {
  const name = `test_${randomBytes(6).toString("hex")}`;
  await administer(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
  const url = urlOf(name);
  const pool = createPool(url, "test");
  // A test that holds a transaction or a lock does so until it has looked, however slow the machine is.
  Object.assign(pool.options, {
    idle_in_transaction_session_timeout: 0,
    statement_timeout: 0,
    connectionTimeoutMillis: 0,
    // A test that waits long goes on with the connections that it has.
    idleTimeoutMillis: 0,
  });
  return {
    url,
    pool,
    db: createDatabase(pool),
    drop: async () => {
      // Services that were given this pool may have ended it.
      if (!pool.ended) await pool.end();
      await administer(`DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
}

const urlOf = (name: string) => inject("postgresUrl").replace(/\/[^/]*$/, `/${name}`);

/**
 * Runs a statement over a connection that this worker keeps: to open one costs the server a hundred times what a short
 * statement does. Statements at once wait for one another.
 */
async function administer(statement: string): Promise<void> {
  administrator ??= createAdministrator();
  await administrator.query(statement);
}

let administrator: pg.Pool | undefined;

function createAdministrator(): pg.Pool {
  const pool = new pg.Pool({
    connectionString: inject("postgresUrl"),
    max: 1,
    idleTimeoutMillis: 0,
    // It does not keep the worker, which ends without a word.
    allowExitOnIdle: true,
  });
  // The server ends before the worker does; a test may end every session.
  pool.on("error", () => undefined);
  return pool;
}
