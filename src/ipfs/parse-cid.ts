import { LRUCache } from "lru-cache";
import { bases } from "multiformats/basics";
import { CID } from "multiformats/cid";
import { entryBound } from "../cache-bounds.ts";

/** Every multibase encoding; the library also has one for plain bytes, which is left out. */
const written = Object.values(bases).filter(({ name }) => name !== "identity");
const byPrefix = new Map(written.map(({ prefix, decoder }) => [prefix as string, decoder]));
/** Length of a CID with a 64-byte hash in base 2, the longest text. Decoding some bases takes quadratic time. */
const longestText = 600;
/** Recently parsed CIDs: one request uses the same CID several times. */
const known = new LRUCache<string, CID>(entryBound(1_000));

/** Always version 1, so that stores and gateways see one spelling. @returns null for a text that is no CID. */
export function parseCid(text: string): CID | null {
  const [prefix = ""] = text;
  if (text.length > longestText) return null;
  const before = known.get(text);
  if (before) return before;
  try {
    const cid = CID.parse(text, prefix === "Q" ? undefined : byPrefix.get(prefix)).toV1();
    known.set(text, cid);
    return cid;
  } catch {
    return null;
  }
}
