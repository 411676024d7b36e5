/*
 * JSON for the independent reading: its own parser, because the product's stands on JSON.parse and on PostgreSQL's. Numbers
 * stay as they are written, of members with one name the last counts, and what docs/metadata.md calls repaired is read:
 * control characters inside strings and a comma before a closing bracket.
 */

/** A number as it is written. */
export class Written {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Json = null | boolean | string | Written | Json[] | JsonObject;
export type JsonObject = Map<string, Json>;

export interface Parsed {
  value: Json;
  depth: number;
  members: number;
  /** What is no JSON and was read nevertheless. */
  repairs: number;
}

/** Deeper than anything that is read. */
const deepest = 100;

class NoJson extends Error {}
export class TooDeep extends Error {}

/** @throws NoJson, TooDeep */
export function parseJson(text: string, lenient: boolean): Parsed {
  let at = 0;
  let level = 0;
  let depth = 0;
  let members = 0;
  let repairs = 0;

  const space = () => {
    while (at < text.length && " \t\r\n".includes(text[at] as string)) at += 1;
  };
  const expect = (token: string) => {
    if (!text.startsWith(token, at)) throw new NoJson(`no ${token} at ${at}`);
    at += token.length;
  };
  const closes = (bracket: string) => {
    space();
    if (text[at] !== bracket) return false;
    at += 1;
    level -= 1;
    return true;
  };
  const opens = () => {
    at += 1;
    level += 1;
    depth = Math.max(depth, level);
    if (level > deepest) throw new TooDeep();
  };
  /** After a bracket: whether nothing is in it. */
  const isEmpty = (bracket: string) => {
    if (closes(bracket)) return true;
    if (!lenient || text[at] !== ",") return false;
    at += 1;
    repairs += 1;
    if (!closes(bracket)) throw new NoJson("a comma before anything");
    return true;
  };
  /** After an item: whether another one follows. */
  const goesOn = (bracket: string) => {
    if (closes(bracket)) return false;
    expect(",");
    if (!lenient || !closes(bracket)) return true;
    repairs += 1;
    return false;
  };

  const string = (): string => {
    expect('"');
    let read = "";
    for (;;) {
      const character = text[at];
      if (character === undefined) throw new NoJson("an open string");
      at += 1;
      if (character === '"') return read;
      if (character < " " && !lenient) throw new NoJson("a control character");
      if (character < " ") repairs += 1;
      if (character !== "\\") {
        read += character;
        continue;
      }
      const letter = text[at] ?? "";
      at += 1;
      const plain = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", '"': '"', "\\": "\\", "/": "/" }[letter];
      const code = /^[0-9a-f]{4}$/i.test(text.slice(at, at + 4)) ? Number.parseInt(text.slice(at, at + 4), 16) : null;
      if (plain !== undefined) read += plain;
      else if (letter !== "u" || code === null) throw new NoJson("an escape that is none");
      else {
        read += String.fromCharCode(code);
        at += 4;
      }
    }
  };
  const object = (): JsonObject => {
    const found: JsonObject = new Map();
    opens();
    if (isEmpty("}")) return found;
    do {
      space();
      const name = string();
      space();
      expect(":");
      members += 1;
      found.set(name, value());
    } while (goesOn("}"));
    return found;
  };
  const list = (): Json[] => {
    const found: Json[] = [];
    opens();
    if (isEmpty("]")) return found;
    do found.push(value());
    while (goesOn("]"));
    return found;
  };
  const value = (): Json => {
    space();
    switch (text[at]) {
      case "{":
        return object();
      case "[":
        return list();
      case '"':
        return string();
      case "t":
        expect("true");
        return true;
      case "f":
        expect("false");
        return false;
      case "n":
        expect("null");
        return null;
      default: {
        const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
        number.lastIndex = at;
        const [written] = number.exec(text) ?? [];
        if (written === undefined) throw new NoJson(`nothing at ${at}`);
        at += written.length;
        return new Written(written);
      }
    }
  };
  const found = value();
  space();
  if (at < text.length) throw new NoJson(`more at ${at}`);
  return { value: found, depth, members, repairs };
}

/** The JSON of a text, in the strict sense; undefined for a text that is none. */
export function strictJson(text: string): Json | undefined {
  try {
    return parseJson(text, false).value;
  } catch {
    return undefined;
  }
}

/** The same for equal values, whatever the order and the spelling of their members. */
export function canonical(value: Json): string {
  if (value instanceof Written) return `#${value.text}`;
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (!(value instanceof Map)) return JSON.stringify(typeof value === "string" ? value.toWellFormed() : value);
  const members = [...value].map(([name, member]) => `${JSON.stringify(name.toWellFormed())}:${canonical(member)}`);
  return `{${members.sort().join()}}`;
}

const decimal = /^(-?)([0-9]+)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;

export const isDecimal = (text: string) => decimal.test(text);

/** One text for all spellings of a number: its digits without zeros around them, and a power of ten. Another text stays. */
function decimalOf(written: string): string {
  const [found, sign = "", whole = "", part = "", power = "0"] = decimal.exec(written) ?? [];
  if (found === undefined) return written;
  const digits = (whole + part).replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  if (significant === "") return "0";
  return `${sign}${significant}e${BigInt(power) - BigInt(part.length) + BigInt(digits.length - significant.length)}`;
}

/** A number in all of its digits. */
export function digitsOf(written: string): string {
  const [found, sign = "", whole = "", part = "", power] = decimal.exec(written) ?? [];
  if (found === undefined || power === undefined) return written;
  const point = whole.length + Number(power);
  const digits = `${"0".repeat(Math.max(0, 1 - point))}${whole}${part}`.padEnd(point, "0");
  const at = Math.max(1, point);
  const before = digits.slice(0, at).replace(/^0+(?=[0-9])/, "");
  return `${sign}${before}${digits.length > at ? `.${digits.slice(at)}` : ""}`;
}

/** Negative, 0 or positive, as the first number is less than the second, equal or greater. */
export function decimalOrder(first: string, second: string): number {
  const parts = [first, second].map((written) => {
    const [digits = "0", power = "0"] = decimalOf(written).split("e");
    return { digits: BigInt(digits), power: Number(power) };
  });
  const least = Math.min(...parts.map(({ power }) => power));
  const [one = 0n, other = 0n] = parts.map(({ digits, power }) => digits * 10n ** BigInt(power - least));
  return one < other ? -1 : one > other ? 1 : 0;
}
