import type pg from "pg";
import type { Logger } from "../log.ts";
import type { RpcGateway } from "./rpc-gateway.ts";

/** How the newest block that we hold as final stands with the node. */
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
     FROM "${schema}"._ponder_checkpoint, nft.deployment WHERE schema_name = $1`,
    [schema],
  );
  const [row] = rows;
  if (!row || row.final === row.known) return;
  const hash = await readBlockHash(gateway, BigInt(row.final));
  if (hash === null) return;
  const answers = await gateway.requestAll("eth_getBlockByNumber", [`0x${BigInt(row.final).toString(16)}`, false]);
  // Two providers that name two final blocks: one lies, and it is not ours to say which.
  if (answers.some((block) => ![hash, null].includes(hashOf(block)))) {
    log.error({ block: row.final }, "the RPC endpoints disagree about a final block; nothing is taken as final");
    await client.query("UPDATE service.chain_freshness SET providers_agree = false WHERE schema_name = $1", [schema]);
    return;
  }
  await client.query("UPDATE service.chain_freshness SET providers_agree = $2 WHERE schema_name = $1", [
    schema,
    answers.filter((block) => hashOf(block) === hash).length > 1 ? true : null,
  ]);
  const values = [row.final, hash, schema];
  await client.query("UPDATE nft.deployment SET final_block = $1, final_hash = $2 WHERE schema_name = $3", values);
}

/** Asks the node for the block that `rememberFinalBlock` noted. */
export async function checkFinalBlock(
  client: pg.Client,
  gateway: RpcGateway,
  schema: string,
): Promise<FinalBlockCheck> {
  const { rows } = await client.query<{ block: string | null; hash: string | null }>(
    "SELECT final_block::text AS block, final_hash AS hash FROM nft.deployment WHERE schema_name = $1",
    [schema],
  );
  const { block, hash } = rows[0] ?? { block: null, hash: null };
  if (block === null) return "unknown";
  const now = await readBlockHash(gateway, BigInt(block));
  if (now === null) return "behind";
  return now === hash ? "agrees" : "differs";
}

/** @returns null when the node does not have the block. */
export async function readBlockHash(gateway: RpcGateway, number: bigint): Promise<string | null> {
  const block = await gateway.request("eth_getBlockByNumber", [`0x${number.toString(16)}`, false]);
  return hashOf(block);
}

function hashOf(block: unknown): string | null {
  const hash: unknown = typeof block === "object" && block !== null && "hash" in block ? block.hash : null;
  return typeof hash === "string" ? hash.toLowerCase() : null;
}
