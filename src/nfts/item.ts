import type { Config } from "../config/config.ts";
import type { ThumbnailWidth } from "../thumbnails/bounds.ts";
import { type Facts, storedNames, type TokenField, tokenFields } from "./fields.ts";
import { type LiveName, liveNames, type Needs } from "./item-sql.ts";

/** A token as returned by its statement: the parts of `itemSql`. */
export type Item = readonly string[];

/** A contract record as returned by its statement. */
export interface RecordParts {
  /** Hex digits, without 0x. */
  address: string;
  standard: string;
  /** The parts of `storedNames(contractFields)`; empty if the metadata is unknown. */
  stored: readonly string[];
}

/** The indexes of an item's parts. */
export interface Layout {
  at: (name: TokenField | LiveName) => number;
  /** The indexes of the parts of its position. */
  position: readonly number[];
  /** Number of parts of an item. */
  parts: number;
}

/** Pixels: the width of a list's card on a screen with two pixels per point. */
const listedWidth: ThumbnailWidth = 512;

/** The first parts of every item. */
const keyNames = ["contractAddress", "tokenId"];
const storedTokenNames = storedNames(tokenFields);

/** Layouts by needs: an API keeps the needs of each shape as a single object. */
const layouts = new WeakMap<Needs, Map<number, Layout>>();

/** @param positionParts number of parts of the item's position. */
export function layoutOf(needs: Needs, positionParts: number): Layout {
  const known = layouts.get(needs) ?? new Map<number, Layout>();
  layouts.set(needs, known);
  const made = known.get(positionParts) ?? makeLayout(needs, positionParts);
  known.set(positionParts, made);
  return made;
}

function makeLayout(needs: Needs, positionParts: number): Layout {
  const front = [
    ...[...keyNames, ...(needs.stored ? storedTokenNames : []), "standard"],
    ...liveNames.filter((name) => needs.live.has(name)),
  ];
  const position = Array.from({ length: positionParts }, (_, at) => front.length + at);
  const names = [...front, ...position.map(() => ""), ...(needs.document ? ["metadata"] : [])];
  const at: Layout["at"] = (name) => names.indexOf(partOf(name));
  return { at, position, parts: names.length };
}

function partOf(name: TokenField | LiveName): string {
  return Object.hasOwn(tokenFields, name) ? (tokenFields[name as TokenField].partOf ?? name) : name;
}

/** A text's UTF-8 bytes as latin1, one character per byte. */
export function latin1Of(text: string): string {
  return Buffer.from(text).toString("latin1");
}

const knownFacts = new WeakMap<Config, Map<string, Facts>>();

/** @param chain a known chain, as spelled in the request. @param latin1 whether the texts will be written as bytes. */
export function factsOf(config: Config, chain: string, latin1: boolean): Facts {
  const known = knownFacts.get(config) ?? new Map<string, Facts>();
  knownFacts.set(config, known);
  const key = latin1 ? chain : `${chain} in characters`;
  const facts = known.get(key) ?? makeFacts(config, chain, latin1 ? latin1Of : (text) => text);
  known.set(key, facts);
  return facts;
}

function makeFacts(
  { publicUrl, thumbnailCacheBytes }: Config,
  chain: string,
  written: (text: string) => string,
): Facts {
  const base = (path: string) => written(JSON.stringify(`${publicUrl}/${path}/`).slice(1, -1));
  return {
    chain: written(JSON.stringify(chain)),
    cachedBase: base("ipfs"),
    thumbnailBase: base(`thumbnails/${listedWidth}`),
    linkedThumbnailBase:
      thumbnailCacheBytes === 0 ? "" : `${base(`thumbnails/${listedWidth}/nfts/${encodeURIComponent(chain)}`)}0x`,
  };
}
