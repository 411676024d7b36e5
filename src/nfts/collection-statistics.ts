import { type RawBuilder, sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { findChain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import type { Services } from "../services.ts";
import { unknownContract } from "./not-indexed.ts";
import { type Outcome, readForEach, single } from "./read-for-each.ts";

export interface CollectionStatistics {
  /** Units alive: minted minus burned. Of ERC-721 the tokens, of ERC-1155 the amounts. */
  totalSupply: bigint;
  totalMinted: bigint;
  /** Distinct holders now. */
  ownerCount: bigint;
  /** Token ids with a supply above zero, from the counter. */
  tokenCount: bigint;
  transferCount: bigint;
  /** Tokens of ERC-2309 ranges beyond the index's allowances: only those that moved otherwise are listed and counted. */
  withheldTokens: bigint;
  /** Microseconds of Unix time. */
  computedAtMicros: bigint;
}

/**
 * What can be said of a collection from the chain alone.
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

/** The same for several contracts of a chain, in one statement. */
export async function getStatisticsOfEach(
  services: Services,
  _caller: Caller,
  chainName: string,
  contracts: readonly string[],
): Promise<Outcome<CollectionStatistics>[]> {
  const { id } = findChain(services.chains, chainName);
  const keys = contracts.map((contract) => ({ contract: toBytes(contract) }));
  const found = await readForEach(services, keys, ({ contract }) => statisticsOf(id, contract), "report");
  return found.map(([row], index) => {
    if (!row) return unknownContract();
    services.demand.contract(id, contracts[index] ?? "");
    return {
      totalSupply: BigInt(row.supply),
      totalMinted: BigInt(row.minted),
      ownerCount: row.owners,
      tokenCount: row.tokens,
      transferCount: row.transfers,
      withheldTokens: row.withheld,
      computedAtMicros: row.micros,
    };
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
