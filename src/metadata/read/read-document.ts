import { type Fault, isFault } from "../../outbound/fault.ts";
import { type Fetched, type Fetcher, readCapped } from "../../outbound/fetcher.ts";
import type { MetadataContext } from "../context.ts";
import { decodeDataUri } from "./data-uri.ts";
import type { Gateway, GatewayBlocks } from "./gateway-blocks.ts";
import { gatewayOf, type IpfsLocation, parseIpfsUri } from "./ipfs-location.ts";

/** Where documents come from: what this installation holds, then gateways, then servers of third parties. */
export interface Sources {
  content: Pick<MetadataContext["content"], "resolve">;
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
  if (/^data:/i.test(text)) return withCid(decodeDataUri(text), null);
  // Some contracts return the document itself.
  if (text.startsWith("{")) return { bytes: Buffer.from(text), cid: null };
  const location = parseIpfsUri(text);
  if (location) return await readFromIpfs(sources, location, text, signal);
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
export function gatewaysFor(sources: Sources, uri: string): Gateway[] {
  const trusted = sources.gateways.map((base) => ({ base: base.replace(/\/+$/, ""), search: "", trusted: true }));
  const named = gatewayOf(uri);
  return named ? [...trusted, { ...named, trusted: false }] : trusted;
}

async function readFromIpfs(
  sources: Sources,
  location: IpfsLocation,
  uri: string,
  signal: AbortSignal,
): Promise<RawDocument | Fault> {
  const own = await sources.content.resolve(location.cid, location.path);
  if (own?.kind === "directory") return { fault: "ipfs_is_directory" };
  if (own) return withCid(await readCapped(own.stream()), own.cid);

  let last: Fault = { fault: "ipfs_not_found" };
  for (const gateway of gatewaysFor(sources, uri)) {
    const answer = await sources.blocks.read(location, gateway, signal, sources.fetcher);
    if (!isFault(answer)) return { bytes: answer.bytes, cid: location.cid };
    last = answer;
  }
  return last;
}

function withCid(answer: Fetched | Fault, cid: string | null): RawDocument | Fault {
  return isFault(answer) ? answer : { bytes: answer.bytes, cid };
}
