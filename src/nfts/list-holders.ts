import { type RawBuilder, sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { findChain } from "../chains.ts";
import { toBytes, toHex } from "../db/bytes.ts";
import { sealCursor } from "../db/cursor.ts";
import { packPosition, unpackPosition } from "../db/position.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import { unknownContract } from "./not-indexed.ts";
import { boundsOf, type Page, type PageBounds, type PageRequest, pageOf, refuseTooDeep } from "./page.ts";
import { type Outcome, pagesForEach, readForEach } from "./read-for-each.ts";

export interface Holder {
  tokenId: bigint;
  owner: string;
  amount: bigint;
}

const shape = [32, 20] as const;

/** A contract or a token. Either all keys of a call have a token id, or none has. */
export interface HolderKey {
  /** Any letter case. */
  contract: string;
  /** Absent: all tokens of the contract. */
  tokenId?: bigint | undefined;
}

/**
 * Owners and amounts of contracts or tokens of a chain, by token id and owner: now, or after a past block. Past
 * balances are replayed from the ledger, for each token of the page. One statement.
 *
 * @param input `atBlock`: balances after this block; absent: now.
 * @returns ServiceError `not_found` for a contract that the index has never seen; `value_error` for a block that the
 * index has not reached.
 */
export async function listHoldersOfEach(
  services: Services,
  _caller: Caller,
  input: { chain: string; atBlock?: bigint | undefined; page: PageRequest },
  keys: readonly HolderKey[],
): Promise<Outcome<Page<Holder>>[]> {
  const chain = findChain(services.chains, input.chain);
  const block = input.atBlock;
  const listOf = ({ contract, tokenId }: HolderKey) =>
    `holders:${chain.id}:${contract.toLowerCase()}:${tokenId ?? ""}:${block ?? "now"}`;
  const open = (key: HolderKey) => {
    const bounds = boundsOf(input.page, services.config.keyPepper, listOf(key), 52);
    refuseTooDeep(bounds, input.page, null);
    return bounds;
  };
  const read = async (wanted: readonly HolderKey[], bounds: PageBounds) =>
    await readForEach(
      services,
      wanted.map(({ contract, tokenId }) => ({
        contract: toBytes(contract),
        ...(tokenId === undefined ? {} : { token_id: String(tokenId) }),
      })),
      (columns) => holdersOf(chain.id, columns, block, bounds),
      "report",
    );
  return await pagesForEach(keys, open, read, (rows, key, bounds) => {
    const [first] = rows;
    if (!first) throw unknownContract();
    if (block !== undefined && (first.head === null || block > first.head)) {
      throw new ServiceError("value_error", `the index has reached block ${first.head ?? "none"}`, {
        field: "atBlock",
      });
    }
    services.demand.contract(chain.id, key.contract);
    const present = rows.flatMap((row) =>
      row.token_id !== null && row.owner ? [{ id: row.token_id, owner: row.owner, amount: row.amount ?? "0" }] : [],
    );
    return pageOf(present, bounds, (row) => ({
      node: { tokenId: BigInt(row.id), owner: toHex(row.owner), amount: BigInt(row.amount) },
      cursor: sealCursor(
        services.config.keyPepper,
        listOf(key),
        packPosition(shape, [row.id, `0x${row.owner.toString("hex")}`]),
      ),
    }));
  });
}

function holdersOf(
  chainId: number,
  key: { contract: RawBuilder<unknown>; token_id?: RawBuilder<unknown> },
  block: bigint | undefined,
  bounds: PageBounds,
) {
  const [operator, direction] = bounds.backward ? [sql.raw("<"), sql.raw("DESC")] : [sql.raw(">"), sql.raw("ASC")];
  const [tokenId = 0n, owner = 0n] = bounds.position ? unpackPosition(shape, bounds.position) : [];
  const ownerBytes = packPosition([20], [owner]);
  const inequality = sql.raw(bounds.backward ? "<=" : ">=");
  // The first condition bounds the index scan; the second removes what the previous page showed.
  const beyond = (owners: string) =>
    bounds.position
      ? sql`k.token_id ${inequality} ${String(tokenId)}::numeric
          AND (k.token_id, ${sql.raw(owners)}.owner) ${operator} (${String(tokenId)}::numeric, ${ownerBytes})`
      : sql`true`;
  const one = key.token_id === undefined ? sql`true` : sql`k.token_id = ${key.token_id}`;
  const zero = Buffer.alloc(20);
  const until = (last: bigint) => sql`FROM nft.transfers x WHERE x.chain_id = ${chainId}
    AND x.contract = ${key.contract} AND x.token_id = k.token_id AND x.block_number <= ${last}::bigint`;
  const held =
    block === undefined
      ? sql`SELECT k.token_id, k.owner, k.amount FROM nft.holding_rows k
          WHERE k.chain_id = ${chainId} AND k.contract = ${key.contract} AND k.owner IS NOT NULL AND k.amount > 0
            AND ${one} AND ${beyond("k")}`
      : sql`SELECT k.token_id, o.owner, o.amount FROM nft.tokens k CROSS JOIN LATERAL (
          SELECT l.to_address AS owner, 1::numeric AS amount FROM (
            SELECT x.to_address ${until(block)}
            ORDER BY x.block_number DESC, x.log_index DESC, x.batch_index DESC LIMIT 1) l
          WHERE k.standard = 'ERC721' AND l.to_address <> ${zero}
          UNION ALL
          SELECT moved.owner, sum(moved.delta) FROM (
            SELECT x.to_address AS owner, x.amount AS delta ${until(block)} AND x.standard = 'ERC1155' AND k.standard = 'ERC1155'
            UNION ALL
            SELECT x.from_address, -x.amount ${until(block)} AND x.standard = 'ERC1155' AND k.standard = 'ERC1155') moved
          WHERE moved.owner <> ${zero} GROUP BY moved.owner HAVING sum(moved.delta) > 0) o
          WHERE k.chain_id = ${chainId} AND k.contract = ${key.contract} AND ${one} AND ${beyond("o")}`;
  return sql<{
    token_id: string | null;
    owner: Buffer | null;
    amount: string | null;
    head: bigint | null;
  }>`
    SELECT h.block_number AS head, p.token_id, p.owner, p.amount
    FROM nft.contracts c
    LEFT JOIN nft.heads h ON h.chain_id = ${chainId}
    LEFT JOIN (${held} ORDER BY token_id ${direction}, owner ${direction}
      LIMIT ${sql.lit(bounds.limit)} OFFSET ${sql.lit(bounds.offset)}) p ON true
    WHERE c.chain_id = ${chainId} AND c.address = ${key.contract}
    ORDER BY p.token_id ${direction}, p.owner ${direction}`;
}
