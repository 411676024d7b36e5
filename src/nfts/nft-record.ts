import { type RawBuilder, sql } from "kysely";
import type { Config } from "../config/config.ts";
import { type AnyField, contractFields, type Facts, storedNames, tokenFields, type ValuesOf } from "./fields.ts";
import { factsOf, type Item, type Layout, layoutOf, type RecordParts } from "./item.ts";
import { itemSql, liveNames, recordSql, sourcesOf, tokenSources } from "./item-sql.ts";
import { partMark } from "./rendered.ts";
import type { PageNeeds } from "./select-page.ts";

/** A token as every read shows it. Addresses are lower case. */
export interface Nft extends ValuesOf<typeof tokenFields> {
  /** Null if the read did not request it. */
  contractRecord: ContractRecord | null;
  /** Up to 100 owners, by address; null if the read did not request them. */
  holders: string[] | null;
}

export interface ContractRecord extends ValuesOf<typeof contractFields> {}

/** The expensive parts of a read; an API requests those that it shows. */
export interface NftParts {
  metadata: boolean;
  contract: boolean;
  holders?: boolean;
}

/** What a statement has to return for a record. */
export function needsOfParts({ metadata, contract, holders }: NftParts): PageNeeds {
  const live = liveNames.filter((name) => name !== "holders" || holders === true);
  return { live: new Set(live), document: metadata, stored: true, contract };
}

/** @param item as text, like `facts`. */
export function toNft(facts: Facts, layout: Layout, item: Item, contractRecord: ContractRecord | null): Nft {
  const holders = layout.at("holders");
  const listed = item[holders] ?? "";
  return {
    ...(valuesOf(tokenFields, facts, (name) => item[layout.at(name as keyof typeof tokenFields)] ?? "") as ValuesOf<
      typeof tokenFields
    >),
    contractRecord,
    holders: holders < 0 ? null : listed === "" ? [] : listed.split(",").map((holder) => `0x${holder}`),
  };
}

const storedContractNames = storedNames(contractFields);

export function toContractRecord(facts: Facts, { address, standard, stored }: RecordParts): ContractRecord {
  const parts: Record<string, string | undefined> = { address, standard };
  for (const [at, name] of storedContractNames.entries()) parts[name] = stored[at];
  return valuesOf(contractFields, facts, (name) => parts[name] ?? "") as ContractRecord;
}

/** The record of a contract that is not in the index yet, although a token of it is. */
export function unknownContract({ chain, contractAddress, standard }: Nft): ContractRecord {
  const facts = { chain: JSON.stringify(chain), cachedBase: "", thumbnailBase: "", linkedThumbnailBase: "" };
  return toContractRecord(facts, { address: contractAddress.slice(2), standard, stored: [] });
}

function valuesOf(table: Record<string, AnyField>, facts: Facts, part: (name: string) => string) {
  const values = Object.entries(table).map(([name, { value, json }]) => {
    const own = part(name);
    return [name, value ? value(own, facts) : JSON.parse(json(own, facts, part))];
  });
  return Object.fromEntries(values);
}

/** A row with the columns of `nftColumns`. */
export interface NftRow {
  item: string | null;
  contract_standard?: string | null;
  contract_record?: string | null;
}

/**
 * The columns of a row for a record, over the aliases `t` (nft.tokens), `m` (service.token_metadata) and, if contracts
 * are requested, those of `contractColumns`.
 *
 * @param amount SQL of the amount that an account owns, if the read is of one account.
 */
export function nftColumns(parts: NftParts, amount = "''", whole = false): RawBuilder<unknown> {
  const item = sql.raw(itemSql(needsOfParts(parts), sourcesOf({ ...tokenSources("t"), amount }), whole, "render"));
  return sql`CASE WHEN t.token_id IS NOT NULL THEN ${item} END AS item${parts.contract ? sql`, ${contractColumns("listed")}` : sql``}`;
}

/** The columns of a contract's record, over `c` (nft.contracts) and `cm` (service.contract_metadata). */
export function contractColumns(texts: "listed" | "whole"): RawBuilder<unknown> {
  return sql`c.standard AS contract_standard,
    CASE WHEN cm.address IS NOT NULL THEN ${sql.raw(recordSql(texts === "whole", "render"))} END AS contract_record`;
}

/** Joins `c` and `cm` for a key's contract. */
export function contractJoins(key: string): string {
  return `LEFT JOIN nft.contracts c ON c.chain_id = ${key}.chain_id AND c.address = ${key}.contract
    LEFT JOIN service.contract_metadata cm ON cm.chain_id = ${key}.chain_id AND cm.address = ${key}.contract`;
}

/** @returns a function that reads rows of `nftColumns`; it gives null for a row without a token. */
export function nftReader(config: Config, parts: NftParts): (chain: string, row: NftRow) => Nft | null {
  const layout = layoutOf(needsOfParts(parts), 0);
  return (chain, row) => {
    if (row.item === null) return null;
    const facts = factsOf(config, chain, false);
    const item = row.item.split(partMark);
    return toNft(facts, layout, item, recordOfRow(facts, `0x${item[0]}`, row));
  };
}

/** A contract's record from a row of `contractColumns`; null if the index does not know the contract. */
export function recordOfRow(facts: Facts, address: string, row: Omit<NftRow, "item">): ContractRecord | null {
  const { contract_standard: standard, contract_record: record } = row;
  if (standard == null) return null;
  const stored = record?.split(partMark).slice(1) ?? [];
  return toContractRecord(facts, { address: address.slice(2).toLowerCase(), standard, stored });
}
