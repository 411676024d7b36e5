import type pg from "pg";
import type { Logger } from "../telemetry/log.ts";
import type { RpcGateway } from "./rpc-gateway.ts";

/** How the newest block that we hold as final compares with the node's chain. */
export type FinalBlockCheck = "agrees" | "behind" | "differs" | "unknown";

/**
 * Remembers hash and number of the chain's newest final block. Ponder keeps no such record: it would
 * not notice a deeper rollback that happened while it was down.
 */
export async function rememberFinalBlock(
  client: pg.Client,
  gateway: RpcGateway,
  schema: string,
  log: Logger,
): Promise<void> {
  const { rows } = await client.query<{ final: string; known: string | null }>(
    `SELECT substr(finalized_checkpoint, 27, 16)::bigint::text AS final, final_block::text AS known
     FROM "${schema}"._ponder_checkpoint, nft.index_version WHERE schema_name = $1`,
    [schema],
  );
  const [row] = rows;
  if (!row || row.final === row.known) return;
  const hash = await readBlockHash(gateway, BigInt(row.final));
  if (hash === null) return;
  const answers = await gateway.requestAll("eth_getBlockByNumber", [`0x${BigInt(row.final).toString(16)}`, false]);
  // Two providers that name two final blocks: one is wrong, and nothing shows which.
  if (answers.some((block) => ![hash, null].includes(hashOf(block)))) {
    log.error({ block: row.final }, "the RPC endpoints disagree about a final block; nothing is taken as final");
    await client.query("UPDATE service.chain_freshness SET providers_agree = false WHERE schema_name = $1", [schema]);
    return;
  }
  const agreeing = answers.filter((block) => hashOf(block) === hash).length > 1 ? true : null;
  await client.query("UPDATE service.chain_freshness SET providers_agree = $2 WHERE schema_name = $1", [
    schema,
    gateway.contradictions() > 0 ? false : agreeing,
  ]);
  const values = [row.final, hash, schema];
  await client.query("UPDATE nft.index_version SET final_block = $1, final_hash = $2 WHERE schema_name = $3", values);
}

/** Asks the node for the block that `rememberFinalBlock` stored. */
export async function checkFinalBlock(
  client: pg.Client,
  gateway: RpcGateway,
  schema: string,
): Promise<FinalBlockCheck> {
  const { rows } = await client.query<{ block: string | null; hash: string | null }>(
    "SELECT final_block::text AS block, final_hash AS hash FROM nft.index_version WHERE schema_name = $1",
    [schema],
  );
  const { block, hash } = rows[0] ?? { block: null, hash: null };
  if (block === null) return "unknown";
  const now = await readBlockHash(gateway, BigInt(block));
  if (now === null) return "behind";
  return now === hash ? "agrees" : "differs";
}

/**
 * Whether the newest block that Ponder keeps for good, in its cache or in the ledger below its final
 * checkpoint, is still the chain's. Ponder can have taken blocks as final that were not recorded yet when
 * it died or lost track; it would never look at them again.
 */
export async function keepsDeadBlocks(
  client: pg.Client,
  gateway: RpcGateway,
  { schema, chainId }: { schema: string; chainId: number },
): Promise<boolean> {
  const { rows: present } = await client.query<{ cache: boolean; ledger: boolean }>(
    "SELECT to_regclass('ponder_sync.blocks') IS NOT NULL AS cache, to_regclass($1) IS NOT NULL AS ledger",
    [`"${schema}"._ponder_checkpoint`],
  );
  const kept: { number: string; hash: string }[] = [];
  if (present[0]?.cache) {
    const sql =
      "SELECT number::text, hash FROM ponder_sync.blocks WHERE chain_id = $1 ORDER BY blocks.number DESC LIMIT 1";
    kept.push(...(await client.query<{ number: string; hash: string }>(sql, [chainId])).rows);
  }
  if (present[0]?.ledger) {
    const sql = `SELECT block_number::text AS number, '0x' || encode(block_hash, 'hex') AS hash FROM "${schema}".transfer
      WHERE block_number <= (SELECT substr(finalized_checkpoint, 27, 16)::bigint FROM "${schema}"._ponder_checkpoint)
      ORDER BY block_number DESC LIMIT 1`;
    kept.push(...(await client.query<{ number: string; hash: string }>(sql)).rows);
  }
  for (const { number, hash } of kept) {
    const now = await readBlockHash(gateway, BigInt(number));
    if (now !== null && now !== hash.toLowerCase()) return true;
  }
  return false;
}

/** @returns null when the node does not have the block. */
async function readBlockHash(gateway: RpcGateway, number: bigint): Promise<string | null> {
  const block = await gateway.request("eth_getBlockByNumber", [`0x${number.toString(16)}`, false]);
  return hashOf(block);
}

/** Of a block as a node gave it; null when it is none. */
export function hashOf(block: unknown): string | null {
  const hash: unknown = typeof block === "object" && block !== null && "hash" in block ? block.hash : null;
  return typeof hash === "string" ? hash.toLowerCase() : null;
}
