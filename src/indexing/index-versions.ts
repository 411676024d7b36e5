import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type pg from "pg";
import { readIndexStatements } from "../../schema/read-indexes.ts";
import { type Chain, operatorsOf } from "../chains.ts";
import type { Exclusively } from "../db/admin/change-relations.ts";
import { switchOutbox } from "./event-outbox.ts";
import { changeNft, holds, tableExists } from "./nft-views.ts";
import { ponderFolder } from "./ponder-process.ts";

const root = new URL("../../", import.meta.url);
/** Every file that determines the content of an indexer's tables. A change to one makes a new schema from the start. */
const decisiveFiles = [
  "ponder.config.ts",
  ...[
    "ledger",
    "bytea-column",
    "derived-state",
    "fungible",
    "range-allowance",
    "tokens-added",
    "product-owners",
    "contract-flags",
    "nft-events",
    "marked-logs",
  ].map((name) => `schema/${name}.ts`),
  ...["hostile-logs", "erc20-noise"].map((name) => `src/indexing/${name}.ts`),
];

export interface IndexIdentity {
  /** Schema of the chain's tables: `c<chainId>_<8 hex digits>`. */
  schema: string;
  /** Part of Ponder's build id, which does not cover files outside Ponder's root. */
  salt: string;
}

/**
 * Derives the schema's name from what determines its content: code, chain settings and genesis.
 *
 * @param rebuilds how often the chain was indexed again for reasons that the code does not show.
 */
export async function indexIdentity(chain: Chain, genesisHash: string, rebuilds: number): Promise<IndexIdentity> {
  const hash = createHash("sha256");
  const folder = fileURLToPath(new URL("indexer/", root));
  const handlers = await readdir(folder, { recursive: true, withFileTypes: true });
  const ofIndexer = handlers
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts") && !entry.name.endsWith(".d.ts"))
    .map((entry) => `indexer/${relative(folder, `${entry.parentPath}/${entry.name}`)}`);
  for (const name of [...decisiveFiles, ...ofIndexer].sort()) {
    hash
      .update(`${name}\0`)
      .update(await readFile(new URL(name, root)))
      .update("\0");
  }
  const ponder = JSON.parse(await readFile(join(ponderFolder(), "package.json"), "utf8")) as { version: string };
  const { id, startBlock, indexScope: scope } = chain;
  const factory = chain.factory && [chain.factory.address, String(chain.factory.block)];
  // Sorted: the index does not depend on which of them is the present one.
  const operators = operatorsOf(chain)
    .map(({ address, block }) => `${address}:${block}`)
    .sort();
  hash.update(
    JSON.stringify({ ponder: ponder.version, id, startBlock, scope, factory, operators, genesisHash, rebuilds }),
  );
  const salt = hash.digest("hex");
  return { schema: `c${id}_${salt.slice(0, 8)}`, salt };
}

/** First key of the advisory locks that limit each chain to one indexer; the second key is the chain id. */
const chainLockClass = 724_190;

/** @throws Error when another indexer of the chain keeps its lock for ten seconds. */
export async function lockChain(client: pg.Client, chain: Chain, signal: AbortSignal): Promise<void> {
  for (let attempt = 0; attempt < 100 && !signal.aborted; attempt++) {
    if (await holds(client, "pg_try_advisory_lock($1::integer, $2::integer)", [chainLockClass, chain.id])) return;
    // The session of a killed indexer ends a moment later, and so does that of the previous one in a rolling restart.
    await wait(100, undefined, { signal }).catch(() => undefined);
  }
  throw new Error(`another indexer of chain ${chain.name} (id ${chain.id}) works on this database`);
}

/**
 * Waits until no Ponder process of a dead launcher has a database session, and terminates the sessions that remain: two
 * processes that write to one chain's tables, or to its cache, lose rows without an error.
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
  // A killed Ponder leaves its lock, which the next one would respect for 25 s.
  for (const { schema } of rows) await unlockSchema(client, schema);
}

/** Removes the lock of a Ponder process that is known to be dead. */
export async function unlockSchema(client: pg.Client, schema: string): Promise<void> {
  if (await tableExists(client, schema, "_ponder_meta"))
    await client.query(`UPDATE "${schema}"._ponder_meta SET value = jsonb_set(value, '{is_locked}', '0')`);
}

export interface IndexVersion {
  schema: string;
  chainId: number;
  genesisHash: string;
}

/**
 * Records the schema that is about to be indexed.
 * If the chain was indexed before with another genesis, it is another chain under the same id (a development chain that
 * was reset). Its old index is then unpublished and dropped together with Ponder's cache, which would give the old
 * chain's logs for the new one.
 *
 * @returns whether an older schema of this chain is live, and stays so until the new one has caught up.
 */
export async function recordIndexVersion(
  client: pg.Client,
  { schema, chainId, genesisHash }: IndexVersion,
): Promise<boolean> {
  return changeNft(client, async (exclusively) => {
    const { rows } = await client.query<{ schema: string; genesis: string; live: boolean }>(
      "SELECT schema_name AS schema, genesis_hash AS genesis, live FROM nft.index_version WHERE chain_id = $1",
      [chainId],
    );
    const dead = rows.filter((row) => row.genesis !== genesisHash).map((row) => row.schema);
    if (dead.length > 0) await purgePonderCache(client, chainId);
    await forget(client, dead, exclusively);
    await client.query(
      "INSERT INTO nft.index_version (schema_name, chain_id, genesis_hash) VALUES ($1, $2, $3) ON CONFLICT (schema_name) DO NOTHING",
      [schema, chainId, genesisHash],
    );
    return rows.some((row) => row.live && row.schema !== schema && row.genesis === genesisHash);
  });
}

/** Makes this schema the one that readers see of its chain. Older ones are dropped once no reader can see them. */
export async function publishIndexVersion(client: pg.Client, { schema, chainId }: IndexVersion): Promise<void> {
  await changeNft(client, async () => {
    await switchOutbox(client, chainId, schema);
    await client.query("UPDATE nft.index_version SET live = (schema_name = $1) WHERE chain_id = $2", [schema, chainId]);
  });
  await changeNft(client, async (exclusively) => {
    const { rows } = await client.query<{ schema: string }>(
      "SELECT schema_name AS schema FROM nft.index_version WHERE chain_id = $1 AND schema_name <> $2",
      [chainId, schema],
    );
    await forget(
      client,
      rows.map((row) => row.schema),
      exclusively,
    );
  });
}

/** How often the chain was deliberately indexed again; part of the schema's name. */
export async function readRebuilds(client: pg.Client, chainId: number): Promise<number> {
  const { rows } = await client.query<{ count: number }>("SELECT count FROM nft.rebuild WHERE chain_id = $1", [
    chainId,
  ]);
  return rows[0]?.count ?? 0;
}

/** At the next start the chain is indexed again into another schema, from the nodes and not from Ponder's cache. */
export async function orderRebuild(client: pg.Client, chainId: number): Promise<void> {
  await changeNft(client, async () => {
    await purgePonderCache(client, chainId);
    await client.query(
      "INSERT INTO nft.rebuild VALUES ($1, 1) ON CONFLICT (chain_id) DO UPDATE SET count = nft.rebuild.count + 1",
      [chainId],
    );
  });
}

async function forget(client: pg.Client, schemas: readonly string[], exclusively: Exclusively): Promise<void> {
  for (const schema of schemas) {
    // CASCADE also drops the views that still read the schema; they are made again in this transaction.
    await client.query("DELETE FROM nft.index_version WHERE schema_name = $1", [schema]);
    for (const table of ["final_range", "log_sample", "event_index", "event_withdrawn"])
      await client.query(`DELETE FROM service.${table} WHERE schema_name = $1`, [schema]);
    await exclusively(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`);
  }
}

async function purgePonderCache(client: pg.Client, chainId: number): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.columns
     WHERE table_schema = 'ponder_sync' AND column_name = 'chain_id'`,
  );
  for (const { name } of rows) await client.query(`DELETE FROM ${name} WHERE chain_id = $1`, [chainId]);
}

/**
 * Makes the indexes that readers need, and statistics for tables without them: otherwise PostgreSQL takes freshly
 * filled tables for small ones, until autovacuum comes by a minute later.
 */
export async function prepareForReaders(client: pg.ClientBase, schema: string): Promise<void> {
  for (const statement of readIndexStatements(schema)) await client.query(statement);
  const { rows } = await client.query<{ name: string }>(
    "SELECT format('%I.%I', $1::text, relname) AS name FROM pg_class WHERE relnamespace = to_regnamespace(quote_ident($1)) AND relkind = 'r' AND reltuples < 0",
    [schema],
  );
  for (const { name } of rows) await client.query(`ANALYZE ${name}`);
}
