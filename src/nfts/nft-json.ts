/*
 * Tokens as JSON text made by PostgreSQL: the bytes then pass through this process untouched, which is
 * twice as fast as rows that are read and written again. An API says which members it wants under which
 * names; what a member looks like is decided here, once for both APIs.
 */

/** A member of an object: its name, and which value it has. */
export interface JsonMember<F extends string = NftField> {
  name: string;
  field: F | JsonGroup;
}

/** A nested object of a token. */
export type JsonGroup =
  | { group: "contract"; members: readonly JsonMember<ContractField>[] }
  | { group: "contractTexts"; members: readonly JsonMember<ContractField>[] }
  | { group: "fileInformation"; members: readonly JsonMember<FileField>[] };

export type NftShape = readonly JsonMember[];

/** Values known before the query runs. */
export interface JsonFacts {
  /** The chain's name as the request spelled it. */
  chain: string;
  /** See `cachedBase`. */
  cachedBase: string;
  /** Texts of a list are bounded, those of a detail are whole. */
  bounded: boolean;
}

const hex = (column: string) => `'"0x' || encode(${column}, 'hex') || '"'`;
const orNull = (expression: string) => `coalesce(${expression}, 'null')`;
const text = (column: string) => orNull(`to_json(${column})::text`);
const number = (column: string) => `'"' || ${column} || '"'`;
const time = (moment: string, format: string) =>
  orNull(`'"' || to_char(${moment} AT TIME ZONE 'UTC', '${format}') || '"'`);
const seconds = "to_timestamp(t.mint_timestamp)";
const iso = 'YYYY-MM-DD"T"HH24:MI:SS';
/** @param column with its alias. */
const capped = (column: string, bytes: number) => (facts: JsonFacts) =>
  text(facts.bounded ? `CASE WHEN octet_length(${column}) <= ${bytes} THEN ${column} END` : column);
const cached = (column: string) => (facts: JsonFacts) => text(`${literal(`${facts.cachedBase}/`)} || m.${column}`);

/** Where the text of a list goes into that of its object: no JSON text has this character in it. */
export const listMark = "\u0002";

/** The bounds are those of `columns.ts`. */
const nftFields = {
  id: ({ chain }: JsonFacts) =>
    `'"' || rtrim(translate(encode(convert_to(${literal(`Nft:${chain}:0x`)} || encode(t.contract, 'hex') || ':' || t.token_id, 'UTF8'), 'base64'), E'+/\\n', '-_'), '=') || '"'`,
  chain: ({ chain }: JsonFacts) => literal(JSON.stringify(chain)),
  contract: () => hex("t.contract"),
  tokenId: () => number("t.token_id"),
  standard: () => number("t.standard"),
  owner: () => orNull(hex("t.owner")),
  supply: () => number("t.supply"),
  amount: () => orNull(number("k.amount")),
  noAmount: () => "'null'",
  creator: () => orNull(hex("t.creator")),
  mintedAt: () => time(seconds, `${iso}".000Z"`),
  mintDate: () => time(seconds, iso),
  name: capped("m.name", 16_384),
  description: capped("m.description", 16_384),
  metadataUrl: capped("m.token_uri", 16_384),
  metadata: ({ bounded }: JsonFacts) =>
    orNull(bounded ? "CASE WHEN octet_length(m.metadata) <= 65536 THEN m.metadata END" : "m.metadata"),
  fileUrl: capped("m.image", 16_384),
  animationUrl: capped("m.animation_url", 16_384),
  cachedFileUrl: cached("cached_image"),
  cachedAnimationUrl: cached("cached_animation"),
  metadataUpdatedAt: () => time("m.fetched_at", `${iso}.MS"Z"`),
  updatedDate: () => time("m.fetched_at", `${iso}.US`),
  null: () => "'null'",
  nftTypename: () => `'"Nft"'`,
} satisfies Record<string, (facts: JsonFacts) => string>;

const contractFields = {
  id: ({ chain }: JsonFacts) =>
    `'"' || rtrim(translate(encode(convert_to(${literal(`Contract:${chain}:0x`)} || encode(k.contract, 'hex'), 'UTF8'), 'base64'), E'+/\\n', '-_'), '=') || '"'`,
  chain: ({ chain }: JsonFacts) => literal(JSON.stringify(chain)),
  address: () => hex("k.contract"),
  standard: () => number("coalesce(c.standard, t.standard)"),
  name: capped("cm.name", 16_384),
  symbol: capped("cm.symbol", 16_384),
  description: capped("cm.description", 16_384),
  thumbnailUrl: capped("cm.thumbnail_url", 16_384),
  cachedThumbnailUrl: () => text("cm.cached_thumbnail_url"),
  bannerUrl: capped("cm.banner_url", 16_384),
  cachedBannerUrl: () => text("cm.cached_banner_url"),
  contractTypename: () => `'"Contract"'`,
  listMark: () => `'${listMark}'`,
} satisfies Record<string, (facts: JsonFacts) => string>;

const fileFields = {
  width: () => "m.file_width::text",
  height: () => "m.file_height::text",
  sizeBytes: () => "m.file_size::text",
  fileTypename: () => `'"FileInformation"'`,
} satisfies Record<string, () => string>;

export type NftField = keyof typeof nftFields;
export type ContractField = keyof typeof contractFields;
export type FileField = keyof typeof fileFields;

/** Whether the statement must join the contract's record. */
export function wantsContract(shape: NftShape): boolean {
  return shape.some(({ field }) => typeof field === "object" && field.group !== "fileInformation");
}

/**
 * The SQL expression of one token's JSON text, over the aliases `k` (keys: `contract`, `amount`), `t`
 * (nft.tokens), `m` (service.token_metadata), `c` and `cm` (the contract's record).
 *
 * @param strictContract the contract is null when the index does not know it (GraphQL); else it is
 *   an object with nulls.
 */
export function tokenJson(shape: NftShape, facts: JsonFacts, strictContract: boolean): string {
  return `/*item*/${render(shape, nftFields, facts, strictContract)}/*end*/`;
}

/** The same of a contract alone, over `k`, `t` (its standard), `c` and `cm`. */
export function contractJson(members: readonly JsonMember<ContractField>[], facts: JsonFacts): string {
  return `/*item*/${render(members, contractFields, facts, false)}/*end*/`;
}

function render<F extends string>(
  members: readonly JsonMember<F>[],
  known: Record<F, (facts: JsonFacts) => string>,
  facts: JsonFacts,
  strict: boolean,
): string {
  const parts = members.map(({ name, field }, index) => {
    const value = typeof field === "string" ? known[field](facts) : group(field, facts, strict);
    return `${literal(`${index === 0 ? "{" : ","}${JSON.stringify(name)}:`)} || ${value}`;
  });
  return parts.length === 0 ? "'{}'" : `${parts.join(" || ")} || '}'`;
}

function group(nested: JsonGroup, facts: JsonFacts, strict: boolean): string {
  if (nested.group === "fileInformation") {
    const whole = render(nested.members, fileFields, facts, strict);
    return `CASE WHEN m.file_width IS NULL OR m.file_height IS NULL OR m.file_size IS NULL THEN 'null' ELSE ${whole} END`;
  }
  const whole = render(nested.members, contractFields, facts, strict);
  return strict && nested.group === "contract" ? `CASE WHEN c.address IS NULL THEN 'null' ELSE ${whole} END` : whole;
}

function literal(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}
