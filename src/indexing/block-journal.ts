import type pg from "pg";
import type { Hex } from "viem";
import { type Header, readHeader } from "./header.ts";
import { inTransaction } from "./nft-views.ts";
import type { RpcGateway } from "./rpc-gateway.ts";

/** Number of blocks that are kept, and the furthest that the first entry may lie behind the head. */
const keptBlocks = 20_000n;
const firstReach = 64n;
const maxStep = 256n;

/**
 * Extends the journal of block hashes to the node's head: each entry has the parent hash of the next one. Entries that
 * the node no longer has are replaced and recorded as a reorganisation. Far behind the head, each call adds a part.
 *
 * @returns the node's head.
 */
export async function extendJournal(client: pg.Client, gateway: RpcGateway, chainId: number): Promise<bigint> {
  const { header: head } = await gateway.heads.read();
  const entry = await newestEntry(client, chainId);
  if (entry?.hash === head.hash) return head.number;
  // A journal that is far behind starts again: a gap must not look like a chain.
  const usable = entry && entry.number + keptBlocks > head.number ? entry : null;
  const until = usable && head.number > usable.number + maxStep ? usable.number + maxStep : head.number;
  const tip = until === head.number ? head : await readBlock(gateway, until);
  const blocks = await linkBack(client, gateway, chainId, tip, usable ? null : head.number - firstReach);
  const fork = (blocks[0] ?? tip).number - 1n;
  await inTransaction(client, async () => {
    const gone = await client.query("DELETE FROM service.chain_block WHERE chain_id = $1 AND (number > $2 OR $3)", [
      chainId,
      String(fork),
      usable === null,
    ]);
    if (usable && gone.rowCount)
      await client.query(
        "INSERT INTO service.chain_reorg (chain_id, fork_block, depth, old_head, new_head) VALUES ($1, $2, $3, $4, $5)",
        [chainId, String(fork), gone.rowCount, usable.hash, tip.hash],
      );
    await client.query(
      `INSERT INTO service.chain_block (chain_id, number, hash, parent_hash, block_timestamp)
       SELECT $1, * FROM unnest($2::bigint[], $3::text[], $4::text[], $5::bigint[])`,
      [
        chainId,
        blocks.map(({ number }) => String(number)),
        blocks.map(({ hash }) => hash),
        blocks.map(({ parentHash }) => parentHash),
        blocks.map(({ timestamp }) => String(timestamp)),
      ],
    );
    await client.query("DELETE FROM service.chain_block WHERE chain_id = $1 AND number <= $2", [
      chainId,
      String(tip.number - keptBlocks),
    ]);
  });
  return head.number;
}

/** Follows parent hashes down to an entry that is still canonical, or to `floor`. */
async function linkBack(
  client: pg.Client,
  gateway: RpcGateway,
  chainId: number,
  tip: Header,
  floor: bigint | null,
): Promise<Header[]> {
  const blocks = [tip];
  for (let first = tip; ; ) {
    if (first.number === 0n || (floor !== null && first.number <= floor)) break;
    if (floor === null) {
      const { rows } = await client.query<{ hash: string | null; lowest: string | null }>(
        `SELECT (SELECT hash FROM service.chain_block WHERE chain_id = $1 AND number = $2) AS hash,
          (SELECT min(number) FROM service.chain_block WHERE chain_id = $1)::text AS lowest`,
        [chainId, String(first.number - 1n)],
      );
      if (rows[0]?.hash === first.parentHash) break;
      if (rows[0]?.lowest && first.number <= BigInt(rows[0].lowest)) break;
    }
    first = await readBlock(gateway, first.parentHash);
    blocks.unshift(first);
  }
  return blocks;
}

async function newestEntry(client: pg.Client, chainId: number): Promise<{ number: bigint; hash: string } | null> {
  const { rows } = await client.query<{ number: string; hash: string }>(
    "SELECT number::text, hash FROM service.chain_block WHERE chain_id = $1 ORDER BY chain_block.number DESC LIMIT 1",
    [chainId],
  );
  return rows[0] ? { number: BigInt(rows[0].number), hash: rows[0].hash } : null;
}

async function readBlock(gateway: RpcGateway, which: Hex | bigint): Promise<Header> {
  const byHash = typeof which === "string";
  const param = typeof which === "bigint" ? `0x${which.toString(16)}` : which;
  const block = await gateway.request(byHash ? "eth_getBlockByHash" : "eth_getBlockByNumber", [param, false]);
  if (typeof block !== "object" || block === null) throw new Error(`the node has no block ${param}`);
  return readHeader(block as Record<string, unknown>);
}

/** Records the progress of the chain's index. */
export async function recordFreshness(
  client: pg.Client,
  gateway: RpcGateway,
  { chain, schema }: { chain: { id: number; name: string }; schema: string },
  head: bigint,
  progress: { movedAt: number; waitsFor: string | null },
): Promise<void> {
  const refused = [...gateway.refusals.values()].reduce((sum, count) => sum + count, 0);
  await client.query(
    `INSERT INTO service.chain_freshness AS f (chain_id, chain_name, schema_name, indexed_block, indexed_hash,
       indexed_timestamp, node_head, final_block, final_hash, refused_answers, checked_at, node_seen_at, progressed_at, waits_for,
       unproven, endpoints)
     SELECT $1, $2, $3, c.block, j.hash, c.stamp, $4, d.final_block, d.final_hash, $5, clock_timestamp(), clock_timestamp(),
       clock_timestamp() - $6 * interval '1 millisecond', $7, $8, $9
     FROM (SELECT substr(latest_checkpoint, 27, 16)::bigint AS block, substr(latest_checkpoint, 1, 10)::bigint AS stamp
       FROM "${schema}"._ponder_checkpoint) c
     JOIN nft.index_version d ON d.schema_name = $3
     LEFT JOIN service.chain_block j ON j.chain_id = $1 AND j.number = c.block
     ON CONFLICT (chain_id) DO UPDATE SET chain_name = excluded.chain_name, schema_name = excluded.schema_name,
       indexed_block = excluded.indexed_block, indexed_hash = excluded.indexed_hash,
       indexed_timestamp = excluded.indexed_timestamp, node_head = excluded.node_head,
       final_block = excluded.final_block, final_hash = excluded.final_hash,
       refused_answers = excluded.refused_answers, checked_at = excluded.checked_at,
       node_seen_at = excluded.node_seen_at, node_fault = NULL,
       progressed_at = excluded.progressed_at, waits_for = excluded.waits_for, unproven = excluded.unproven,
       endpoints = excluded.endpoints`,
    [
      chain.id,
      chain.name,
      schema,
      String(head),
      refused,
      Math.max(0, Date.now() - progress.movedAt),
      progress.waitsFor,
      gateway.unproven(),
      endpointsOf(gateway),
    ],
  );
}

/**
 * Records that no node of the chain reported its head, so that an old lag is not shown as the present one. A chain that
 * was never indexed has no row yet.
 *
 * @param fault the reason, for operators: with hosts, without paths of URLs.
 * @param gateway absent if no endpoint has answered since the start.
 */
export async function recordNodeFault(
  client: pg.ClientBase,
  chainId: number,
  fault: string,
  gateway?: RpcGateway,
): Promise<void> {
  await client.query(
    `UPDATE service.chain_freshness SET checked_at = clock_timestamp(), node_fault = left($2, 500), waits_for = 'nodes',
       endpoints = coalesce($3, endpoints) WHERE chain_id = $1`,
    [chainId, fault, gateway ? endpointsOf(gateway) : null],
  );
}

function endpointsOf(gateway: RpcGateway): string {
  const endpoints = gateway.health().map(({ host, state, blocksOfLogs, fault }) => ({
    ...{ host, state, blocksOfLogs },
    lastFault: fault && { ...fault, at: new Date(fault.at).toISOString() },
  }));
  return JSON.stringify(endpoints);
}
