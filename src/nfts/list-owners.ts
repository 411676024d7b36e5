import { type RawBuilder, sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { findChain } from "../chains.ts";
import { toBytes, toHex } from "../db/bytes.ts";
import { sealCursor } from "../db/cursor.ts";
import type { Services } from "../services.ts";
import { unknownContract } from "./not-indexed.ts";
import { boundsOf, type Page, type PageBounds, type PageRequest, pageOf, refuseTooDeep } from "./page.ts";
import { type Outcome, pagesForEach, readForEach } from "./read-for-each.ts";

/** An owner and the number of token ids of the contract that it owns; amounts do not count. */
export interface CollectionOwner {
  owner: string;
  holdingCount: bigint;
}

export interface CollectionOwnerPage extends Page<CollectionOwner> {
  /** Null if it was not requested. */
  total: bigint | null;
}

/**
 * The current owners of contracts of a chain, by address; each owner once. One statement.
 *
 * @param input `withTotal`: counting the owners of a large collection costs more than a page of them.
 * @param contracts any letter case.
 * @returns ServiceError `not_found` for a contract that the index has never seen.
 */
export async function listOwnersOfEach(
  services: Services,
  _caller: Caller,
  input: { chain: string; page: PageRequest; withTotal: boolean },
  contracts: readonly string[],
): Promise<Outcome<CollectionOwnerPage>[]> {
  const chain = findChain(services.chains, input.chain);
  const listOf = (contract: string) => `owners:${chain.id}:${contract.toLowerCase()}`;
  const open = (contract: string) => {
    const bounds = boundsOf(input.page, services.config.keyPepper, listOf(contract), 20);
    refuseTooDeep(bounds, input.page, null);
    return bounds;
  };
  const read = async (wanted: readonly string[], bounds: PageBounds) =>
    await readForEach(
      services,
      wanted.map((contract) => ({ contract: toBytes(contract) })),
      (key) => ownersOf(chain.id, key.contract, bounds, input.withTotal),
      "report",
    );
  return await pagesForEach(contracts, open, read, (rows, contract, bounds) => {
    const [first] = rows;
    if (!first) throw unknownContract();
    const present = rows.flatMap(({ owner, holding_count }) => (owner ? [{ owner, count: holding_count ?? 0n }] : []));
    const page = pageOf(present, bounds, (row) => ({
      node: { owner: toHex(row.owner), holdingCount: row.count },
      cursor: sealCursor(services.config.keyPepper, listOf(contract), row.owner),
    }));
    return { ...page, total: first.total };
  });
}

function ownersOf(chainId: number, contract: RawBuilder<unknown>, bounds: PageBounds, withTotal: boolean) {
  const [operator, direction] = bounds.backward ? [sql.raw("<"), sql.raw("DESC")] : [sql.raw(">"), sql.raw("ASC")];
  const next = (step: RawBuilder<unknown>) =>
    sql`SELECT n.owner FROM nft.holding_rows n
      WHERE n.chain_id = ${chainId} AND n.contract = ${contract} AND n.owner IS NOT NULL AND n.amount > 0 AND ${step}
      ORDER BY n.owner ${direction} LIMIT 1`;
  const start = bounds.position ? sql`n.owner ${operator} ${bounds.position}` : sql`true`;
  const total = withTotal
    ? sql`(SELECT count(DISTINCT o.owner) FROM nft.holdings o WHERE o.chain_id = ${chainId} AND o.contract = ${contract})`
    : sql`NULL::bigint`;
  return sql<{ owner: Buffer | null; holding_count: bigint | null; total: bigint | null }>`
    WITH RECURSIVE page (owner, place) AS (
      (SELECT f.owner, 1 FROM (${next(start)}) f)
      UNION ALL
      SELECT f.owner, page.place + 1 FROM page CROSS JOIN LATERAL (${next(sql`n.owner ${operator} page.owner`)}) f
      WHERE page.place < ${sql.lit(bounds.limit + bounds.offset)})
    SELECT p.owner, ${total} AS total,
      (SELECT count(*) FROM nft.holding_rows h WHERE h.chain_id = ${chainId} AND h.contract = ${contract}
        AND h.amount > 0 AND h.owner = p.owner) AS holding_count
    FROM nft.contracts c LEFT JOIN page p ON p.place > ${sql.lit(bounds.offset)}
    WHERE c.chain_id = ${chainId} AND c.address = ${contract}
    ORDER BY p.place`;
}
