import pg from "pg";
import { analystRole } from "../../schema/analyst-role.ts";
import { type AnalyticsObject, analyticsObjects } from "../../schema/analytics-sql.ts";
import type { Exclusively } from "../db/admin/change-relations.ts";

/** SQLSTATEs of CREATE OR REPLACE when the columns of a view or of a function's result changed. */
const changedShape = ["42P16", "42P13"];

/**
 * Makes what is missing or differs in schema `analytics`. Part of the transaction that changes `nft`: a
 * view that fell with the one below it is there again before anybody can see that it was gone.
 */
export async function publishAnalytics(client: pg.Client, exclusively: Exclusively): Promise<void> {
  await client.query("CREATE SCHEMA IF NOT EXISTS analytics");
  // Beside nft.published, because analysts see every relation of their schema.
  await client.query("CREATE TABLE IF NOT EXISTS nft.analytics_published (name text PRIMARY KEY, sql text NOT NULL)");
  const objects = analyticsObjects(await hasMetadata(client));
  const published = await publishedObjects(client);
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

async function hasMetadata(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ exists: boolean }>(
    "SELECT to_regclass('service.token_metadata') IS NOT NULL AND to_regclass('service.contract_metadata') IS NOT NULL AS exists",
  );
  return rows[0]?.exists === true;
}

async function publishedObjects(client: pg.Client): Promise<Map<string, string>> {
  const { rows } = await client.query<{ name: string; sql: string }>(
    `SELECT name, sql FROM nft.analytics_published WHERE to_regclass('analytics.' || name) IS NOT NULL
       OR EXISTS (SELECT FROM pg_proc p WHERE p.pronamespace = 'analytics'::regnamespace AND p.proname = name)`,
  );
  return new Map(rows.map((row) => [row.name, row.sql]));
}

async function replace(
  client: pg.Client,
  { create, kind, signature }: AnalyticsObject,
  exclusively: Exclusively,
): Promise<void> {
  await client.query("SAVEPOINT object");
  try {
    await exclusively(create);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || !changedShape.includes(error.code ?? "")) throw error;
    await client.query("ROLLBACK TO object");
    await exclusively(`DROP ${kind} IF EXISTS ${signature} CASCADE`);
    await exclusively(create);
  }
  await client.query("RELEASE object");
}

/** Grants only what is missing: a grant rewrites catalog rows, and this runs at every start. */
async function grantToAnalysts(client: pg.Client, objects: readonly AnalyticsObject[]): Promise<void> {
  const { rowCount } = await client.query("SELECT FROM pg_roles WHERE rolname = $1", [analystRole]);
  if (rowCount === 0) return;
  const missing = async (sql: string, values: unknown[]) => {
    const { rows } = await client.query<{ held: boolean }>(`SELECT ${sql} AS held`, values);
    return rows[0]?.held !== true;
  };
  if (await missing("has_schema_privilege($1, 'analytics', 'USAGE')", [analystRole]))
    await client.query(`GRANT USAGE ON SCHEMA analytics TO ${analystRole}`);
  for (const { kind, signature } of objects) {
    if (kind === "VIEW") {
      if (await missing("has_table_privilege($1, $2, 'SELECT')", [analystRole, signature]))
        await client.query(`GRANT SELECT ON ${signature} TO ${analystRole}`);
      continue;
    }
    const { rows } = await client.query<{ open: boolean }>(
      `SELECT EXISTS (SELECT FROM pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
         WHERE p.oid = $1::regprocedure AND a.grantee = 0) AS open`,
      [signature],
    );
    if (rows[0]?.open) await client.query(`REVOKE ALL ON FUNCTION ${signature} FROM PUBLIC`);
    if (await missing("has_function_privilege($1, $2, 'EXECUTE')", [analystRole, signature]))
      await client.query(`GRANT EXECUTE ON FUNCTION ${signature} TO ${analystRole}`);
  }
}
