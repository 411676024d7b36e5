import { readdir, readFile } from "node:fs/promises";
import pg from "pg";

const folder = new URL("../../schema/migrations/", import.meta.url);
/** Any constant does; two processes that start together take turns. */
const lockKey = 7_241_903_155;

/**
 * Brings schema `service` up to the newest of `schema/migrations/NNNN_subject.sql`, in order, each in
 * its own transaction. Forward only: an applied file must not change any more.
 *
 * @returns the names applied now.
 * @throws Error when an applied migration is no longer the file it was.
 */
export async function migrate(databaseUrl: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: "mintyard-migrate" });
  await client.connect();
  try {
    await client.query("SELECT pg_advisory_lock($1)", [lockKey]);
    await client.query(`CREATE SCHEMA IF NOT EXISTS service`);
    await client.query(`CREATE TABLE IF NOT EXISTS service.migration (
      name text PRIMARY KEY, digest text NOT NULL, applied_at timestamptz NOT NULL DEFAULT clock_timestamp())`);
    const { rows } = await client.query<{ name: string; digest: string }>("SELECT name, digest FROM service.migration");
    const applied = new Map(rows.map((row) => [row.name, row.digest]));
    const done: string[] = [];
    for (const name of (await readdir(folder)).filter((file) => file.endsWith(".sql")).sort()) {
      const sql = await readFile(new URL(name, folder), "utf8");
      const digest = await sha256(sql);
      const before = applied.get(name);
      if (before === digest) continue;
      if (before !== undefined) throw new Error(`migration ${name} was changed after it ran; add a new one instead`);
      await client.query("BEGIN");
      try {
        await client.query(sql);
        await client.query("INSERT INTO service.migration (name, digest) VALUES ($1, $2)", [name, digest]);
        await client.query("COMMIT");
      } catch (error) {
        await client.query("ROLLBACK");
        throw new Error(`migration ${name} failed`, { cause: error });
      }
      done.push(name);
    }
    return done;
  } finally {
    await client.end();
  }
}

async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Buffer.from(digest).toString("hex");
}
