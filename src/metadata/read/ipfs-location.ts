import { parseCid } from "../../ipfs/parse-cid.ts";

/** Content on IPFS: a CID and the path below it, in plain segments. */
export interface IpfsLocation {
  cid: string;
  path: string[];
}

/** The possible meanings of a URI: the first one that exists counts. */
export type IpfsLocations = readonly [IpfsLocation, ...IpfsLocation[]];

/** Without a prefix that marks it, a shorter text is not taken for a CID. */
const shortestBare = 40;

/**
 * Finds the IPFS content to which a URI refers, through any gateway: `ipfs://CID/path`, `ipfs://ipfs/CID`,
 * `https://any.host/ipfs/CID/path`, `https://CID.ipfs.any.host/path`, or a bare CID.
 * Names may contain `#`, `?` and `%` literally. For `ipfs:` the literal name is tried first, then the part before a `?`
 * or `#`; for a web URL, where these begin a query or a fragment, the other way round.
 *
 * @returns null for a URI without IPFS content.
 */
export function parseIpfsUri(uri: string): IpfsLocations | null {
  // People write one slash or three, and `ipfs` twice.
  const native = /^ipfs:\/*(?:ipfs\/+)*(.+)$/is.exec(uri) ?? /^\/?ipfs\/(.+)$/s.exec(uri);
  if (native?.[1]) return locations([native[1], cut(native[1])]);
  if (/^https?:/i.test(uri) && URL.canParse(uri)) {
    const { hostname, pathname, search, hash } = new URL(uri);
    const inPath = /\/ipfs\/(?:ipfs\/)*(.+)$/.exec(pathname);
    if (inPath?.[1]) return locations([inPath[1], inPath[1] + search + hash]);
    const inHost = /^([a-z0-9]+)\.ipfs\./.exec(hostname);
    return inHost?.[1] ? locations([inHost[1] + pathname, inHost[1] + pathname + search + hash]) : null;
  }
  return uri.split("/", 1).join().length < shortestBare ? null : locations([uri, cut(uri)]);
}

function cut(text: string): string {
  return text.replace(/[?#].*$/s, "");
}

/** Each text with its escapes decoded, and then literally. */
function locations(texts: readonly string[]): IpfsLocations | null {
  const found = new Map<string, IpfsLocation>();
  for (const text of texts) {
    for (const read of [decodeSegment, (segment: string) => segment]) {
      const [first = "", ...rest] = text.split("/").filter(Boolean);
      const cid = parseCid(decodeSegment(first));
      const location = cid && { cid: cid.toString(), path: rest.map(read) };
      const key = location && JSON.stringify(location);
      if (key && !found.has(key)) found.set(key, location);
    }
  }
  const [first, ...others] = found.values();
  return first ? [first, ...others] : null;
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** The path of a gateway request for this content, without a leading slash. */
export function gatewayPath({ cid, path }: IpfsLocation): string {
  return [cid, ...path.map(encodeURIComponent)].join("/");
}

/** The gateway of a URL, up to its `/ipfs`; null for a URI without a gateway. */
export function gatewayOf(uri: string): { base: string; search: string } | null {
  if (!/^https?:/i.test(uri) || !URL.canParse(uri)) return null;
  const { protocol, host, pathname, search } = new URL(uri);
  const prefix = /^(.*?\/ipfs)\//.exec(pathname)?.[1];
  const parent = /^[a-z0-9]+\.ipfs\.(.+)$/.exec(host)?.[1];
  if (parent) return { base: `${protocol}//${parent}/ipfs`, search };
  return prefix === undefined ? null : { base: `${protocol}//${host}${prefix}`, search };
}
