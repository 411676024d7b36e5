import { CID } from "multiformats/cid";

/** Content on IPFS: a CID and the path below it, in plain segments. */
export interface IpfsLocation {
  cid: string;
  path: string[];
}

/**
 * Finds the IPFS content that a URI names, through any gateway: `ipfs://CID/path`,
 * `ipfs://ipfs/CID`, `https://any.host/ipfs/CID/path`, `https://CID.ipfs.any.host/path`, or a bare CID.
 *
 * @returns null for a URI that names none.
 */
export function parseIpfsUri(uri: string): IpfsLocation | null {
  // People write one slash or three, and the word twice.
  const native = /^ipfs:\/*(?:ipfs\/+)*(.+)$/is.exec(uri) ?? /^\/?ipfs\/(.+)$/s.exec(uri);
  if (native?.[1]) return locate(native[1].replace(/[?#].*$/s, ""));
  if (/^https?:/i.test(uri) && URL.canParse(uri)) {
    const { hostname, pathname } = new URL(uri);
    const inPath = /\/ipfs\/(?:ipfs\/)*(.+)$/.exec(pathname);
    if (inPath?.[1]) return locate(inPath[1]);
    const inHost = /^([a-z0-9]+)\.ipfs\./.exec(hostname);
    return inHost?.[1] ? locate(`${inHost[1]}${pathname}`) : null;
  }
  return locate(uri);
}

function locate(text: string): IpfsLocation | null {
  const [first = "", ...rest] = text.split("/").filter(Boolean);
  const cid = parseCid(first);
  return cid && { cid: cid.toString(), path: rest.map(decodeSegment) };
}

/** Version 1 always: stores and gateways then see one spelling. */
function parseCid(text: string): CID | null {
  if (!/^(Qm|b|z|f|k)[a-zA-Z0-9]{40,200}$/.test(text)) return null;
  try {
    return CID.parse(text).toV1();
  } catch {
    return null;
  }
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

/** Where the gateway that a URL goes through has its `/ipfs`; null for a URI that names none. */
export function gatewayOf(uri: string): { base: string; search: string } | null {
  if (!/^https?:/i.test(uri) || !URL.canParse(uri)) return null;
  const { protocol, host, pathname, search } = new URL(uri);
  const prefix = /^(.*?\/ipfs)\//.exec(pathname)?.[1];
  const parent = /^[a-z0-9]+\.ipfs\.(.+)$/.exec(host)?.[1];
  if (parent) return { base: `${protocol}//${parent}/ipfs`, search };
  return prefix === undefined ? null : { base: `${protocol}//${host}${prefix}`, search };
}
