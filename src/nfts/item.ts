import type { Config } from "../config/config.ts";
import { type AnyField, contractFields, type Facts, storedNames, type TokenField, tokenFields } from "./fields.ts";
import { type LiveName, liveNames, type Needs } from "./item-sql.ts";
import { partMark } from "./rendered.ts";

/** A token as its statement gave it: the parts of `itemSql`. */
export type Item = readonly string[];

/** A contract's record as its statement gave it. */
export interface RecordParts {
  /** Hex digits, without 0x. */
  address: string;
  standard: string;
  /** Of `storedNames(contractFields)`; empty where nothing is known. */
  stored: readonly string[];
}

/** Where the parts of an item are. */
export interface Layout {
  at: (name: TokenField | LiveName) => number;
  /** Where the parts are that name its position. */
  position: readonly number[];
  /** How many parts an item has. */
  parts: number;
}

/** The first parts of every item. */
const keyNames = ["contractAddress", "tokenId"];
const storedTokenNames = storedNames(tokenFields);
const storedContractNames = storedNames(contractFields);

/** By what a read shows: an API keeps that as one object for each of its shapes. */
const layouts = new WeakMap<Needs, Map<number, Layout>>();

/** @param positionParts how many parts name the item's position. */
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
  return { at: (name) => names.indexOf(name), position, parts: names.length };
}

/** How a field of a contract is read off a record's parts. */
export function contractPart(name: string): (record: RecordParts) => string {
  if (name === "address") return ({ address }) => address;
  if (name === "standard") return ({ standard }) => standard;
  const at = storedContractNames.indexOf(name);
  return ({ stored }) => stored[at] ?? "";
}

/** A record from its columns; `rendered`: its text, with the address in front, null where no metadata is known. */
export function recordOf(address: string, standard: string, rendered: string | null): RecordParts {
  return { address, standard, stored: rendered === null ? [] : rendered.split(partMark).slice(1) };
}

/** Text with one character for each byte of its UTF-8. */
export function latin1Of(text: string): string {
  return Buffer.from(text).toString("latin1");
}

/** Base of the URLs of our own copies. */
function cachedBase(config: Config): string {
  return `${config.publicUrl}/ipfs`;
}

const knownFacts = new WeakMap<Config, Map<string, Facts>>();

/** @param chain a known one, as the request spelled it. @param latin1 for texts that stay bytes. */
export function factsOf(config: Config, chain: string, latin1: boolean): Facts {
  const known = knownFacts.get(config) ?? new Map<string, Facts>();
  knownFacts.set(config, known);
  const key = latin1 ? chain : `${chain} in characters`;
  const facts = known.get(key) ?? makeFacts(config, chain, latin1);
  known.set(key, facts);
  return facts;
}

function makeFacts(config: Config, chain: string, latin1: boolean): Facts {
  const facts = { chain: JSON.stringify(chain), cachedBase: JSON.stringify(`${cachedBase(config)}/`).slice(1, -1) };
  return latin1 ? { chain: latin1Of(facts.chain), cachedBase: latin1Of(facts.cachedBase) } : facts;
}

/** The field of a table by its name. */
export function fieldOf(table: Record<string, AnyField>, name: string): AnyField {
  const field = table[name];
  if (!field) throw new Error(`there is no field ${name}`);
  return field;
}
