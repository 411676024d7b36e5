import { createHash } from "node:crypto";
import { measureJson } from "../../json/measure-json.ts";
import type { Fault } from "../../outbound/fault.ts";

/** `urlLength` has room for a picture of a whole document's size in base 64. */
const limits = { depth: 64, members: 5_000, textLength: 65_536, urlLength: 1_500_000 };

/** What a token's metadata says, ready for its columns. */
export interface TokenDocument {
  /** The JSON text of the object: as it came, where it was JSON in UTF-8. */
  text: string;
  /** sha256 of the bytes that came. */
  hash: Buffer;
  /** The bytes that came, where `text` is not just these. */
  raw: Uint8Array | null;
  name: string | null;
  description: string | null;
  image: string | null;
  animationUrl: string | null;
  /** What `{id}` stands for, where the document has it. */
  id: string | null;
  /** Members that are there and could not be read whole, as MEMBER:REASON. Traits are PostgreSQL's (`service.read_traits`). */
  warnings: string[];
  /** All members, for readers with their own columns; numbers are texts, as they are written. */
  members: Record<string, unknown>;
}

/**
 * Reads a metadata file leniently: any JSON object will do, and members of a wrong kind count as absent.
 *
 * @param id what `{id}` stands for in a text that is shown; null: for itself. The document keeps it.
 */
export function parseDocument(bytes: Uint8Array, id: string | null = null): TokenDocument | Fault {
  const { text: given, whole } = decodeJsonText(bytes);
  const found = readObject(given);
  if ("fault" in found) return found;
  const { text, members } = found;
  const hash = hashOf(bytes);
  const warnings = whole ? [] : [undecodable];
  const shown = (name: string) => {
    const member = textOf(members[name]);
    if (member === null && members[name] != null) warnings.push(`${name}:not_a_text`);
    return member === null || id === null ? member : fillIn(member, id);
  };
  const cut = (name: string) => {
    const text = shown(name);
    if (text === null || text.length <= limits.textLength) return text;
    warnings.push(`${name}:cut`);
    return text.slice(0, limits.textLength).toWellFormed();
  };
  const link = (name: string) => {
    const text = linkOf(shown(name) ?? "");
    if (text.length <= limits.urlLength) return text;
    warnings.push(`${name}:too_large`);
    return "";
  };
  const [name, description, animationUrl] = [cut("name"), cut("description"), link("animation_url")];
  const before = warnings.length;
  const image = pictures.reduce((found, member) => found || link(member), "");
  // What stood in the way of a picture that another member has is lost to nobody.
  if (image !== "") warnings.length = before;
  return {
    text,
    hash,
    raw: Buffer.from(text).equals(bytes) ? null : bytes,
    ...{ name, description, image: image || null, animationUrl: animationUrl || null },
    members,
    // A mark may be written in escapes; then there may be none, and nothing is filled in.
    id: id !== null && (idMark.test(text) || text.includes("\\u00")) ? id : null,
    warnings,
  };
}

/** The warning that some bytes were no text. */
export const undecodable = "metadata:undecodable";

/** Members of which a number is shown; of a contract's document too. */
const shownNames = [
  ...["name", "description", "animation_url", "image", "image_url", "image_data", "svg_image_data"],
  ...["banner_image", "banner_image_url", "banner"],
];

/** Members that may have the picture, the first first. The last two have the picture itself, mostly as SVG. */
const pictures = ["image", "image_url", "image_data", "svg_image_data"];

/** A link as it can be followed: what is a drawing itself becomes a `data:` URI. */
function linkOf(text: string): string {
  const link = text.trim();
  if (/^<(\?xml|!doctype|!--|svg)[\s/>-]/i.test(link) && /<svg[\s/>]/i.test(link))
    return `data:image/svg+xml;base64,${Buffer.from(link).toString("base64")}`;
  return /^%3c(svg|%3fxml)/i.test(link) ? `data:image/svg+xml,${link}` : link;
}

const idMark = /\{id\}|%7Bid%7D/i;

/** ERC-1155: in a URI, and in every text of a document, `{id}` stands for the id. */
export function fillIn(text: string, id: string): string {
  return text.replaceAll(new RegExp(idMark, "gi"), id);
}

export function hashOf(bytes: Uint8Array): Buffer {
  return createHash("sha256").update(bytes).digest();
}

/**
 * Text that Postgres takes: no NUL, no half of a surrogate pair. JSON escapes can spell both.
 */
export function cleanText(text: string): string {
  return text.replaceAll("\0", "").toWellFormed();
}

/** A member that is a link; one that no reader could use is absent, not cut. */
export function urlOf(value: unknown): string | null {
  const link = linkOf(textOf(value) ?? "");
  return link.length > limits.urlLength ? null : link || null;
}

export function textOf(value: unknown): string | null {
  return typeof value === "string" ? cleanText(value) : null;
}

function readObject(given: string, nested = false): { text: string; members: Record<string, unknown> } | Fault {
  // Only a twice encoded text can hold half a surrogate pair as a character.
  const text = given.toWellFormed();
  if (isTooComplex(text)) return { fault: "too_complex" };
  let used = text;
  let value = parse(used);
  if (value === undefined) {
    used = repairJson(text);
    value = parse(used);
  }
  if (value === undefined) return { fault: "not_json" };
  // Some servers encode the document twice.
  if (typeof value === "string" && !nested && value.trimStart().startsWith("{")) return readObject(value, true);
  if (value === null || typeof value !== "object" || Array.isArray(value)) return { fault: "not_an_object" };
  return { text: used, members: membersOf(used, value as Record<string, unknown>) };
}

/** Members by the names that texts have too, numbers as they are written: a number of JavaScript has not all digits. */
function membersOf(text: string, value: Record<string, unknown>): Record<string, unknown> {
  const names = Object.keys(value);
  const isClean = names.every((name) => cleanText(name) === name);
  if (isClean && !shownNames.some((name) => typeof value[name] === "number")) return value;
  const exact: Record<string, unknown> = JSON.parse(text, asWritten);
  return isClean ? exact : Object.fromEntries(names.map((name) => [cleanText(name), exact[name]]));
}

function asWritten(_name: string, value: unknown, { source }: { source?: string } = {}): unknown {
  return typeof value === "number" ? (source ?? String(value)) : value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Nested too deep or with too many members for the index to show it. */
export function isTooComplex(text: string): boolean {
  const { depth, members } = measureJson(text);
  return depth > limits.depth || members > limits.members;
}

/** A file as text. */
export interface DecodedText {
  text: string;
  /** Whether all of its bytes are text; each that is none is U+FFFD. */
  whole: boolean;
}

/**
 * The text of a JSON file in the encodings that people save it in: UTF-8 and UTF-16, with a byte order mark or without. JSON
 * begins with a character of ASCII, so a zero beside it shows UTF-16.
 */
function decodeJsonText(bytes: Uint8Array): DecodedText {
  const [first = 1, second = 1] = bytes;
  if ((first === 0xff && second === 0xfe) || (first > 0 && second === 0)) return decode(bytes, "utf-16le");
  if ((first === 0xfe && second === 0xff) || (first === 0 && second > 0)) return decode(bytes, "utf-16be");
  return decode(bytes, "utf-8");
}

function decode(bytes: Uint8Array, encoding: string): DecodedText {
  const text = new TextDecoder(encoding).decode(bytes);
  // Almost no text has the character, and those that have it are decoded twice.
  const whole = !text.includes("\ufffd") || isText(bytes, encoding);
  return { text, whole };
}

function isText(bytes: Uint8Array, encoding: string): boolean {
  try {
    new TextDecoder(encoding, { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** Each costs memory of its own; a text that needs more was not written by a slip. */
const mostRepairs = 10_000;

/**
 * Makes JSON of what hand-written contracts and scripts return instead: line breaks and other
 * control characters inside strings are escaped, commas before a closing bracket are dropped. The
 * result may still be no JSON.
 */
function repairJson(text: string): string {
  const parts: string[] = [];
  let from = 0;
  let inString = false;
  let comma = -1;
  const replace = (at: number, by: string) => {
    parts.push(text.slice(from, at), by);
    from = at + 1;
  };
  for (let at = 0; at < text.length; at += 1) {
    if (parts.length > mostRepairs * 2) return text;
    const code = text.charCodeAt(at);
    if (inString) {
      if (code === 0x5c) at += 1;
      else if (code === 0x22) inString = false;
      else if (code < 0x20) replace(at, `\\u${code.toString(16).padStart(4, "0")}`);
      continue;
    }
    if (code === 0x20 || (code >= 0x09 && code <= 0x0d)) continue;
    if ((code === 0x7d || code === 0x5d) && comma >= 0) {
      // Nothing was replaced since: only white space lies between.
      parts.push(text.slice(from, comma));
      from = comma + 1;
    }
    comma = code === 0x2c ? at : -1;
    if (code === 0x22) inString = true;
  }
  parts.push(text.slice(from));
  return parts.join("");
}
