import pg from "pg";
import { analystRole } from "../../schema/analyst-role.ts";
import { type AnalyticsObject, analyticsObjects } from "../../schema/analytics-sql.ts";
import { type LiveSchema, nftViewStatements } from "../../schema/nft-views.ts";
import { changeRelations, type Exclusively } from "../db/admin/change-relations.ts";

/** Key of the advisory lock that serialises changes of schema `nft`; any constant would do. */
const lockKey = 7_241_903_156;
/** SQLSTATEs of CREATE OR REPLACE when the columns of a view or of a function's result were renamed, retyped or dropped. */
const changedShape = ["42P16", "42P13"];

/**
 * Makes schema `nft` with its views, so that readers can start before any chain is indexed. Safe to
 * call at every start and from several processes at once; the API calls it after its migrations.
 */
export async function ensureNftViews(databaseUrl: string): Promise<void> {
  const client = await connect(databaseUrl, "nft-views");
  try {
    await publishNftViews(client);
  } finally {
    await client.end();
  }
}

/** Publishes again what depends on the live schemas, after a contract was left out of one of them. */
export async function publishNftViews(client: pg.Client): Promise<void> {
  await changeNft(client, async () => undefined);
}

export async function connect(databaseUrl: string, name: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: `mintyard-${name}`,
    keepAlive: true,
  });
  // The running query fails as well, and its caller handles the error.
  client.on("error", () => undefined);
  await client.connect();
  return client;
}

/** Runs `work` in a transaction. @throws what it throws, after the rollback. */
export async function inTransaction(client: pg.Client, work: () => Promise<void>): Promise<void> {
  await client.query("BEGIN");
  try {
    await work();
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK").catch(() => undefined);
    throw error;
  }
}

/** @param condition an SQL condition. */
export async function holds(client: pg.ClientBase, condition: string, values: unknown[] = []): Promise<boolean> {
  const { rows } = await client.query<{ holds: boolean }>(`SELECT ${condition} AS holds`, values);
  return rows[0]?.holds === true;
}

export async function tableExists(client: pg.ClientBase, schema: string, table: string): Promise<boolean> {
  return await holds(client, "to_regclass($1) IS NOT NULL", [`"${schema}".${table}`]);
}

/**
 * Runs `change` on the record of deployments and publishes the views that follow from it, all or nothing. Both may run
 * several times; see `changeRelations`.
 */
export async function changeNft<T>(client: pg.Client, change: (exclusively: Exclusively) => Promise<T>): Promise<T> {
  return await changeRelations(
    client,
    "publishing the views of the index",
    (exclusively) => publishChange(client, change, exclusively),
    { turn: lockKey },
  );
}

async function publishChange<T>(
  client: pg.Client,
  change: (exclusively: Exclusively) => Promise<T>,
  exclusively: Exclusively,
): Promise<T> {
  await client.query("CREATE SCHEMA IF NOT EXISTS nft");
  // One row per Ponder schema; the views show those with `live`.
  await client.query(`CREATE TABLE IF NOT EXISTS nft.index_version (
      schema_name text PRIMARY KEY,
      chain_id bigint NOT NULL,
      genesis_hash text NOT NULL,
      live boolean NOT NULL DEFAULT false,
      final_block bigint,
      final_hash text,
      created_at timestamptz NOT NULL DEFAULT clock_timestamp())`);
  await client.query(`CREATE TABLE IF NOT EXISTS nft.rebuild (
      chain_id bigint PRIMARY KEY,
      count integer NOT NULL)`);
  // The SQL of each view: replacing a view waits for its readers and blocks others, so an unchanged one is left alone.
  await client.query("CREATE TABLE IF NOT EXISTS nft.published (view_name text PRIMARY KEY, sql text NOT NULL)");
  const result = await change(exclusively);
  await publish(client, exclusively);
  await publishAnalytics(client, exclusively);
  return result;
}

async function publish(client: pg.Client, exclusively: Exclusively): Promise<void> {
  const published = await readPublished(
    client,
    "SELECT view_name AS name, sql FROM nft.published WHERE to_regclass('nft.' || view_name) IS NOT NULL",
  );
  for (const { name, sql } of nftViewStatements(await liveSchemas(client))) {
    if (published.get(name) === sql) continue;
    const outcome = await replace(client, { create: sql, kind: "VIEW", signature: `nft.${name}` }, exclusively);
    // The drop also removed everything that depends on it.
    if (outcome === "dropped") published.clear();
    await client.query(
      "INSERT INTO nft.published VALUES ($1, $2) ON CONFLICT (view_name) DO UPDATE SET sql = excluded.sql",
      [name, sql],
    );
  }
}

/** The statement that made each relation, for the relations that still exist. */
async function readPublished(client: pg.Client, query: string): Promise<Map<string, string>> {
  const { rows } = await client.query<{ name: string; sql: string }>(query);
  return new Map(rows.map(({ name, sql }) => [name, sql]));
}

/** @returns `dropped` for a relation of another shape, which is dropped with everything that depends on it. */
async function replace(
  client: pg.Client,
  { create, kind, signature }: Pick<AnalyticsObject, "create" | "kind" | "signature">,
  exclusively: Exclusively,
): Promise<"replaced" | "dropped"> {
  await client.query("SAVEPOINT relation");
  try {
    await exclusively(create);
    await client.query("RELEASE relation");
    return "replaced";
  } catch (error) {
    if (!(error instanceof pg.DatabaseError && changedShape.includes(error.code ?? ""))) throw error;
    await client.query("ROLLBACK TO relation");
    await exclusively(`DROP ${kind} IF EXISTS ${signature} CASCADE`);
    await exclusively(create);
    return "dropped";
  }
}

/** A schema that was dropped by hand is skipped, so that the others stay readable. */
async function liveSchemas(client: pg.Client): Promise<LiveSchema[]> {
  const { rows } = await client.query<{ chain: string; schema: string; tables: string[] }>(
    `SELECT chain_id::text AS chain, schema_name AS schema,
       ARRAY(SELECT tablename::text FROM pg_catalog.pg_tables WHERE schemaname = schema_name) AS tables FROM nft.index_version
     WHERE live AND to_regclass(quote_ident(schema_name) || '.account_total') IS NOT NULL ORDER BY chain_id, schema_name`,
  );
  const live: LiveSchema[] = [];
  for (const { chain, schema, tables } of rows)
    live.push({
      ...{ chainId: Number(chain), schema, tables: new Set(tables) },
      hasFungible: tables.includes("fungible") && (await holds(client, `EXISTS (SELECT FROM "${schema}".fungible)`)),
    });
  return live;
}

/**
 * Makes what is missing or differs in schema `analytics`. It belongs to the transaction that changes `nft`: a view that
 * was dropped with the one that it reads is back before a reader can notice.
 */
export async function publishAnalytics(client: pg.Client, exclusively: Exclusively): Promise<void> {
  await client.query("CREATE SCHEMA IF NOT EXISTS analytics");
  // A table of its own next to nft.published, because analysts see every relation of their schema.
  await client.query("CREATE TABLE IF NOT EXISTS nft.analytics_published (name text PRIMARY KEY, sql text NOT NULL)");
  const hasMetadata =
    (await tableExists(client, "service", "token_metadata")) &&
    (await tableExists(client, "service", "contract_metadata"));
  const objects = analyticsObjects(hasMetadata);
  const published = await readPublished(
    client,
    `SELECT name, sql FROM nft.analytics_published WHERE to_regclass('analytics.' || name) IS NOT NULL
       OR EXISTS (SELECT FROM pg_proc p WHERE p.pronamespace = 'analytics'::regnamespace AND p.proname = name)`,
  );
  for (const object of objects) {
    const sql = [object.create, ...object.comments].join(";\n");
    if (published.get(object.name) === sql) continue;
    await replace(client, object, exclusively);
    for (const comment of object.comments) await client.query(comment);
    await client.query(
      "INSERT INTO nft.analytics_published VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET sql = excluded.sql",
      [object.name, sql],
    );
  }
  await grantToAnalysts(client, objects);
}

/** Grants only missing privileges: a grant rewrites catalog rows, and this runs at every start. */
async function grantToAnalysts(client: pg.Client, objects: readonly AnalyticsObject[]): Promise<void> {
  const { rowCount } = await client.query("SELECT FROM pg_roles WHERE rolname = $1", [analystRole]);
  if (rowCount === 0) return;
  if (!(await holds(client, "has_schema_privilege($1, 'analytics', 'USAGE')", [analystRole])))
    await client.query(`GRANT USAGE ON SCHEMA analytics TO ${analystRole}`);
  for (const { kind, signature } of objects) {
    if (kind === "VIEW") {
      if (!(await holds(client, "has_table_privilege($1, $2, 'SELECT')", [analystRole, signature])))
        await client.query(`GRANT SELECT ON ${signature} TO ${analystRole}`);
      continue;
    }
    const isOpen = `EXISTS (SELECT FROM pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
      WHERE p.oid = $1::regprocedure AND a.grantee = 0)`;
    if (await holds(client, isOpen, [signature])) await client.query(`REVOKE ALL ON FUNCTION ${signature} FROM PUBLIC`);
    if (!(await holds(client, "has_function_privilege($1, $2, 'EXECUTE')", [analystRole, signature])))
      await client.query(`GRANT EXECUTE ON FUNCTION ${signature} TO ${analystRole}`);
  }
}
