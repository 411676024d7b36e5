import { type RawBuilder, sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { planOf } from "../auth/plans.ts";
import { findChain } from "../chains.ts";
import { bytesToUint, toBytes, toHex, uintToBytes } from "../db/bytes.ts";
import { sealCursor } from "../db/cursor.ts";
import type { Services } from "../services.ts";
import {
  fetchedAtMicros,
  holdersColumn,
  listedContractColumns,
  listedMetadata,
  listedTokenColumns,
} from "./columns.ts";
import { cachedBase, contractRecordOf, isPresent, type Nft, type NftParts, toNft } from "./nft-record.ts";
import { boundsOf, type Page, type PageBounds, type PageRequest, pageOf, refuseTooDeep } from "./page.ts";
import { type Outcome, pagesForEach, readForEach, single } from "./read-for-each.ts";

export interface ListChainNftsInput {
  chain: string;
  /** Only tokens whose minting transaction this account sent. Any letter case. */
  creator?: string | undefined;
  page: PageRequest;
  parts: NftParts;
}

/**
 * The live tokens of a chain, or of a creator there, newest mint first. Tokens minted before the first indexed block have
 * no place in this order and are not in it. There is no total: it would cost more than the page.
 */
export async function listChainNfts(services: Services, caller: Caller, input: ListChainNftsInput): Promise<Page<Nft>> {
  return single(await listNewestOfEach(services, caller, input, [input.creator]));
}

/** The same for several creators, in one statement. */
export async function listNewestOfEach(
  services: Services,
  caller: Caller,
  input: Omit<ListChainNftsInput, "creator">,
  creators: readonly (string | undefined)[],
): Promise<Outcome<Page<Nft>>[]> {
  const chain = findChain(services.chains, input.chain);
  const listOf = (creator: string | undefined) => `chain-nfts:${chain.id}:${creator?.toLowerCase() ?? ""}`;
  const open = (creator: string | undefined) => {
    const bounds = boundsOf(input.page, services.config.keyPepper, listOf(creator), 16);
    refuseTooDeep(bounds, input.page, null);
    return bounds;
  };
  const read = async (wanted: readonly (string | undefined)[], bounds: PageBounds) => {
    const keys: { creator?: Buffer }[] = wanted.map((one) => (one === undefined ? {} : { creator: toBytes(one) }));
    return await readForEach(
      services,
      keys as Record<string, Buffer>[],
      ({ creator }) => newestOf(services, caller, chain.id, creator, input.parts, bounds),
      "light",
    );
  };
  return await pagesForEach(creators, open, read, (rows, creator, bounds) => {
    for (const row of rows) services.demand.shown(chain.id, toHex(row.contract), row.token_id);
    return pageOf(rows.filter(isPresent), bounds, (row) => ({
      node: toNft(input.chain, cachedBase(services.config), row, contractRecordOf(input.chain, row)),
      cursor: sealCursor(services.config.keyPepper, listOf(creator), positionOf(row)),
    }));
  });
}

function newestOf(
  services: Services,
  caller: Caller,
  chainId: number,
  creator: RawBuilder<Buffer> | undefined,
  parts: NftParts,
  bounds: PageBounds,
) {
  const direction = bounds.backward ? "asc" : "desc";
  let keys = services.index.db
    .selectFrom("nft.tokens as k")
    .select(["k.contract", "k.token_id", "k.mint_block", "k.mint_log_index", "k.mint_batch_index"])
    .where("k.chain_id", "=", chainId)
    .where("k.mint_block", "is not", null)
    .where("k.supply", ">", sql.lit("0"))
    .orderBy("k.mint_block", direction)
    .orderBy("k.mint_log_index", direction)
    .orderBy("k.mint_batch_index", direction)
    .limit(bounds.limit)
    .offset(bounds.offset);
  const { windowDays } = planOf(caller);
  if (creator) {
    keys = keys.where("k.creator", "=", creator);
  } else if (windowDays !== null) {
    // The window as a block, so that one index gives both order and bound: filtering the walk by
    // time would read every older token to find that a short page ends.
    const since = BigInt(Math.floor(Date.now() / 1000) - windowDays * 86_400);
    keys = keys.where("k.mint_block", ">=", ({ selectFrom }) =>
      selectFrom("nft.tokens as w")
        .select("w.mint_block")
        .where("w.chain_id", "=", chainId)
        .where("w.mint_timestamp", ">=", since)
        .orderBy("w.mint_timestamp")
        .orderBy("w.mint_block")
        .limit(1),
    );
  }
  if (bounds.position) {
    const [block, logIndex, batchIndex] = readPosition(bounds.position);
    const operator = sql.raw(bounds.backward ? ">" : "<");
    keys = keys.where(
      sql<boolean>`(k.mint_block, k.mint_log_index, k.mint_batch_index) ${operator} (${block}, ${logIndex}, ${batchIndex})`,
    );
  }

  return services.index.db
    .selectFrom(keys.as("k"))
    .innerJoin("nft.tokens as t", (join) =>
      join.on("t.chain_id", "=", chainId).onRef("t.contract", "=", "k.contract").onRef("t.token_id", "=", "k.token_id"),
    )
    .leftJoin("service.token_metadata as m", (join) =>
      join.on("m.chain_id", "=", chainId).onRef("m.contract", "=", "k.contract").onRef("m.token_id", "=", "k.token_id"),
    )
    .select([...listedTokenColumns, fetchedAtMicros, "k.mint_block", "k.mint_log_index", "k.mint_batch_index"])
    .$if(parts.metadata, (query) => query.select(listedMetadata))
    .$if(parts.holders === true, (query) => query.select(holdersColumn))
    .$if(parts.contract, (query) =>
      query
        .leftJoin("nft.contracts as c", (join) =>
          join.on("c.chain_id", "=", chainId).onRef("c.address", "=", "k.contract"),
        )
        .leftJoin("service.contract_metadata as cm", (join) =>
          join.on("cm.chain_id", "=", chainId).onRef("cm.address", "=", "k.contract"),
        )
        .select(listedContractColumns),
    )
    .orderBy("k.mint_block", direction)
    .orderBy("k.mint_log_index", direction)
    .orderBy("k.mint_batch_index", direction);
}

interface MintPosition {
  mint_block: bigint | null;
  mint_log_index: number | null;
  mint_batch_index: number | null;
}

function positionOf(row: MintPosition): Buffer {
  return Buffer.concat([
    uintToBytes(row.mint_block ?? 0n, 8),
    uintToBytes(BigInt(row.mint_log_index ?? 0), 4),
    uintToBytes(BigInt(row.mint_batch_index ?? 0), 4),
  ]);
}

function readPosition(bytes: Buffer): [block: bigint, logIndex: bigint, batchIndex: bigint] {
  return [bytesToUint(bytes.subarray(0, 8)), bytesToUint(bytes.subarray(8, 12)), bytesToUint(bytes.subarray(12))];
}
