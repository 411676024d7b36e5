import { sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { findChain } from "../chains.ts";
import { bytesToUint, toBytes, uintToBytes } from "../db/bytes.ts";
import { sealCursor } from "../db/cursor.ts";
import type { Standard } from "../db/tables/nft.ts";
import { fetchedAtMicros, listedContractColumns, listedMetadata, listedTokenColumns } from "../nfts/columns.ts";
import { cachedBase, contractRecordOf, isPresent, type Nft, type NftParts, toNft } from "../nfts/nft-record.ts";
import { boundsOf, type Page, type PageRequest, pageOf, refuseTooDeep } from "../nfts/page.ts";
import type { Services } from "../services.ts";

export interface ListAccountNftsInput {
  chain: string;
  /** Any letter case, like `contract`. */
  account: string;
  /** Kinds of tokens to leave out. */
  exclude: readonly Standard[];
  /** Only tokens of this contract. */
  contract?: string | undefined;
  page: PageRequest;
  parts: NftParts;
}

export interface AccountNftPage extends Page<Nft> {
  /** Holdings of all pages under the same filters. */
  total: bigint;
}

/** What an account holds, by contract and token id. An account that never held anything has an empty list. */
export async function listAccountNfts(
  services: Services,
  _caller: Caller,
  input: ListAccountNftsInput,
): Promise<AccountNftPage> {
  const chain = findChain(services.chains, input.chain);
  const owner = toBytes(input.account);
  const contract = input.contract === undefined ? null : toBytes(input.contract);
  const standards = (["ERC721", "ERC1155"] as const).filter((standard) => !input.exclude.includes(standard));
  const list = `account-nfts:${chain.id}:${input.account.toLowerCase()}`;
  const bounds = boundsOf(input.page, services.config.keyPepper, list, 52);
  const direction = bounds.backward ? "desc" : "asc";

  let held = services.index.db
    .selectFrom("nft.holding_rows as k")
    .where("k.chain_id", "=", chain.id)
    .where("k.owner", "=", owner)
    // In the words of the index that has only such rows.
    .where("k.amount", ">", sql.lit("0"));
  if (contract) held = held.where("k.contract", "=", contract);
  // A list without any kind stays a list: `in ()` is not SQL.
  if (standards.length < 2) held = held.where("k.standard", "=", standards[0] ?? null);

  let keys = held
    .select(["k.contract", "k.token_id", "k.amount"])
    .orderBy("k.contract", direction)
    .orderBy("k.token_id", direction)
    .limit(bounds.limit)
    .offset(bounds.offset);
  if (bounds.position) {
    const at = bounds.position.subarray(0, 20);
    const tokenId = String(bytesToUint(bounds.position.subarray(20)));
    const operator = sql.raw(bounds.backward ? "<" : ">");
    keys = keys.where(sql<boolean>`(k.contract, k.token_id) ${operator} (${at}, ${tokenId}::numeric)`);
  }
  // The counters know an account's holdings by kind; only one contract's share has to be counted.
  const totals = contract
    ? held.select(({ fn }) => fn.countAll<bigint>().as("total"))
    : services.index.db
        .selectFrom("nft.account_totals as a")
        .select(sql<bigint>`coalesce(sum(a.holding_count), 0)::bigint`.as("total"))
        .where("a.chain_id", "=", chain.id)
        .where("a.owner", "=", owner)
        .where("a.standard", "=", sql<Standard>`any(${standards})`);

  const rows = await services.index.db
    .selectFrom(totals.as("totals"))
    .leftJoin(keys.as("k"), (join) => join.onTrue())
    .leftJoin("nft.tokens as t", (join) =>
      join
        .on("t.chain_id", "=", chain.id)
        .onRef("t.contract", "=", "k.contract")
        .onRef("t.token_id", "=", "k.token_id"),
    )
    .leftJoin("service.token_metadata as m", (join) =>
      join
        .on("m.chain_id", "=", chain.id)
        .onRef("m.contract", "=", "k.contract")
        .onRef("m.token_id", "=", "k.token_id"),
    )
    .select([...listedTokenColumns, fetchedAtMicros, "k.amount", "totals.total"])
    .$if(input.parts.metadata, (query) => query.select(listedMetadata))
    .$if(input.parts.contract, (query) =>
      query
        .leftJoin("nft.contracts as c", (join) =>
          join.on("c.chain_id", "=", chain.id).onRef("c.address", "=", "k.contract"),
        )
        .leftJoin("service.contract_metadata as cm", (join) =>
          join.on("cm.chain_id", "=", chain.id).onRef("cm.address", "=", "k.contract"),
        )
        .select(listedContractColumns),
    )
    .orderBy("k.contract", direction)
    .orderBy("k.token_id", direction)
    .execute();

  const total = rows[0]?.total ?? 0n;
  refuseTooDeep(bounds, input.page, total);
  if (total > 0n) services.demand.account(chain.id, input.account);
  const page = pageOf(rows.filter(isPresent), bounds, (row) => ({
    node: toNft(input.chain, cachedBase(services.config), row, contractRecordOf(input.chain, row)),
    cursor: sealCursor(
      services.config.keyPepper,
      list,
      Buffer.concat([row.contract, uintToBytes(BigInt(row.token_id), 32)]),
    ),
  }));
  return { ...page, total };
}
