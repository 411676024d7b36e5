import { createHash } from "node:crypto";
import type { JsonText } from "../json/json-text.ts";

/** How reads may be cached: only by the client, which must revalidate each time. */
export const revalidated = "private, no-cache";

/**
 * A strong ETag of an answer: 132 bits of its SHA-256. Collisions must be infeasible, so that text stored by somebody
 * else cannot pass for the text in a cache.
 */
export function etagOf(text: JsonText): string {
  const sum = createHash("sha256");
  for (const piece of text.pieces) sum.update(piece);
  return `"${sum.digest("base64url").slice(0, 22)}"`;
}

/** Whether the client has this answer, by the weak comparison of RFC 9110, 13.1.2. */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const plain = (tag: string) => tag.trim().replace(/^W\//, "");
  const tags = ifNoneMatch.split(",").map(plain);
  return tags.includes("*") || tags.includes(plain(etag));
}
