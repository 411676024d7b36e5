import { type RawBuilder, type Simplify, sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { findChain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import type { Services } from "../services.ts";
import { unknownContract } from "./not-indexed.ts";
import { type Outcome, readForEach, single } from "./read-for-each.ts";

export interface CollectionStatistics {
  /** Live units: minted minus burned. ERC-721: tokens; ERC-1155: amounts. */
  totalSupply: bigint;
  totalMinted: bigint;
  /** Distinct current owners. */
  ownerCount: bigint;
  /** Token ids with a supply above zero, from the contract's counter. */
  tokenCount: bigint;
  transferCount: bigint;
  /** Tokens of ERC-2309 ranges beyond the index's allowance: they are listed and counted only once they moved. */
  withheldTokens: bigint;
  /** Unix time in microseconds. */
  computedAtMicros: bigint;
}

/**
 * A collection's statistics from the chain alone.
 *
 * @throws ServiceError `not_found` for a contract the index has never seen.
 */
export async function getCollectionStatistics(
  services: Services,
  caller: Caller,
  input: { chain: string; contract: string },
): Promise<CollectionStatistics> {
  return single(await getStatisticsOfEach(services, caller, input.chain, [input.contract]));
}

/** The statistics of several contracts of a chain, in one statement. */
export async function getStatisticsOfEach(
  services: Services,
  _caller: Caller,
  chainName: string,
  contracts: readonly string[],
): Promise<Outcome<CollectionStatistics>[]> {
  return await reportOfEach(services, chainName, contracts, statisticsOf, (row) => ({
    totalSupply: BigInt(row.supply),
    totalMinted: BigInt(row.minted),
    ownerCount: row.owners,
    tokenCount: row.tokens,
    transferCount: row.transfers,
    withheldTokens: row.withheld,
    computedAtMicros: row.micros,
  }));
}

/** How far the metadata of a collection's live tokens has been read. */
export interface MetadataProgress {
  total: number;
  fresh: number;
  /** Waiting to be read, for the first time or again. Counted up to 100,000. */
  pending: number;
  /** Counted up to 100,000. */
  failed: number;
  /** Error codes of the failed tokens, the most frequent first. */
  faults: readonly { code: string; count: number }[];
}

/**
 * For contracts of a chain, how many tokens have their metadata, wait for it, or failed. One statement.
 *
 * @returns ServiceError `not_found` for a contract that the index has never seen.
 */
export async function getProgressOfEach(
  services: Services,
  _caller: Caller,
  chainName: string,
  contracts: readonly string[],
): Promise<Outcome<MetadataProgress>[]> {
  const toProgress = (row: ProgressRow): MetadataProgress => {
    const total = Number(row.total);
    const pending = Math.min(Math.max(Number(row.pending), Number(row.unread)), total);
    const counted = row.faults.reduce((sum, { count }) => sum + count, 0);
    const failed = Math.min(counted, total - pending);
    return { total, fresh: total - pending - failed, pending, failed, faults: row.faults };
  };
  return await reportOfEach(services, chainName, contracts, progressOf, toProgress, { current: true });
}

/** One report per contract. Each counts as demand for the collection. */
async function reportOfEach<R, T>(
  services: Services,
  chainName: string,
  contracts: readonly string[],
  build: (chainId: number, contract: RawBuilder<unknown>) => RawBuilder<R>,
  toReport: (row: Simplify<R>) => T,
  options: { current?: boolean } = {},
): Promise<Outcome<T>[]> {
  const { id } = findChain(services.chains, chainName);
  const keys = contracts.map((contract) => ({ contract: toBytes(contract) }));
  const found = await readForEach(services, keys, ({ contract }) => build(id, contract), "report", options);
  return found.map(([row], index) => {
    if (!row) return unknownContract();
    services.demand.contract(id, contracts[index] ?? "");
    return toReport(row);
  });
}

function statisticsOf(chainId: number, contract: RawBuilder<unknown>) {
  const zero = Buffer.alloc(20);
  return sql<{
    supply: string;
    minted: string;
    owners: bigint;
    tokens: bigint;
    transfers: bigint;
    withheld: bigint;
    micros: bigint;
  }>`
    SELECT coalesce(c.token_count, 0) AS tokens, coalesce(c.transfer_count, 0) AS transfers, coalesce(f.count, 0) AS withheld,
      CASE WHEN c.standard IS DISTINCT FROM 'ERC1155' THEN coalesce(c.token_count, 0)::numeric ELSE
        (SELECT coalesce(sum(t.supply), 0) FROM nft.tokens t
         WHERE t.chain_id = ${chainId} AND t.contract = ${contract} AND t.supply > 0) END AS supply,
      (SELECT coalesce(sum(x.amount), 0) FROM nft.transfers x
       WHERE x.chain_id = ${chainId} AND x.contract = ${contract} AND x.from_address = ${zero}) AS minted,
      (SELECT count(DISTINCT o.owner) FROM nft.holdings o
       WHERE o.chain_id = ${chainId} AND o.contract = ${contract}) AS owners,
      (extract(epoch from clock_timestamp()) * 1000000)::bigint AS micros
    FROM (SELECT token_count, transfer_count, standard FROM nft.contracts
      WHERE chain_id = ${chainId} AND address = ${contract}) c
    -- A contract all of whose tokens are withheld has no other row.
    FULL JOIN (SELECT count FROM nft.contract_flags
      WHERE chain_id = ${chainId} AND contract = ${contract} AND flag = 'withheld') f ON true`;
}

const countedTo = 100_000;

interface ProgressRow {
  total: bigint;
  pending: bigint;
  unread: bigint;
  faults: MetadataProgress["faults"];
}

function progressOf(chainId: number, contract: RawBuilder<unknown>) {
  return sql<ProgressRow>`
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
