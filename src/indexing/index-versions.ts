import type pg from "pg";
import type { Exclusively } from "../db/admin/change-relations.ts";
import { switchOutbox } from "./event-outbox.ts";
import { changeNft } from "./nft-views.ts";

export interface IndexVersion {
  schema: string;
  chainId: number;
  genesisHash: string;
}

/**
 * Records the schema that is about to be indexed.
 *
 * When the chain was indexed before with another genesis, it is another chain under the same id (a
 * development chain that was reset): what was indexed of it is unpublished and dropped together with
 * Ponder's cache, which would serve the old chain's logs as the new one's.
 *
 * @returns whether an older schema of this chain is live and stays so until the new one has caught up.
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

/** Makes this schema the one that readers see of its chain. Older ones go once no reader can see them. */
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

/** How often the chain was indexed anew on purpose; part of the schema's name. */
export async function readRebuilds(client: pg.Client, chainId: number): Promise<number> {
  const { rows } = await client.query<{ count: number }>("SELECT count FROM nft.rebuild WHERE chain_id = $1", [
    chainId,
  ]);
  return rows[0]?.count ?? 0;
}

/** Makes the next start index the chain anew, from the nodes instead of Ponder's cache, into another schema. */
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
    // CASCADE takes the views along that still read it; they are made again in this transaction.
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
