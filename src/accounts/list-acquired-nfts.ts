import { type RawBuilder, sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { findChain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import { sealCursor } from "../db/cursor.ts";
import { packPosition, positionLength, unpackPosition } from "../db/position.ts";
import type { Standard } from "../db/tables/nft.ts";
import { contractJoins, type Nft, type NftParts, type NftRow, nftColumns, nftReader } from "../nfts/nft-record.ts";
import { boundsOf, type Page, type PageBounds, type PageRequest, pageOf, refuseTooDeep } from "../nfts/page.ts";
import { type Outcome, pagesForEach, readForEach } from "../nfts/read-for-each.ts";
import type { Services } from "../services.ts";

export interface ListAcquiredNftsInput {
  /** Chain names; empty: all chains of this installation. */
  chains: readonly string[];
  /** Any letter case, like `contracts`. */
  account: string;
  /** Only tokens of these contracts; empty: all contracts. */
  contracts: readonly string[];
  exclude: readonly Standard[];
  page: PageRequest;
  parts: NftParts;
}

/** Timestamp, chain id, block, log index, index inside the log. */
const shape = [8, 8, 8, 4, 4] as const;

interface AcquiredRow extends NftRow {
  chain_id: number;
  block_timestamp: bigint;
  block_number: bigint;
  log_index: number;
  batch_index: number;
}

/** The total is not counted. */
export type AcquiredPage = Page<Nft> & { total: null };

/**
 * Tokens that accounts own on several chains, last acquired first, in one statement: each incoming transfer of an
 * account, if it is the last one that brought the token and the account still owns it.
 */
export async function listAcquiredOfEach(
  services: Services,
  caller: Caller,
  input: Omit<ListAcquiredNftsInput, "account">,
  accounts: readonly string[],
): Promise<Outcome<AcquiredPage>[]> {
  const names = input.chains.length > 0 ? input.chains : services.chains.map(({ name }) => name);
  const nameOf = new Map(names.map((name) => [findChain(services.chains, name).id, name]));
  const listOf = (account: string) => `acquired:${account.toLowerCase()}`;
  const open = (account: string) => {
    const bounds = boundsOf(input.page, services.config.keyPepper, listOf(account), positionLength(shape));
    refuseTooDeep(bounds, input.page, null);
    return bounds;
  };
  const toNft = nftReader(services.config, input.parts);
  const read = async (wanted: readonly string[], bounds: PageBounds) =>
    await readForEach(
      services,
      wanted.map((account) => ({ account: toBytes(account) })),
      ({ account }) => acquiredBy([...nameOf.keys()], account, input, bounds),
      "read",
    );
  return await pagesForEach(accounts, open, read, (rows, account, bounds) => {
    const page = pageOf(rows, bounds, (row) => {
      const node = toNft(nameOf.get(row.chain_id) ?? "", row);
      if (!node) throw new Error("a token that is held is in no list of tokens");
      services.demand.shown(caller, row.chain_id, node.contractAddress, String(node.tokenId));
      return {
        node,
        cursor: sealCursor(
          services.config.keyPepper,
          listOf(account),
          packPosition(shape, [row.block_timestamp, row.chain_id, row.block_number, row.log_index, row.batch_index]),
        ),
      };
    });
    return { ...page, total: null };
  });
}

function acquiredBy(
  chainIds: readonly number[],
  owner: RawBuilder<unknown>,
  input: Pick<ListAcquiredNftsInput, "contracts" | "exclude" | "parts">,
  bounds: PageBounds,
) {
  const direction = sql.raw(bounds.backward ? "ASC" : "DESC");
  const position = sql`block_number ${direction}, log_index ${direction}, batch_index ${direction}`;
  const standards = (["ERC721", "ERC1155"] as const).filter((standard) => !input.exclude.includes(standard));
  const ofContracts =
    input.contracts.length === 0 ? sql`true` : sql`x.contract = ANY (${input.contracts.map(toBytes)}::bytea[])`;
  const arms = chainIds.map(
    (chainId) => sql`(SELECT x.chain_id, x.block_timestamp, x.block_number, x.log_index, x.batch_index, x.contract,
        x.token_id, CASE WHEN t.standard = 'ERC721' THEN 1 ELSE h.amount END AS amount
      FROM nft.transfers x
      -- LIMIT keeps it a look-up per movement: few seem to pass the conditions below, and all tokens would be read instead.
      CROSS JOIN LATERAL (SELECT * FROM nft.tokens y WHERE y.chain_id = ${chainId} AND y.contract = x.contract
        AND y.token_id = x.token_id LIMIT 1) t
      LEFT JOIN nft.holding_rows h ON h.chain_id = ${chainId} AND h.contract = x.contract AND h.token_id = x.token_id
        AND h.owner = ${owner} AND h.amount > 0 AND h.standard = 'ERC1155' AND t.standard = 'ERC1155'
      WHERE x.chain_id = ${chainId} AND x.to_address = ${owner} AND ${ofContracts} AND t.standard = ANY (${standards}::text[])
        AND ${beyond(chainId, bounds.position, bounds.backward)}
        AND CASE WHEN t.standard = 'ERC721'
          THEN t.owner = ${owner}
            AND (t.last_block, t.last_log_index, t.last_batch_index) = (x.block_number, x.log_index, x.batch_index)
          ELSE x.standard = 'ERC1155' AND h.amount IS NOT NULL AND NOT EXISTS (SELECT FROM nft.transfers y
            WHERE y.chain_id = ${chainId} AND y.to_address = ${owner} AND y.contract = x.contract
              AND y.token_id = x.token_id AND y.standard = 'ERC1155'
              AND (y.block_number, y.log_index, y.batch_index) > (x.block_number, x.log_index, x.batch_index)) END
      ORDER BY ${position} LIMIT ${sql.lit(bounds.limit + bounds.offset)})`,
  );
  const order = sql`k.block_timestamp ${direction}, k.chain_id ${direction}, ${position}`;
  return sql<AcquiredRow>`
    SELECT k.chain_id, k.block_timestamp, k.block_number, k.log_index, k.batch_index,
      ${nftColumns(input.parts, "k.amount::text")}
    FROM (SELECT * FROM (${sql.join(arms, sql` UNION ALL `)}) k
      ORDER BY ${order} LIMIT ${sql.lit(bounds.limit)} OFFSET ${sql.lit(bounds.offset)}) k
    JOIN nft.tokens t ON t.chain_id = k.chain_id AND t.contract = k.contract AND t.token_id = k.token_id
    LEFT JOIN service.token_metadata m
      ON m.chain_id = k.chain_id AND m.contract = k.contract AND m.token_id = k.token_id
    ${input.parts.contract ? sql.raw(contractJoins("k")) : sql``}
    ORDER BY ${order}`;
}

/** The rows beyond a position of the merged list: by log position on its own chain, by time on other chains. */
function beyond(chainId: number, position: Buffer | null, backward: boolean): RawBuilder<unknown> {
  if (!position) return sql`true`;
  const [timestamp = 0n, chain = 0n, block, log, batch] = unpackPosition(shape, position);
  if (BigInt(chainId) === chain) {
    return sql`(x.block_number, x.log_index, x.batch_index) ${sql.raw(backward ? ">" : "<")}
      (${block}::bigint, ${log}::integer, ${batch}::integer)`;
  }
  // Ties in time are ordered by chain id.
  const same = backward ? BigInt(chainId) > chain : BigInt(chainId) < chain;
  const operator = sql.raw(`${backward ? ">" : "<"}${same ? "=" : ""}`);
  const inwards = sql.raw(backward ? "ASC" : "DESC");
  return sql`x.block_number ${sql.raw(backward ? ">=" : "<=")} (SELECT b.block_number FROM nft.transfers b
    WHERE b.chain_id = ${chainId} AND b.block_timestamp ${operator} ${timestamp}::bigint
    ORDER BY b.block_timestamp ${inwards}, b.block_number ${inwards} LIMIT 1)`;
}
