import { withId } from "./expected-bytes.ts";
import { digitsOf, isDecimal, type Json, type JsonObject, strictJson, Written } from "./lenient-json.ts";

/*
 * The traits of a document, as docs/metadata.md says: `attributes`, or `traits` where that has nothing.
 */

export interface Trait {
  name: string;
  value: string;
  /** The number that the value is, with all of its digits; of a text, where it is in digits alone. */
  number: string | null;
}

interface Given {
  name: Json | undefined;
  /** Undefined: there is none. */
  value: Json | undefined;
}

/** `lost`: what is no trait. */
type Item = Given | "lost";

const levels = 4;
const isNest = (value: Json | undefined): value is Json[] | JsonObject => value instanceof Map || Array.isArray(value);

/** What a text holds, where it is JSON itself. */
function opened(value: Json | undefined): Json | undefined {
  return typeof value === "string" ? strictJson(plain(value)) : value;
}

/** As texts are kept: without NUL, and whole characters only. */
export function plain(text: string): string {
  return text.split("\0").join("").toWellFormed();
}

/** Items in their order; "no list" for what can have none. */
function itemsOf(value: Json | undefined, level: number): Item[] | "no list" {
  if (value === undefined || value === null) return [];
  if (typeof value === "string") {
    if (/^[ \t\r\n]*$/.test(plain(value))) return [];
    const inner = opened(value);
    return inner === undefined || level >= levels ? "no list" : itemsOf(inner, level + 1);
  }
  if (Array.isArray(value)) return value.flatMap((item) => itemOf(item, level));
  if (!(value instanceof Map)) return "no list";
  const [type, one] = [value.get("trait_type"), value.get("value")];
  if (type !== undefined && one !== undefined) return [{ name: type, value: one }];
  return [...value].flatMap(([name, member]): Item[] => {
    const nested = name === "attributes" || name === "traits" ? opened(member) : undefined;
    return isNest(nested) ? nest(nested, level) : [{ name, value: member }];
  });
}

function nest(value: Json, level: number): Item[] {
  const items = level >= levels ? "no list" : itemsOf(value, level + 1);
  return items === "no list" ? ["lost"] : items;
}

function itemOf(item: Json, level: number): Item[] {
  if (item === null) return [];
  if (item instanceof Map) {
    const type = item.get("trait_type");
    return [{ name: type === undefined || type === null ? item.get("name") : type, value: item.get("value") }];
  }
  const inner = opened(item);
  if (inner instanceof Map && typeof item === "string") return itemOf(inner, level);
  return isNest(inner) ? nest(inner, level) : ["lost"];
}

function textOf(value: Json | undefined, id: string | null): string | null {
  if (value === undefined || value === null) return "";
  if (value instanceof Written) return value.text;
  if (typeof value === "boolean") return String(value);
  return typeof value === "string" ? withId(plain(value), id) : null;
}

/** A number is shown as it is written, but one with a small exponent in all its digits. */
function valueText(value: Json, id: string | null): string | null {
  const isSmall = value instanceof Written && /^.{1,60}[eE][+-]?[0-9]{1,2}$/.test(value.text);
  return isSmall ? digitsOf(value.text) : textOf(value, id);
}

const first = (text: string, count: number) => [...text].slice(0, count).join("");

export function expectedTraits(members: JsonObject, id: string | null): { traits: Trait[]; warnings: string[] } {
  const warnings: string[] = [];
  for (const member of ["attributes", "traits"]) {
    const items = itemsOf(members.get(member), 1);
    if (items === "no list") {
      warnings.push(`${member}:not_a_list`);
      continue;
    }
    const reasons = new Set<string>();
    const traits: Trait[] = [];
    for (const item of items) {
      if (item !== "lost" && item.value === null) continue;
      const name = item === "lost" ? null : textOf(item.name, id);
      const value = item === "lost" || item.value === undefined ? null : valueText(item.value, id);
      if (item === "lost" || name === null || value === null) reasons.add("unreadable");
      else {
        const isNumber = item.value instanceof Written || !/e/i.test(value);
        const number = isNumber && isDecimal(value) && value.length <= 1_000 ? value : null;
        traits.push({ name, value, number });
      }
    }
    if (traits.length > 200) reasons.add("too_many");
    const kept = traits.slice(0, 200).map((trait) => {
      const cut = { ...trait, name: first(trait.name, 200), value: first(trait.value, 300) };
      if (cut.name !== trait.name || cut.value !== trait.value) reasons.add("cut");
      return cut;
    });
    warnings.push(...[...reasons].map((reason) => `${member}:${reason}`));
    if (kept.length > 0) return { traits: kept, warnings };
  }
  return { traits: [], warnings };
}
