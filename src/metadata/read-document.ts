import type { Services } from "../services.ts";
import { decodeDataUri } from "./data-uri.ts";
import { type Fault, isFault } from "./fault.ts";
import { type Fetched, type Fetcher, readCapped } from "./fetcher.ts";
import { gatewayPath, type IpfsLocation, parseIpfsUri } from "./ipfs-location.ts";
import { matchesCid } from "./match-cid.ts";

/** Where documents come from: what this installation holds, then gateways, then strangers' servers. */
export interface Sources {
  content: Pick<Services["content"], "resolve">;
  /** Bases of gateways the operator trusts, with their `/ipfs` part. */
  gateways: readonly string[];
  fetcher: Fetcher;
}

export interface RawDocument extends Fetched {
  /** Null when it was not read from IPFS. */
  cid: string | null;
}

/** Reads the bytes behind a URI that a contract returned. */
export async function readDocument(sources: Sources, uri: string, signal: AbortSignal): Promise<RawDocument | Fault> {
  const text = uri.trim();
  if (text === "") return { fault: "uri_empty" };
  if (/^data:/i.test(text)) return withCid(decodeDataUri(text), null);
  // Some contracts return the document itself.
  if (text.startsWith("{")) return { bytes: Buffer.from(text), cid: null };
  const location = parseIpfsUri(text);
  if (location) return await readFromIpfs(sources, location, text, signal);
  const arweave = /^ar:\/\/(.+)$/is.exec(text);
  const url = arweave ? `https://arweave.net/${arweave[1]}` : text;
  if (!/^https?:\/\//i.test(url)) return { fault: "uri_unsupported" };
  return withCid(await sources.fetcher.fetch(url, { signal }), null);
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
  const attempts = sources.gateways.map((gateway) => ({
    url: `${gateway.replace(/\/+$/, "")}/${gatewayPath(location)}`,
    trusted: true,
  }));
  // The gateway that the contract itself names is a stranger like any other.
  if (/^https?:/i.test(uri)) attempts.push({ url: uri, trusted: false });
  for (const { url, trusted } of attempts) {
    const answer = await sources.fetcher.fetch(url, { trusted, signal });
    if (isFault(answer)) last = answer;
    else if (await matchesCid(location, answer.bytes)) return { bytes: answer.bytes, cid: location.cid };
    else last = { fault: "cid_mismatch" };
  }
  return last;
}

function withCid(answer: Fetched | Fault, cid: string | null): RawDocument | Fault {
  return isFault(answer) ? answer : { bytes: answer.bytes, cid };
}
