import { LRUCache } from "lru-cache";
import { base2 } from "multiformats/bases/base2";
import { base8 } from "multiformats/bases/base8";
import { base10 } from "multiformats/bases/base10";
import { base16, base16upper } from "multiformats/bases/base16";
import {
  base32,
  base32hex,
  base32hexpad,
  base32hexpadupper,
  base32hexupper,
  base32pad,
  base32padupper,
  base32upper,
  base32z,
} from "multiformats/bases/base32";
import { base36, base36upper } from "multiformats/bases/base36";
import { base58btc, base58flickr } from "multiformats/bases/base58";
import { base64, base64pad, base64url, base64urlpad } from "multiformats/bases/base64";
import { base256emoji } from "multiformats/bases/base256emoji";
import { CID } from "multiformats/cid";
import { entryBound } from "../cache-bounds.ts";

/** Every base that a CID may be written in, by its first character. Source: the table of multibase. */
const bases = [
  ...[base2, base8, base10, base16, base16upper, base36, base36upper, base58btc, base58flickr, base256emoji],
  ...[base32, base32upper, base32pad, base32padupper, base32z],
  ...[base32hex, base32hexupper, base32hexpad, base32hexpadupper],
  ...[base64, base64pad, base64url, base64urlpad],
];
const byPrefix = new Map(bases.map((base) => [base.prefix as string, base.decoder]));
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
