import { setTimeout as wait } from "node:timers/promises";
import type pg from "pg";
import type { Chain } from "../chains.ts";

/** First key of the advisory locks by which a chain has one indexer; the second is the chain id. */
const chainLockClass = 724_190;

/** @throws Error when another indexer of the chain works on this database for ten seconds. */
export async function lockChain(client: pg.Client, chain: Chain, signal: AbortSignal): Promise<void> {
  for (let attempt = 0; attempt < 100 && !signal.aborted; attempt++) {
    const { rows } = await client.query<{ locked: boolean }>(
      "SELECT pg_try_advisory_lock($1::integer, $2::integer) AS locked",
      [chainLockClass, chain.id],
    );
    if (rows[0]?.locked) return;
    // A killed indexer's session ends a moment after it; so does a rolling restart's.
    await wait(100, undefined, { signal }).catch(() => undefined);
  }
  throw new Error(`another indexer of chain ${chain.name} (id ${chain.id}) works on this database`);
}

/**
 * Waits until no Ponder of a launcher that died has a session left, and cuts those that stay: two that
 * write into one chain's tables, or its cache, lose rows without an error.
 */
export async function endOrphans(client: pg.Client, chain: Chain): Promise<void> {
  const own = "datname = current_database() AND application_name LIKE $1 AND pid <> pg_backend_pid()";
  const names = [`c${chain.id}\\_%`];
  for (let waited = 0; waited < 150; waited++) {
    const cut = waited < 60 ? "" : ", pg_terminate_backend(pid)";
    const { rowCount } = await client.query(`SELECT pid${cut} FROM pg_stat_activity WHERE ${own}`, names);
    if (rowCount === 0) break;
    await wait(50);
  }
  const { rows } = await client.query<{ schema: string }>(
    "SELECT schema_name AS schema FROM nft.index_version WHERE chain_id = $1",
    [chain.id],
  );
  // Killed, it left its lock, which the next Ponder would respect for 25 s.
  for (const { schema } of rows) await unlockSchema(client, schema);
}

/** Takes away the lock of a Ponder that is known to be dead. */
export async function unlockSchema(client: pg.Client, schema: string): Promise<void> {
  if (await tableExists(client, schema, "_ponder_meta"))
    await client.query(`UPDATE "${schema}"._ponder_meta SET value = jsonb_set(value, '{is_locked}', '0')`);
}

export async function tableExists(client: pg.Client, schema: string, table: string): Promise<boolean> {
  const { rows } = await client.query<{ exists: boolean }>("SELECT to_regclass($1) IS NOT NULL AS exists", [
    `"${schema}".${table}`,
  ]);
  return rows[0]?.exists === true;
}
