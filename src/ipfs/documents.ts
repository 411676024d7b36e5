import * as dagCbor from "@ipld/dag-cbor";
import * as dagJson from "@ipld/dag-json";
import * as dagPb from "@ipld/dag-pb";
import { CID } from "multiformats/cid";
import { rawCodec } from "./dag-links.ts";

const jsonCodec = 0x0200;
const cborCodec = 0x51;

/** Media types of blocks that are documents, by codec. */
export const documentTypes: ReadonlyMap<number, string> = new Map([
  [dagJson.code, "application/vnd.ipld.dag-json"],
  [dagCbor.code, "application/vnd.ipld.dag-cbor"],
  [jsonCodec, "application/json"],
  [cborCodec, "application/cbor"],
]);

/** Decoding takes CPU time, and any client may ask for it. A directory in a single block is never larger. */
const largestDecoded = 262_144;

/** Formats into which a block can be converted. Source: specs.ipfs.tech, Path Gateway. */
const documentFormats = {
  "dag-json": { asItIs: null, encode: dagJson.encode, code: dagJson.code },
  "dag-cbor": { asItIs: null, encode: dagCbor.encode, code: dagCbor.code },
  json: { asItIs: jsonCodec, encode: dagJson.encode, code: dagJson.code },
  cbor: { asItIs: cborCodec, encode: dagCbor.encode, code: dagCbor.code },
} as const;
export type DocumentFormat = keyof typeof documentFormats;

/** The data of a block in another format. A block that already has the format is checked and returned unchanged. */
export function convertBlock(
  cid: CID,
  bytes: Uint8Array,
  format: DocumentFormat,
): Uint8Array | "too_large" | "invalid" {
  const { asItIs, encode, code } = documentFormats[format];
  if (cid.code === asItIs) return bytes;
  if (bytes.length > largestDecoded) return "too_large";
  try {
    const data = decode(cid, bytes);
    return cid.code === code ? bytes : encode(data);
  } catch {
    // Also for a stack overflow: a document may be nested as deep as it has bytes.
    return "invalid";
  }
}

/** Follows names through a document to its first link; null where there is none on the path. */
export function followLink(
  cid: CID,
  bytes: Uint8Array,
  path: readonly string[],
): { cid: CID; rest: readonly string[] } | null {
  let value = decodeOrNull(cid, bytes);
  for (const [index, name] of path.entries()) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return null;
    value = (value as Record<string, unknown>)[name];
    if (value instanceof CID) return { cid: value, rest: path.slice(index + 1) };
  }
  return null;
}

/** Every link of a document. */
export function documentLinks(cid: CID, bytes: Uint8Array): CID[] {
  const links: CID[] = [];
  const ahead = [decodeOrNull(cid, bytes)];
  while (ahead.length > 0) {
    const value = ahead.pop();
    if (value instanceof CID) links.push(value);
    else if (typeof value === "object" && value !== null && !(value instanceof Uint8Array))
      for (const inner of Object.values(value).toReversed()) ahead.push(inner);
  }
  return links;
}

function decodeOrNull(cid: CID, bytes: Uint8Array): unknown {
  if (bytes.length > largestDecoded) return null;
  try {
    return decode(cid, bytes);
  } catch {
    return null;
  }
}

function decode(cid: CID, bytes: Uint8Array): unknown {
  if (cid.code === rawCodec) return bytes;
  if (cid.code === dagPb.code) return dagPb.decode(bytes);
  return cid.code === dagJson.code || cid.code === jsonCodec ? dagJson.decode(bytes) : dagCbor.decode(bytes);
}
