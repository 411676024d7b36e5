import { crc32 } from "node:zlib";
import type { JsonText } from "../json-text.ts";

/** How reads may be kept: by the client alone, which asks each time whether they still hold. */
export const revalidated = "private, no-cache";

/**
 * Names what an answer says. Weak, and a check sum instead of a cryptographic hash: it is made for each read,
 * and whoever could aim at a collision would only deceive himself.
 */
export function etagOf(text: JsonText): string {
  let sum = 0;
  for (const piece of text.pieces) sum = crc32(piece, sum);
  return `W/"${text.byteLength.toString(36)}-${sum.toString(36)}"`;
}

/** Whether the client has this answer: the weak comparison of RFC 9110, 13.1.2. */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const plain = (tag: string) => tag.trim().replace(/^W\//, "");
  const tags = ifNoneMatch.split(",").map(plain);
  return tags.includes("*") || tags.includes(plain(etag));
}
