import { sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { findChain } from "../chains.ts";
import { bytesToUint, toBytes, uintToBytes } from "../db/bytes.ts";
import { sealCursor } from "../db/cursor.ts";
import type { Standard } from "../db/tables/nft.ts";
import { fetchedAtMicros, listedContractColumns, listedMetadata, listedTokenColumns } from "../nfts/columns.ts";
import { cachedBase, contractRecordOf, isPresent, type Nft, type NftParts, toNft } from "../nfts/nft-record.ts";
import { boundsOf, type Page, type PageBounds, type PageRequest, pageOf, refuseTooDeep } from "../nfts/page.ts";
import { type KeyColumns, type Outcome, pagesForEach, readForEach, single } from "../nfts/read-for-each.ts";
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

/** Whose holdings; all keys of a call have a contract, or none has. */
export type AccountNftsKey = Pick<ListAccountNftsInput, "account" | "contract">;

/** What an account holds, by contract and token id. An account that never held anything has an empty list. */
export async function listAccountNfts(
  services: Services,
  caller: Caller,
  input: ListAccountNftsInput,
): Promise<AccountNftPage> {
  return single(await listNftsOfEachAccount(services, caller, input, [input]));
}

/** The same for several accounts, or contracts of accounts, on a chain, in one statement. */
export async function listNftsOfEachAccount(
  services: Services,
  _caller: Caller,
  input: Omit<ListAccountNftsInput, keyof AccountNftsKey>,
  keys: readonly AccountNftsKey[],
): Promise<Outcome<AccountNftPage>[]> {
  const chain = findChain(services.chains, input.chain);
  const listOf = ({ account }: AccountNftsKey) => `account-nfts:${chain.id}:${account.toLowerCase()}`;
  const open = (key: AccountNftsKey) => boundsOf(input.page, services.config.keyPepper, listOf(key), 52);
  const read = async (wanted: readonly AccountNftsKey[], bounds: PageBounds) =>
    await readForEach(services, wanted.map(valuesOf), (key) => heldBy(services, chain.id, key, input, bounds), "light");
  return await pagesForEach(keys, open, read, (rows, key, bounds) => {
    const total = rows[0]?.total ?? 0n;
    refuseTooDeep(bounds, input.page, total);
    if (total > 0n) services.demand.account(chain.id, key.account);
    const page = pageOf(rows.filter(isPresent), bounds, (row) => ({
      node: toNft(input.chain, cachedBase(services.config), row, contractRecordOf(input.chain, row)),
      cursor: sealCursor(
        services.config.keyPepper,
        listOf(key),
        Buffer.concat([row.contract, uintToBytes(BigInt(row.token_id), 32)]),
      ),
    }));
    return { ...page, total };
  });
}

function valuesOf({ account, contract }: AccountNftsKey) {
  return { account: toBytes(account), ...(contract === undefined ? {} : { contract: toBytes(contract) }) };
}

function heldBy(
  services: Services,
  chainId: number,
  key: KeyColumns<ReturnType<typeof valuesOf>>,
  { exclude, parts }: Pick<ListAccountNftsInput, "exclude" | "parts">,
  bounds: PageBounds,
) {
  const standards = (["ERC721", "ERC1155"] as const).filter((standard) => !exclude.includes(standard));
  const direction = bounds.backward ? "desc" : "asc";

  let held = services.index.db
    .selectFrom("nft.holding_rows as k")
    .where("k.chain_id", "=", chainId)
    .where("k.owner", "=", key.account)
    // In the words of the index that has only such rows.
    .where("k.amount", ">", sql.lit("0"));
  if (key.contract) held = held.where("k.contract", "=", key.contract);
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
  const totals = key.contract
    ? held.select(({ fn }) => fn.countAll<bigint>().as("total"))
    : services.index.db
        .selectFrom("nft.account_totals as a")
        .select(sql<bigint>`coalesce(sum(a.holding_count), 0)::bigint`.as("total"))
        .where("a.chain_id", "=", chainId)
        .where("a.owner", "=", key.account)
        .where("a.standard", "=", sql<Standard>`any(${standards})`);

  return services.index.db
    .selectFrom(totals.as("totals"))
    .leftJoin(keys.as("k"), (join) => join.onTrue())
    .leftJoin("nft.tokens as t", (join) =>
      join.on("t.chain_id", "=", chainId).onRef("t.contract", "=", "k.contract").onRef("t.token_id", "=", "k.token_id"),
    )
    .leftJoin("service.token_metadata as m", (join) =>
      join.on("m.chain_id", "=", chainId).onRef("m.contract", "=", "k.contract").onRef("m.token_id", "=", "k.token_id"),
    )
    .select([...listedTokenColumns, fetchedAtMicros, "k.amount", "totals.total"])
    .$if(parts.metadata, (query) => query.select(listedMetadata))
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
    .orderBy("k.contract", direction)
    .orderBy("k.token_id", direction);
}
