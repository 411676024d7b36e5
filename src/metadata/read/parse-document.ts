import { createHash } from "node:crypto";
import { measureJson } from "../../json/measure-json.ts";
import type { Fault } from "../../outbound/fault.ts";
import { decodeJsonText, repairJson } from "./repair-json.ts";

const limits = { depth: 64, members: 5_000, textLength: 65_536, urlLength: 262_144 };

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
  /** All members, for readers with their own columns. */
  members: Record<string, unknown>;
}

/**
 * Reads a metadata file leniently: any JSON object will do, and members of a wrong kind count as absent.
 *
 * @param id what `{id}` stands for in a text that is shown; null: for itself. The document keeps it.
 */
export function parseDocument(bytes: Uint8Array, id: string | null = null): TokenDocument | Fault {
  const found = readObject(decodeJsonText(bytes));
  if ("fault" in found) return found;
  const { text, members } = found;
  const hash = hashOf(bytes);
  const shown = (name: string) => {
    const member = textOf(members[name]);
    return member === null || id === null ? member : fillIn(member, id);
  };
  return {
    text,
    hash,
    raw: Buffer.from(text).equals(bytes) ? null : bytes,
    name: shown("name")?.slice(0, limits.textLength).toWellFormed() ?? null,
    description: shown("description")?.slice(0, limits.textLength).toWellFormed() ?? null,
    image: urlOf(shown("image")) || urlOf(shown("image_url")) || null,
    animationUrl: urlOf(shown("animation_url")),
    members,
    id: id !== null && idMark.test(text) ? id : null,
  };
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

/** A member that is a URL; one that no reader could use is absent, not cut. */
export function urlOf(value: unknown): string | null {
  const text = textOf(value)?.trim() ?? null;
  return text !== null && text.length > limits.urlLength ? null : text;
}

export function textOf(value: unknown): string | null {
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : null;
  return typeof value === "string" ? cleanText(value) : null;
}

function readObject(text: string, nested = false): { text: string; members: Record<string, unknown> } | Fault {
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
  // Only a repaired or twice encoded text can hold half a surrogate pair as a character.
  return { text: used.toWellFormed(), members: value as Record<string, unknown> };
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
