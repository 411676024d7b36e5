import type { ContentStore } from "../../ipfs/content-store.ts";
import { type Fault, isFault } from "../../outbound/fault.ts";
import { type Fetched, type Fetcher, readCapped } from "../../outbound/fetcher.ts";
import { decodeDocumentUri } from "./data-uri.ts";
import type { Gateway, GatewayBlocks } from "./gateway-blocks.ts";
import { gatewayOf, type IpfsLocation, type IpfsLocations, parseIpfsUri } from "./ipfs-location.ts";

/** Where documents come from: what this installation holds, then gateways, then servers of third parties. */
export interface Sources {
  content: Pick<ContentStore, "resolve">;
  /** Bases of gateways the operator trusts, with their `/ipfs` part. */
  gateways: readonly string[];
  blocks: GatewayBlocks;
  fetcher: Fetcher;
}

export interface RawDocument extends Fetched {
  /** Null when it was not read from IPFS. */
  cid: string | null;
}

/** Reads the bytes behind a URI that a contract returned. @throws Busy */
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

/** The address of a URI that is read from a server: http, https, or Arweave through its gateway; else null. */
export function webUrlOf(uri: string): string | null {
  const arweave = /^ar:\/\/\/*(.+)$/is.exec(uri);
  const url = arweave ? `https://arweave.net/${arweave[1]}` : uri;
  return /^https?:\/\//i.test(url) ? url : null;
}

/** Gateways to ask for content that is not here; the one that the contract names is a third party like any other. */
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

/** The first of the locations that is stored here. */
export async function ownContent({ content }: Pick<Sources, "content">, locations: IpfsLocations) {
  for (const { cid, path } of locations) {
    const own = await content.resolve(cid, path);
    if (own) return own;
  }
  return null;
}

/** The first answer of a gateway. A later location is asked for only where the earlier ones are known to be nothing. */
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
