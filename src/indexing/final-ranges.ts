import type pg from "pg";
import { ledgerDigest } from "../../schema/ledger-digest.ts";

/** Bounds what one statement reads; far behind, the next call goes on. */
const maxBlocks = 50_000n;

/**
 * Records number and digest of the ledger rows that became final since the last call.
 *
 * @returns true when there is more to record.
 */
export async function sealFinalRange(client: pg.Client, chainId: number, schema: string): Promise<boolean> {
  const { rows } = await client.query<{ first: string; final: string | null }>(
    `SELECT (coalesce(max(r.to_block), -1) + 1)::text AS first, max(d.final_block)::text AS final
     FROM nft.index_version d LEFT JOIN service.final_range r ON r.schema_name = d.schema_name WHERE d.schema_name = $1`,
    [schema],
  );
  const [row] = rows;
  if (!row || row.final === null || BigInt(row.final) < BigInt(row.first)) return false;
  const [first, final] = [BigInt(row.first), BigInt(row.final)];
  const last = final - first >= maxBlocks ? first + maxBlocks - 1n : final;
  await client.query(
    `INSERT INTO service.final_range (chain_id, schema_name, from_block, to_block, row_count, digest)
     SELECT $1, $2, $3::bigint, $4::bigint, row_count, digest FROM (${ledgerDigest(`"${schema}"`, "$3::bigint", "$4::bigint")}) d
     ON CONFLICT DO NOTHING`,
    [chainId, schema, String(first), String(last)],
  );
  return last < final;
}
