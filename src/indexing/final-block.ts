import type pg from "pg";
import { ledgerDigest } from "../../schema/ledger-digest.ts";
import type { Chain } from "../chains.ts";
import type { Logger } from "../telemetry/log.ts";
import type { FinalBlock } from "./endpoint-list.ts";
import { orderRebuild } from "./index-versions.ts";
import { tableExists } from "./nft-views.ts";
import type { RpcGateway } from "./rpc-gateway.ts";

/** How many times all endpoints must give another block 0 than the known one, until it is believed. */
const genesisRounds = 3;
/** The most blocks that one statement reads. Where more are missing, the next call continues. */
const maxBlocks = 50_000n;

/**
 * Reads the hash of block 0. It decides which index is the chain's, and a new hash makes the old index be dropped. So
 * one endpoint that gives the known hash is enough, and a new one has to come from every endpoint that answers, every
 * time.
 *
 * @throws Error when they contradict one another or the pinned hash, or when a chain that is not local and was indexed
 *   has another block 0 than before.
 */
export async function readGenesis(client: pg.Client, gateway: RpcGateway, chain: Chain): Promise<string> {
  const pinned = chain.relay.genesisHash;
  const recorded = await recordedGenesis(client, chain.id);
  const known = pinned ?? recorded;
  const named = new Set<string>();
  for (let round = 0; round < genesisRounds; round++) {
    for (const block of await gateway.requestAll("eth_getBlockByNumber", ["0x0", false])) {
      const hash = hashOf(block);
      if (hash) named.add(hash);
    }
    if (known !== null && named.has(known)) return known;
  }
  const [hash] = named;
  const variable = `GENESIS_HASH_${chain.name.toUpperCase()}`;
  if (hash === undefined) throw new Error("no RPC endpoint gives the genesis block");
  if (pinned !== null)
    throw new Error(
      `the RPC endpoint's genesis block is ${hash}, but ${variable} is ${pinned}: correct that, or RPC_URL_${chain.name.toUpperCase()}`,
    );
  if (named.size > 1) throw new Error(`the RPC endpoints name several genesis blocks: ${[...named].join(", ")}`);
  if (recorded !== null && !chain.local)
    throw new Error(
      `chain ${chain.name} was indexed with genesis block ${recorded}, and the RPC endpoint's is ${hash}: it serves another chain. When this one is right, set ${variable} to it, and the old index is dropped`,
    );
  return hash;
}

async function recordedGenesis(client: pg.Client, chainId: number): Promise<string | null> {
  const { rows } = await client.query<{ genesis: string }>(
    "SELECT genesis_hash AS genesis FROM nft.index_version WHERE chain_id = $1 ORDER BY live DESC LIMIT 1",
    [chainId],
  );
  return rows[0]?.genesis ?? null;
}

/**
 * Records hash and number of the chain's newest final block. Ponder has no such record: it would not notice a deeper
 * rollback that happened while it was down.
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
  // Two providers give different final blocks: one is wrong, and nothing shows which.
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

/**
 * Compares the recorded final block with the nodes. A node that only lags, or a development chain that is replaying its
 * past, will have it again; a chain that was rolled back further is indexed again. Either way the caller's pause keeps
 * a node that contradicts itself from causing endless indexing.
 *
 * @param suspected whether a rollback is likely: then a chain without a recorded final block is indexed again.
 * @throws Error unless the nodes have the recorded final block.
 */
export async function checkRollback(
  client: pg.Client,
  gateway: RpcGateway,
  { schema, chainId }: { schema: string; chainId: number },
  suspected = false,
): Promise<void> {
  const held = await readFinalBlock(client, schema);
  const now = held && (await readBlockHash(gateway, held.number));
  if (held && now === null) throw new Error("the node is behind a block that was final; waiting for it");
  const keepsDead = await keepsDeadBlocks(client, gateway, { schema, chainId });
  if (!keepsDead && (held ? now === held.hash : !suspected)) return;
  await orderRebuild(client, chainId);
  throw new Error("the chain was rolled back beyond finality; indexing it anew");
}

/**
 * Whether the newest block that Ponder keeps for good, in its cache or in the ledger below its final checkpoint, has
 * left the chain. Ponder may have taken blocks as final that were not recorded yet when it died or lost track; it would
 * never check them again.
 */
async function keepsDeadBlocks(
  client: pg.Client,
  gateway: RpcGateway,
  { schema, chainId }: { schema: string; chainId: number },
): Promise<boolean> {
  const kept: { number: string; hash: string }[] = [];
  if (await tableExists(client, "ponder_sync", "blocks")) {
    const sql =
      "SELECT number::text, hash FROM ponder_sync.blocks WHERE chain_id = $1 ORDER BY blocks.number DESC LIMIT 1";
    kept.push(...(await client.query<{ number: string; hash: string }>(sql, [chainId])).rows);
  }
  if (await tableExists(client, schema, "_ponder_checkpoint")) {
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

/**
 * Asks every endpoint again which chain it serves, and records the ranges that became final since the last call.
 * Disagreement is shown and logged; no indexed row is changed for it.
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

async function readFinalBlock(client: pg.Client, schema: string): Promise<FinalBlock | null> {
  const { rows } = await client.query<{ number: string | null; hash: string | null }>(
    "SELECT final_block::text AS number, final_hash AS hash FROM nft.index_version WHERE schema_name = $1",
    [schema],
  );
  const { number, hash } = rows[0] ?? { number: null, hash: null };
  return number === null || hash === null ? null : { number: BigInt(number), hash };
}

/** @returns null when the nodes do not have the block. */
async function readBlockHash(gateway: RpcGateway, number: bigint): Promise<string | null> {
  const block = await gateway.request("eth_getBlockByNumber", [`0x${number.toString(16)}`, false]);
  return hashOf(block);
}

/** The hash of a block as a node gave it; null when it is no block. */
function hashOf(block: unknown): string | null {
  const hash: unknown = typeof block === "object" && block !== null && "hash" in block ? block.hash : null;
  return typeof hash === "string" ? hash.toLowerCase() : null;
}
