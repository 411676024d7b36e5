import { listedDocumentBytes } from "./fields.ts";
import {
  contractRendering,
  joined,
  renderedText,
  type Stale,
  sqlItemMark,
  sqlPartMark,
  tokenRendering,
} from "./rendered.ts";

/** Values outside the rendered text, in the order of an item's parts. */
export const liveNames = [
  ...(["owner", "supply", "amount", "creator", "mintedAt"] as const),
  ...(["metadataStatus", "metadataError", "metadataWarnings", "holders"] as const),
];
export type LiveName = (typeof liveNames)[number];

/** What a read shows of its tokens; a statement returns nothing else. */
export interface Needs {
  live: ReadonlySet<LiveName>;
  document: boolean;
  stored: boolean;
}

/** SQL expressions over a statement's aliases. None is null: an absent value is the empty text. */
export type Sources = Record<"contractAddress" | "tokenId" | "standard" | LiveName, string>;

/** The SQL expressions of a statement's items. */
export interface ItemSources {
  /** The item's key. */
  key: readonly [contractAddress: string, tokenId: string];
  /** The standard and the live values, joined by part marks. */
  live: (names: readonly LiveName[]) => string;
  /** The parts of the item's position. */
  position?: readonly string[];
}

/** `ItemSources` for the values of a single row. */
export function sourcesOf(sources: Sources): ItemSources {
  return {
    key: [sources.contractAddress, sources.tokenId],
    live: (names) => joined([sources.standard, ...names.map((name) => sources[name])]),
  };
}

/** Holders shown with a token in a list; a token with more of them has a list of its own. */
const listedHolders = 100;

const hexText = (column: string) => `coalesce(encode(${column}, 'hex'), '')`;
const orEmpty = (expression: string) => `coalesce((${expression})::text, '')`;

/** A row's values from columns of `nft.tokens`, and metadata values from alias `m`. */
export function tokenSources(row: string): Sources {
  return {
    contractAddress: hexText(`${row}.contract`),
    tokenId: `${row}.token_id::text`,
    standard: `${row}.standard`,
    owner: hexText(`${row}.owner`),
    supply: orEmpty(`${row}.supply`),
    amount: "''",
    creator: hexText(`${row}.creator`),
    mintedAt: orEmpty(`${row}.mint_timestamp`),
    metadataStatus: orEmpty("m.status"),
    metadataError: orEmpty("m.error_code"),
    metadataWarnings: orEmpty(
      "to_json(m.warnings || m.trait_warnings || CASE WHEN m.file_error IS NOT NULL THEN ARRAY['image:' || m.file_error] END)",
    ),
    holders: `CASE WHEN ${row}.owner IS NOT NULL THEN encode(${row}.owner, 'hex') ELSE ${orEmpty(`SELECT string_agg(encode(h.owner, 'hex'), ',' ORDER BY h.owner) FROM (
      SELECT h.owner FROM nft.holdings h WHERE h.chain_id = ${row}.chain_id AND h.contract = ${row}.contract
        AND h.token_id = ${row}.token_id ORDER BY h.owner LIMIT ${listedHolders}) h`)} END`,
  };
}

/**
 * The parts of an item, as one SQL text over the sources' aliases and `m` (service.token_metadata). `layoutOf` has
 * their order: the rendered text comes first, so that it is copied only once.
 *
 * @param whole include texts that lists leave out.
 */
export function itemSql(needs: Needs, sources: ItemSources, whole: boolean, stale: Stale): string {
  const { key, live, position = [] } = sources;
  const document = whole
    ? "m.metadata"
    : `CASE WHEN octet_length(m.metadata) <= ${listedDocumentBytes} THEN m.metadata END`;
  const kept = needs.stored ? renderedText(tokenRendering, "m", { whole, stale, key }) : joined(key);
  const others = joined([
    live(liveNames.filter((name) => needs.live.has(name))),
    ...position,
    ...(needs.document ? [orEmpty(document)] : []),
  ]);
  return `/*item*/${kept} || (${sqlPartMark} || ${others})/*end*/`;
}

/** The rendered text of a contract's record, over alias `cm` (service.contract_metadata). */
export function recordSql(whole: boolean, stale: Stale): string {
  return renderedText(contractRendering, "cm", { whole, stale });
}

/** The contracts of `keys`, for `contractsSql`. */
export const amongSql = "among AS MATERIALIZED (SELECT array_agg(DISTINCT contract)::bytea[] AS list FROM keys)";

/**
 * The contracts of `among`: the addresses of the ERC-1155 ones, and the contract metadata by address. Every token's
 * contract is in the index and few are ERC-1155, so an index on those alone (`contract_multi`) also tells the others.
 */
export function contractsSql(chainId: number, stale: Stale): string {
  const among = "ANY ((SELECT list FROM among)::bytea[])";
  return `(SELECT string_agg(encode(c.address, 'hex'), ${sqlItemMark}) FROM nft.contracts c
      WHERE c.chain_id = ${chainId} AND c.standard = 'ERC1155' AND c.address = ${among}) AS multi,
    (SELECT string_agg(${recordSql(false, stale)}, ${sqlItemMark})
      FROM service.contract_metadata cm WHERE cm.chain_id = ${chainId} AND cm.address = ${among}) AS records`;
}
