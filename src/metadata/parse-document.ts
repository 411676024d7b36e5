import { createHash } from "node:crypto";
import type { Fault } from "./fault.ts";

const limits = { depth: 64, members: 5_000, textLength: 65_536 };

/** What a token's metadata says, ready for its columns. */
export interface TokenDocument {
  /** The JSON text, unchanged. */
  text: string;
  /** sha256 of the bytes. */
  hash: Buffer;
  name: string | null;
  description: string | null;
  image: string | null;
  animationUrl: string | null;
}

/** Reads a metadata file leniently: any JSON object will do, and members of a wrong kind count as absent. */
export function parseDocument(bytes: Uint8Array): TokenDocument | Fault {
  const text = new TextDecoder().decode(bytes);
  if (isTooComplex(text)) return { fault: "too_complex" };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { fault: "not_json" };
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) return { fault: "not_an_object" };
  const members = value as Record<string, unknown>;
  return {
    text,
    hash: createHash("sha256").update(bytes).digest(),
    name: textOf(members["name"])?.slice(0, limits.textLength) ?? null,
    description: textOf(members["description"])?.slice(0, limits.textLength) ?? null,
    image: textOf(members["image"]) || textOf(members["image_url"]) || null,
    animationUrl: textOf(members["animation_url"]),
  };
}

/**
 * Text that Postgres takes: no NUL, no half of a surrogate pair. JSON escapes can spell both.
 */
export function cleanText(text: string): string {
  return text.replaceAll("\0", "").toWellFormed();
}

function textOf(value: unknown): string | null {
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : null;
  return typeof value === "string" ? cleanText(value) : null;
}

/** Measured on the text, before parsing: nesting that deep ends every later walk over the value. */
function isTooComplex(text: string): boolean {
  let depth = 0;
  let members = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (inString) {
      if (code === 0x5c) at += 1;
      else if (code === 0x22) inString = false;
    } else if (code === 0x22) inString = true;
    else if (code === 0x7b || code === 0x5b) depth += 1;
    else if (code === 0x7d || code === 0x5d) depth -= 1;
    else if (code === 0x3a) members += 1;
    if (depth > limits.depth || members > limits.members) return true;
  }
  return false;
}
