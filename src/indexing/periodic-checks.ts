import type pg from "pg";
import type { Chain } from "../chains.ts";
import { sealFinalRange } from "./final-ranges.ts";
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
