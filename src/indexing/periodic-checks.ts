import type pg from "pg";
import { ledgerDigest } from "../../schema/ledger-digest.ts";
import type { Chain } from "../chains.ts";
import type { RpcGateway } from "./rpc-gateway.ts";
import type { FinalBlock } from "./rpc-upstreams.ts";

/**
 * Asks every endpoint anew which chain it serves and records what became final since the last time.
 * Disagreement is shown and logged; nothing that was indexed is rewritten for it.
 *
 * @returns true when there is more to record.
 */
export async function checkPeriodically(
  client: pg.Client,
  gateway: RpcGateway,
  { chain, schema }: { chain: Chain; schema: string },
): Promise<boolean> {
  const states = await gateway.audit(await readFinalBlock(client, schema));
  if (states.some(({ state }) => state === "contradicts"))
    await client.query("UPDATE service.chain_freshness SET providers_agree = false WHERE schema_name = $1", [schema]);
  return sealFinalRange(client, chain.id, schema);
}

async function readFinalBlock(client: pg.Client, schema: string): Promise<FinalBlock | null> {
  const { rows } = await client.query<{ number: string | null; hash: string | null }>(
    "SELECT final_block::text AS number, final_hash AS hash FROM nft.index_version WHERE schema_name = $1",
    [schema],
  );
  const { number, hash } = rows[0] ?? { number: null, hash: null };
  return number === null || hash === null ? null : { number: BigInt(number), hash };
}

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
