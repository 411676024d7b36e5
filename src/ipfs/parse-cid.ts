import { LRUCache } from "lru-cache";
import { bases } from "multiformats/basics";
import { CID } from "multiformats/cid";
import { entryBound } from "../cache-bounds.ts";

/** Every base that a CID may be written in; the library has one for plain bytes too. */
const written = Object.values(bases).filter(({ name }) => name !== "identity");
const byPrefix = new Map(written.map(({ prefix, decoder }) => [prefix as string, decoder]));
/** The longest text of a CID with a hash of 64 bytes, in base 2. Some bases take the square of the length to decode. */
const longestText = 600;
/** Read last: one request asks for the same CID several times. */
const known = new LRUCache<string, CID>(entryBound(1_000));

/** Version 1 always: stores and gateways then see one spelling. @returns null for a text that is no CID. */
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
