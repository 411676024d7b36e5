import { type RawBuilder, sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { findChain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import type { Services } from "../services.ts";
import { unknownContract } from "./not-indexed.ts";
import { type Outcome, readForEach } from "./read-for-each.ts";

/** How far the metadata of a collection's live tokens has been read. */
export interface MetadataProgress {
  total: number;
  fresh: number;
  /** To be read, for the first time or again. Counted up to 100,000. */
  pending: number;
  /** Counted up to 100,000. */
  failed: number;
  /** Why tokens failed, the most frequent reason first. */
  faults: readonly { code: string; count: number }[];
}

const countedTo = 100_000;

/**
 * Tells how many tokens of contracts of a chain have their metadata, wait for it, and could not be read. One statement.
 *
 * @returns for a contract that the index has never seen ServiceError `not_found`.
 */
export async function getProgressOfEach(
  services: Services,
  _caller: Caller,
  chainName: string,
  contracts: readonly string[],
): Promise<Outcome<MetadataProgress>[]> {
  const { id } = findChain(services.chains, chainName);
  const keys = contracts.map((contract) => ({ contract: toBytes(contract) }));
  const found = await readForEach(services, keys, ({ contract }) => progressOf(id, contract), "report", {
    current: true,
  });
  return found.map(([row], index) => {
    if (!row) return unknownContract();
    services.demand.contract(id, contracts[index] ?? "");
    const total = Number(row.total);
    const pending = Math.min(Math.max(Number(row.pending), Number(row.unread)), total);
    const failed = Math.min(
      row.faults.reduce((sum, { count }) => sum + count, 0),
      total - pending,
    );
    return { total, fresh: total - pending - failed, pending, failed, faults: row.faults };
  });
}

function progressOf(chainId: number, contract: RawBuilder<unknown>) {
  return sql<{ total: bigint; pending: bigint; unread: bigint; faults: MetadataProgress["faults"] }>`
    SELECT c.token_count AS total,
      -- Of a collection that nobody looked at, only some tokens are queued: the others wait for this very look.
      CASE WHEN EXISTS (SELECT FROM nft.collections o WHERE o.chain_id = ${chainId} AND o.address = ${contract})
        OR EXISTS (SELECT FROM service.contract_metadata l
          WHERE l.chain_id = ${chainId} AND l.address = ${contract} AND l.queued_at IS NOT NULL) THEN 0
      ELSE c.token_count - (SELECT count(*) FROM (
        SELECT FROM service.token_metadata m
        WHERE m.chain_id = ${chainId} AND m.contract = ${contract} AND m.status <> 'pending' LIMIT ${countedTo}) z)
      END AS unread,
      (SELECT count(*) FROM (
        SELECT FROM service.token_metadata m
        WHERE m.chain_id = ${chainId} AND m.contract = ${contract} AND m.status = 'pending' LIMIT ${countedTo}) x
      ) + (SELECT count(*) FROM (
        -- Minted since the worker last looked: these have no row yet.
        SELECT FROM nft.tokens t
        WHERE t.chain_id = ${chainId} AND t.contract = ${contract} AND t.supply > 0 AND t.mint_block > coalesce(
          (SELECT k.mint_block FROM service.metadata_cursor k WHERE k.chain_id = ${chainId}), -1) LIMIT ${countedTo}) y
      ) AS pending,
      (SELECT coalesce(json_agg(json_build_object('code', g.code, 'count', g.count) ORDER BY g.count DESC), '[]') FROM (
        SELECT x.error_code AS code, count(*) FROM (
          SELECT m.error_code FROM service.token_metadata m
          WHERE m.chain_id = ${chainId} AND m.contract = ${contract} AND m.status = 'failed' LIMIT ${countedTo}) x
        GROUP BY x.error_code) g
      ) AS faults
    FROM nft.contracts c
    WHERE c.chain_id = ${chainId} AND c.address = ${contract}`;
}
