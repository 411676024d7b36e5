import pg from "pg";
import { type LiveSchema, nftViewStatements } from "../../schema/nft-views.ts";
import { changeRelations, type Exclusively } from "../db/admin/change-relations.ts";
import { publishAnalytics } from "./analytics.ts";

/** Any constant does: changes of schema `nft` take turns. */
const lockKey = 7_241_903_156;
/** SQLSTATE of CREATE OR REPLACE VIEW when columns were renamed, retyped or dropped. */
const viewChangedShape = "42P16";

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

/** Publishes what follows from the live schemas as they are now: a contract was left out of one of them. */
export async function publishNftViews(client: pg.Client): Promise<void> {
  await changeNft(client, async () => undefined);
}

export async function connect(databaseUrl: string, name: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: `mintyard-${name}`,
    keepAlive: true,
  });
  // The query under way fails as well, and that is where it is handled.
  client.on("error", () => undefined);
  await client.connect();
  return client;
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
  // One row per Ponder schema; those with `live` are what the views show.
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
  // What each view was made from: replacing a view waits for its readers and makes others wait.
  await client.query("CREATE TABLE IF NOT EXISTS nft.published (view_name text PRIMARY KEY, sql text NOT NULL)");
  const result = await change(exclusively);
  await publish(client, exclusively);
  await publishAnalytics(client, exclusively);
  return result;
}

async function publish(client: pg.Client, exclusively: Exclusively): Promise<void> {
  const { rows } = await client.query<{ name: string; sql: string }>(
    "SELECT view_name AS name, sql FROM nft.published WHERE to_regclass('nft.' || view_name) IS NOT NULL",
  );
  const published = new Map(rows.map((row) => [row.name, row.sql]));
  for (const { name, sql } of nftViewStatements(await liveSchemas(client))) {
    if (published.get(name) === sql) continue;
    // What hung on it fell with it.
    if ((await replaceView(client, { name, sql }, exclusively)) === "dropped") published.clear();
    await client.query(
      "INSERT INTO nft.published VALUES ($1, $2) ON CONFLICT (view_name) DO UPDATE SET sql = excluded.sql",
      [name, sql],
    );
  }
}

/** @returns `dropped` for a view of another shape, together with what hung on it. */
async function replaceView(
  client: pg.Client,
  { name, sql }: { name: string; sql: string },
  exclusively: Exclusively,
): Promise<"replaced" | "dropped"> {
  await client.query("SAVEPOINT view");
  try {
    await exclusively(sql);
    await client.query("RELEASE view");
    return "replaced";
  } catch (error) {
    if (!(error instanceof pg.DatabaseError && error.code === viewChangedShape)) throw error;
    await client.query("ROLLBACK TO view");
    await exclusively(`DROP VIEW nft.${name} CASCADE`);
    await exclusively(sql);
    return "dropped";
  }
}

/** A schema that was dropped by hand is left out, so that the others stay readable. */
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
      hasFungible: tables.includes("fungible") && (await hasRows(client, schema, "fungible")),
    });
  return live;
}

async function hasRows(client: pg.Client, schema: string, table: string): Promise<boolean> {
  const { rows } = await client.query<{ found: boolean }>(`SELECT EXISTS (SELECT FROM "${schema}".${table}) AS found`);
  return rows[0]?.found === true;
}
