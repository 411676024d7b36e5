import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { base32Of, cidOf } from "./plain-multibase.ts";

/*
 * Where the bytes behind a URI are, as docs/metadata.md and the standards of URIs say; it shares no code with the product.
 * Sources: RFC 2397 (data), RFC 3986 (escapes, query, fragment), RFC 9110 (redirects), ERC-1155 ({id}).
 */

export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: Uint8Array;
}

/** All that URIs can lead to. */
export interface World {
  /** What the server answers, by path and query. */
  web: Map<string, Answer>;
  /** Files of one block by the hex digits of their CID. */
  files: Map<string, Uint8Array>;
  /** Folders likewise, by the names in them. */
  folders: Map<string, Map<string, Uint8Array>>;
  /** CIDs that this installation stores; the other files have gateways only. */
  stored: Set<string>;
}

/**
 * `copy`: the CID of our own copy. `measured`: false where nobody says how long the file is, as gateways do not. `errors`: the
 * codes that may be told, where nothing can be read.
 */
export type Found = { bytes: Uint8Array; copy: string | null; measured?: boolean } | { errors: readonly string[] };

const most = 1_048_576;
const unsupported = { errors: ["uri_unsupported"] };

/** ERC-1155: the id in a text, as 64 digits. */
export function withId(text: string, id: string | null): string {
  return id === null ? text : text.split(/\{id\}|%7bid%7d/i).join(id);
}

function unescaped(text: string): Uint8Array {
  const letters = Buffer.from(text).toString("latin1");
  return Buffer.from(
    letters.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  );
}

function fromBase64(text: string): Uint8Array | null {
  try {
    return Buffer.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), "latin1");
  } catch {
    return null;
  }
}

/** By the standard, but that `#` is a character like any other. */
function dataBytes(uri: string): Found {
  const [, head = "", body = ""] = /^data:([^,]*),(.*)$/is.exec(uri) ?? [];
  if (!uri.includes(",")) return unsupported;
  if (body.length > 3 * most) return { errors: ["too_large"] };
  const plain = unescaped(body);
  const isBase64 = /;\s*base64\s*$/i.test(head);
  const bytes = isBase64 ? (fromBase64(Buffer.from(plain).toString("latin1")) ?? new Uint8Array()) : plain;
  return bytes.length > most ? { errors: ["too_large"] } : { bytes, copy: null };
}

/** Of a document: by the standard, or as it is written, or as base 64 that nobody said. */
function dataDocument(uri: string, isDocument: (bytes: Uint8Array) => boolean): Found {
  const plain = dataBytes(uri);
  if ("errors" in plain || isDocument(plain.bytes)) return plain;
  const body = uri.slice(uri.indexOf(",") + 1);
  for (const bytes of [Buffer.from(body), fromBase64(body)])
    if (bytes && isDocument(bytes)) return { bytes, copy: null };
  return plain;
}

interface Place {
  cid: string;
  path: string;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Places on IPFS that a URI may mean, the likeliest first. */
export function placesOf(uri: string): Place[] {
  const native = /^(?:ipfs:\/*|\/?ipfs\/)(?:ipfs\/+)*(.+)$/is.exec(uri)?.[1];
  const plain = /^[^/]{40}/s.test(uri) && !/^[a-z]+:/i.test(uri) ? uri : undefined;
  const names: string[] = [];
  const own = native ?? plain;
  if (own !== undefined) names.push(own, own.split(/[?#]/, 1)[0] ?? "");
  else if (/^https?:/i.test(uri) && URL.canParse(uri)) {
    const { pathname, search, hash, hostname } = new URL(uri);
    const below = pathname.split("/ipfs/").at(-1) ?? "";
    const name = pathname.includes("/ipfs/") ? below : hostname.replace(/\.ipfs\..*$/, "") + pathname;
    names.push(name, name + search + hash);
  }
  return names.flatMap((name) => {
    const [first = "", ...rest] = name.split("/").filter((part) => part !== "");
    const cid = cidOf(decoded(first));
    if (cid === null) return [];
    return [rest.map(decoded), rest].map((parts) => ({ cid, path: parts.join("/") }));
  });
}

/** The bytes at the first of the places that is one. */
function fromIpfs(world: World, places: readonly Place[]): Found {
  for (const { cid, path } of places) {
    const folder = world.folders.get(cid);
    if (folder && path === "") return { errors: ["ipfs_is_directory"] };
    const bytes = folder ? folder.get(path) : path === "" ? world.files.get(cid) : undefined;
    if (!bytes) continue;
    if (bytes.length > most) return { errors: ["too_large"] };
    if (!world.stored.has(cid)) return { bytes, copy: null, measured: false };
    return { bytes, copy: base32Of(folder ? rawCid(bytes) : cid) };
  }
  return { errors: ["ipfs_not_found", "http_404"] };
}

/** Of a file of one block. */
export function rawCid(bytes: Uint8Array): string {
  return `01551220${createHash("sha256").update(bytes).digest("hex")}`;
}

function fromWeb(world: World, start: string): Found {
  if (!URL.canParse(start)) return { errors: ["address_refused"] };
  let url = new URL(start);
  for (let hop = 0; hop < 4; hop += 1) {
    if (url.username !== "") return { errors: ["address_refused"] };
    const answer = world.web.get(url.pathname + url.search);
    if (!/^127\.|(^|\.)localhost$/.test(url.hostname)) return { errors: ["fetch_failed", "fetch_timeout"] };
    const { status = 404, headers = {}, body: sent = new Uint8Array() } = answer ?? {};
    const body = headers["content-encoding"] === "gzip" ? gunzipSync(sent) : sent;
    const location = headers["location"];
    if (status < 300 || status > 399 || location === undefined) {
      if (status < 200 || status > 299) return { errors: [`http_${status}`] };
      return body.length > most ? { errors: ["too_large"] } : { bytes: body, copy: null };
    }
    url = new URL(location, url);
    if (!/^https?:$/.test(url.protocol)) return { errors: ["address_refused"] };
  }
  return { errors: ["too_many_redirects"] };
}

/** What a link leads to: of a document with `isDocument`, of a picture without. */
export function bytesAt(world: World, uri: string, isDocument?: (bytes: Uint8Array) => boolean): Found {
  const text = uri.trim();
  if (text === "") return { errors: ["uri_empty"] };
  if (/^data:/i.test(text)) return isDocument ? dataDocument(text, isDocument) : dataBytes(text);
  if (isDocument && text.startsWith("{")) return { bytes: Buffer.from(text), copy: null };
  if (isDocument && /^%7b/i.test(text)) return dataDocument(`data:,${text}`, isDocument);
  if (!isDocument && text.length > 2_048) return unsupported;
  const places = placesOf(text);
  if (places.length > 0) return fromIpfs(world, places);
  if (/^ar:/i.test(text)) return { errors: ["fetch_failed", "fetch_timeout", "http_400", "http_404"] };
  return /^https?:\/\//i.test(text) ? fromWeb(world, text) : unsupported;
}
