import { createHash } from "node:crypto";
import { measureJson } from "../../json/measure-json.ts";
import type { Fault } from "../../outbound/fault.ts";

/** `urlLength` allows a base64 picture as large as a whole document. */
const limits = { depth: 64, members: 5_000, textLength: 65_536, urlLength: 1_500_000 };

/** The content of a token's metadata, ready for its columns. */
export interface TokenDocument {
  /** The JSON text of the object; unchanged if it was valid JSON in UTF-8. */
  text: string;
  /** sha256 of the original bytes. */
  hash: Buffer;
  /** The original bytes, where `text` differs from them. */
  raw: Uint8Array | null;
  name: string | null;
  description: string | null;
  image: string | null;
  animationUrl: string | null;
  /** The value for `{id}`, if the document contains it. */
  id: string | null;
  /** Members that could not be read completely, as MEMBER:REASON. Those of traits come from `service.read_traits`. */
  warnings: string[];
  /** All members, for callers with columns of their own. Numbers are texts, as written. */
  members: Record<string, unknown>;
}

/**
 * Parses a metadata file leniently: any JSON object is accepted, and members of a wrong type count as absent.
 *
 * @param id the value for `{id}` in shown texts; null: it stays as it is. The document itself keeps `{id}`.
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
  // Faults of other picture members do not matter once one member has a picture.
  if (image !== "") warnings.length = before;
  return {
    text,
    hash,
    raw: Buffer.from(text).equals(bytes) ? null : bytes,
    ...{ name, description, image: image || null, animationUrl: animationUrl || null },
    members,
    // `{id}` may be written with escapes. If the text then has none after all, nothing is filled in.
    id: id !== null && (idMark.test(text) || text.includes("\\u00")) ? id : null,
    warnings,
  };
}

/** The warning that some bytes could not be decoded as text. */
export const undecodable = "metadata:undecodable";

/** Members whose value is shown even if it is a number; in a contract's document too. */
const shownNames = [
  ...["name", "description", "animation_url", "image", "image_url", "image_data", "svg_image_data"],
  ...["banner_image", "banner_image_url", "banner"],
];

/** Members that may contain the picture, in order of preference. The last two contain it themselves, mostly as SVG. */
const pictures = ["image", "image_url", "image_data", "svg_image_data"];

/** A link in a form that can be followed: a literal drawing becomes a `data:` URI. */
function linkOf(text: string): string {
  const link = text.trim();
  if (/^<(\?xml|!doctype|!--|svg)[\s/>-]/i.test(link) && /<svg[\s/>]/i.test(link))
    return `data:image/svg+xml;base64,${Buffer.from(link).toString("base64")}`;
  return /^%3c(svg|%3fxml)/i.test(link) ? `data:image/svg+xml,${link}` : link;
}

const idMark = /\{id\}|%7Bid%7D/i;

/** ERC-1155: in a URI, and in every text of a document, `{id}` stands for the token id. */
export function fillIn(text: string, id: string): string {
  return text.replaceAll(new RegExp(idMark, "gi"), id);
}

export function hashOf(bytes: Uint8Array): Buffer {
  return createHash("sha256").update(bytes).digest();
}

/** Text that Postgres accepts: no NUL, no lone surrogate. JSON escapes can encode both. */
export function cleanText(text: string): string {
  return text.replaceAll("\0", "").toWellFormed();
}

/** The text of a link. One that is too long to be of use is left out, not cut. */
export function urlOf(value: unknown): string | null {
  const link = linkOf(textOf(value) ?? "");
  return link.length > limits.urlLength ? null : link || null;
}

export function textOf(value: unknown): string | null {
  return typeof value === "string" ? cleanText(value) : null;
}

function readObject(given: string, nested = false): { text: string; members: Record<string, unknown> } | Fault {
  // Only in a twice encoded text can a lone surrogate be a character.
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

/** The members under names that Postgres accepts, with numbers as texts: a JavaScript number would lose digits. */
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

/** Whether it is nested too deep or has too many members to be shown. */
export function isTooComplex(text: string): boolean {
  const { depth, members } = measureJson(text);
  return depth > limits.depth || members > limits.members;
}

/** The decoded text of a file. */
export interface DecodedText {
  text: string;
  /** Whether all bytes were valid; invalid ones become U+FFFD. */
  whole: boolean;
}

/**
 * Decodes a JSON file in the encodings that people use: UTF-8 and UTF-16, with or without a byte order mark. JSON
 * begins with an ASCII character, so a zero byte next to it means UTF-16.
 */
function decodeJsonText(bytes: Uint8Array): DecodedText {
  const [first = 1, second = 1] = bytes;
  if ((first === 0xff && second === 0xfe) || (first > 0 && second === 0)) return decode(bytes, "utf-16le");
  if ((first === 0xfe && second === 0xff) || (first === 0 && second > 0)) return decode(bytes, "utf-16be");
  return decode(bytes, "utf-8");
}

function decode(bytes: Uint8Array, encoding: string): DecodedText {
  const text = new TextDecoder(encoding).decode(bytes);
  // Almost no text contains U+FFFD; one that does is decoded again to find out why.
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

/** Each repair takes memory of its own; a text that needs more was not broken by accident. */
const mostRepairs = 10_000;

/**
 * Repairs the output of hand-written contracts and scripts: line breaks and other control characters inside strings are
 * escaped, commas before a closing bracket are dropped. The result may still be invalid JSON.
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
      // Nothing was replaced since the comma: only white space follows it.
      parts.push(text.slice(from, comma));
      from = comma + 1;
    }
    comma = code === 0x2c ? at : -1;
    if (code === 0x22) inString = true;
  }
  parts.push(text.slice(from));
  return parts.join("");
}
