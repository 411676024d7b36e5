import { createHash } from "node:crypto";
import type { JsonText } from "../json/json-text.ts";

/** How reads may be kept: by the client alone, which asks each time whether they still hold. */
export const revalidated = "private, no-cache";

/**
 * Names what an answer says, byte for byte: 132 bits of its SHA-256, which nobody can aim at. A text that somebody
 * else stored must not be able to pass for the one that a cache has.
 */
export function etagOf(text: JsonText): string {
  const sum = createHash("sha256");
  for (const piece of text.pieces) sum.update(piece);
  return `"${sum.digest("base64url").slice(0, 22)}"`;
}

/** Whether the client has this answer: the weak comparison of RFC 9110, 13.1.2. */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const plain = (tag: string) => tag.trim().replace(/^W\//, "");
  const tags = ifNoneMatch.split(",").map(plain);
  return tags.includes("*") || tags.includes(plain(etag));
}
