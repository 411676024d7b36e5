import type { ContentStore } from "../../ipfs/content-store.ts";
import { type Fault, isFault } from "../../outbound/fault.ts";
import { type Fetched, type Fetcher, readCapped } from "../../outbound/fetcher.ts";
import type { Gateway, GatewayBlocks } from "./gateway-blocks.ts";
import { gatewayOf, type IpfsLocation, type IpfsLocations, parseIpfsUri } from "./ipfs-location.ts";
import { parseDocument } from "./parse-document.ts";

/** Where documents are read from: this installation's content, then gateways, then third-party servers. */
export interface Sources {
  content: Pick<ContentStore, "resolve">;
  /** Base URLs of the operator's gateways, up to `/ipfs`. */
  gateways: readonly string[];
  blocks: GatewayBlocks;
  fetcher: Fetcher;
}

export interface RawDocument extends Fetched {
  /** Null when it was not read from IPFS. */
  cid: string | null;
}

/** Reads the document behind a URI that a contract returned. @throws Busy */
export async function readDocument(sources: Sources, uri: string, signal: AbortSignal): Promise<RawDocument | Fault> {
  const text = uri.trim();
  if (text === "") return { fault: "uri_empty" };
  if (/^data:/i.test(text)) return withCid(decodeDocumentUri(text), null);
  // Some contracts return the document itself.
  if (text.startsWith("{")) return { bytes: Buffer.from(text), cid: null };
  if (/^%7b/i.test(text)) return withCid(decodeDocumentUri(`data:,${text}`), null);
  const locations = parseIpfsUri(text);
  if (locations) return await readFromIpfs(sources, locations, text, signal);
  const url = webUrlOf(text);
  if (url === null) return { fault: "uri_unsupported" };
  return withCid(await sources.fetcher.fetch(url, { signal }), null);
}

/** The URL from which a server gives this URI: http, https, or Arweave through its gateway; otherwise null. */
export function webUrlOf(uri: string): string | null {
  const arweave = /^ar:\/\/\/*(.+)$/is.exec(uri);
  const url = arweave ? `https://arweave.net/${arweave[1]}` : uri;
  return /^https?:\/\//i.test(url) ? url : null;
}

/** Gateways to ask for content that is not here. One in the contract's URI counts as a third party. */
function gatewaysFor(sources: Sources, uri: string): Gateway[] {
  const trusted = sources.gateways.map((base) => ({ base: base.replace(/\/+$/, ""), search: "", trusted: true }));
  const named = gatewayOf(uri);
  return named ? [...trusted, { ...named, trusted: false }] : trusted;
}

async function readFromIpfs(
  sources: Sources,
  locations: IpfsLocations,
  uri: string,
  signal: AbortSignal,
): Promise<RawDocument | Fault> {
  const own = await ownContent(sources, locations);
  if (own?.kind === "directory") return { fault: "ipfs_is_directory" };
  if (own) return withCid(await readCapped(own.stream()), own.cid);
  return await askGateways(sources, locations, uri, async (gateway, location) => {
    const answer = await sources.blocks.read(location, gateway, signal, sources.fetcher);
    return withCid(answer, location.cid);
  });
}

/** The first of the locations whose content is stored here. */
export async function ownContent({ content }: Pick<Sources, "content">, locations: IpfsLocations) {
  for (const { cid, path } of locations) {
    const own = await content.resolve(cid, path);
    if (own) return own;
  }
  return null;
}

/** The first answer of a gateway. A later location is requested only if the earlier ones are known not to exist. */
export async function askGateways<T extends object>(
  sources: Sources,
  locations: IpfsLocations,
  uri: string,
  ask: (gateway: Gateway, location: IpfsLocation) => Promise<T | Fault>,
): Promise<T | Fault> {
  let last: Fault = { fault: "ipfs_not_found" };
  for (const location of locations) {
    for (const gateway of gatewaysFor(sources, uri)) {
      const answer = await ask(gateway, location);
      if (!isFault(answer)) return answer;
      last = answer;
    }
    if (last.fault !== "ipfs_not_found") return last;
  }
  return last;
}

function withCid(answer: Fetched | Fault, cid: string | null): RawDocument | Fault {
  return isFault(answer) ? answer : { bytes: answer.bytes, cid };
}

/** The same limit as for a document or the first bytes of a picture from a server. */
const maxDataBytes = 1_048_576;

/**
 * Decodes a `data:` URI, base64 or percent-encoded. Many are written by hand in contracts, so stray `%` and `#` are
 * taken literally.
 */
export function decodeDataUri(uri: string): { bytes: Uint8Array } | Fault {
  const comma = uri.indexOf(",");
  if (comma < 0) return { fault: "uri_unsupported" };
  // An encoded byte has at most three characters.
  if (uri.length - comma - 1 > 3 * maxDataBytes) return { fault: "too_large" };
  const decoded = percentDecode(uri.slice(comma + 1));
  const isBase64 = /;\s*base64\s*$/i.test(uri.slice(0, comma));
  const bytes = isBase64 ? Buffer.from(decoded.toString("latin1"), "base64") : decoded;
  return bytes.byteLength > maxDataBytes ? { fault: "too_large" } : { bytes };
}

/**
 * The document in a `data:` URI. Contracts that concatenate one leave a picture's escapes in it undecoded; some declare
 * base64 that is none, or do not declare it. So if the standard decoding gives no document, the literal text is tried,
 * and then its base64.
 */
function decodeDocumentUri(uri: string): { bytes: Uint8Array } | Fault {
  const decoded = decodeDataUri(uri);
  const body = uri.slice(uri.indexOf(",") + 1);
  if (isFault(decoded) || body.length > 2 * maxDataBytes) return decoded;
  // Almost all are like this: nothing in them is ambiguous.
  if (decoded.bytes[0] === 0x7b && !body.includes("%")) return decoded;
  if (isDocument(decoded.bytes)) return decoded;
  const written = [Buffer.from(body), Buffer.from(body, "base64")].find(isDocument);
  return written ? { bytes: written } : decoded;
}

function isDocument(bytes: Uint8Array): boolean {
  return !isFault(parseDocument(bytes));
}

function percentDecode(text: string): Buffer {
  const bytes = Buffer.from(text);
  let length = 0;
  for (let at = 0; at < bytes.length; length += 1) {
    const value = bytes[at] === 0x25 ? hexDigit(bytes[at + 1]) * 16 + hexDigit(bytes[at + 2]) : Number.NaN;
    bytes[length] = Number.isNaN(value) ? (bytes[at] as number) : value;
    at += Number.isNaN(value) ? 1 : 3;
  }
  return bytes.subarray(0, length);
}

function hexDigit(code = 0): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = (code | 0x20) - 0x61;
  return letter >= 0 && letter < 6 ? letter + 10 : Number.NaN;
}
