import { Readable } from "node:stream";
import type { Context } from "hono";
import { payMore } from "../admission/pay-for-work.ts";
import type { ErrorCode } from "../errors/errors.ts";
import { ServiceError } from "../errors/errors.ts";
import { exposed } from "../http/common-headers.ts";
import { matchesEtag } from "../http/etag.ts";
import type { ByteRange } from "../ipfs/car-storage.ts";
import { nok } from "../rest/answer.ts";
import type { Services } from "../services.ts";
import { causeOf } from "../telemetry/log-once.ts";
import type { FastFiles } from "./fast-files.ts";
import type { Wanted } from "./gateway-format.ts";

/** Up to this size an answer is loaded into memory before it is sent. */
const wholeBytes = 1_048_576;
/** Milliseconds of the process per chunk of a longer answer and per byte, for reading, hashing and sending. */
const [chunkMs, byteMs] = [0.2, 0.5 / 1_048_576];

const forEver = "public, max-age=29030400, immutable";
/** The bytes behind a listing never change, but the listing's page may. */
export const forAWeek = "public, max-age=604800";

/** Headers of every answer. Without `Vary` a cache could give a CAR to a client that asks for the picture. */
export const always = {
  Vary: "Accept",
  "X-Content-Type-Options": "nosniff",
  "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:",
  "Cross-Origin-Resource-Policy": "cross-origin",
  // Lower case like the common header, because the fast path merges both by name.
  "access-control-expose-headers": [
    ...[...exposed, "Content-Range", "Content-Length", "Content-Location"],
    ...["X-Ipfs-Path", "X-Ipfs-Roots"],
  ].join(","),
};

/** More than any realistic path has; the header's size must not be up to the client. */
const mostRoots = 64;

/** What is answered, once that is decided. */
export interface Representation {
  etag: string;
  type: string;
  /** Null: unknown until it is made. */
  size: number | null;
  disposition: string | null;
  roots: readonly string[];
  headers?: Record<string, string>;
  content: Uint8Array | ((range?: ByteRange) => AsyncIterable<Uint8Array>);
}

export interface GatewayRequest {
  c: Context;
  services: Services;
  files: FastFiles;
  /** As written in the path. */
  cid: string;
  /** In canonical form. */
  root: string;
  path: readonly string[];
  /** Not Hono's path: a non-strict app removes the trailing slash. */
  url: URL;
  query: URLSearchParams;
  wanted: Wanted;
}

/** @param keep whether the answer does not depend on the client's preferences, so that the fast path may repeat it. */
export async function respond(request: GatewayRequest, what: Representation, { keep = false } = {}): Promise<Response> {
  const { c, services, files } = request;
  const { etag, size } = what;
  const headers: Record<string, string> = {
    ETag: etag,
    "Cache-Control": forEver,
    "Content-Type": what.type,
    "Accept-Ranges": size === null ? "none" : "bytes",
    ...(what.disposition === null ? {} : { "Content-Disposition": what.disposition }),
    ...ipfsHeaders(request, what.roots),
    ...what.headers,
  };
  if (matchesEtag(c.req.header("if-none-match"), etag)) return unchanged(c, headers);
  const ifRange = c.req.header("if-range");
  const isRange = size !== null && (ifRange === undefined || ifRange === etag);
  const range = isRange ? parseRange(c.req.header("range"), size) : null;
  if (range === "unsatisfiable") {
    c.header("Content-Range", `bytes */${size}`);
    return refuse(c, 416, "the range lies outside the file");
  }
  const length = range?.length ?? size;
  if (length !== null) headers["Content-Length"] = String(length);
  // Starts reading before any success header is set: an unreadable file must not look like a readable one.
  const isEmpty = c.req.method === "HEAD" || length === 0;
  const body = isEmpty ? null : await beginBody(what.content, range, length);
  for (const [name, value] of Object.entries(headers)) c.header(name, value);
  if (range) c.header("Content-Range", `bytes ${range.offset}-${range.offset + range.length - 1}/${size}`);
  const status = range ? 206 : 200;
  if (body === null) return c.body(null, status);
  if (!(body instanceof Uint8Array)) return c.body(streamed(c, services, body), status);
  if (!range && keep) files.keep(c.env.incoming, { ...always, ...headers }, body);
  return c.body(body, status);
}

/**
 * Parses a Range header with one range.
 *
 * @returns null to send the whole file: no header, several ranges, or one that cannot be parsed (RFC 9110 lets a server
 * ignore it); "unsatisfiable" for a range that starts past the end.
 */
function parseRange(header: string | undefined, size: number): ByteRange | "unsatisfiable" | null {
  const match = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i.exec(header ?? "");
  if (!match) return null;
  const [, first = "", last = ""] = match;
  if (first === "") {
    if (last === "") return null;
    const length = Math.min(Number(last), size);
    return length === 0 ? "unsatisfiable" : { offset: size - length, length };
  }
  const offset = Number(first);
  const end = last === "" ? size - 1 : Math.min(Number(last), size - 1);
  if (last !== "" && Number(last) < offset) return null;
  return offset >= size ? "unsatisfiable" : { offset, length: end - offset + 1 };
}

/** Small answers are sent as one piece: a stream costs several times as much as the file itself. */
async function beginBody(
  content: Representation["content"],
  range: ByteRange | null,
  length: number | null,
): Promise<Uint8Array<ArrayBuffer> | AsyncIterable<Uint8Array>> {
  if (content instanceof Uint8Array) {
    const part = range ? content.subarray(range.offset, range.offset + range.length) : content;
    return part as Uint8Array<ArrayBuffer>;
  }
  const chunks = await begun(content(range ?? undefined));
  return length !== null && length <= wholeBytes ? await collect(chunks, length) : chunks;
}

/** The URL of exactly this representation, so that caches that ignore `Vary` keep it apart from the others. */
export function contentLocation({ url, query, wanted }: GatewayRequest): Record<string, string> {
  const members = new URLSearchParams(query);
  for (const [name, value] of Object.entries(wanted.location)) members.set(name, value);
  return { "Content-Location": `${url.pathname}?${members}` };
}

function ipfsHeaders({ url, cid, path }: GatewayRequest, roots: readonly string[]): Record<string, string> {
  const slash = url.pathname.endsWith("/") ? "/" : "";
  const whole = `/ipfs/${[cid, ...path].join("/")}${slash}`;
  return {
    // A header cannot contain any other characters.
    ...(/^[\x20-\x7e]+$/.test(whole) ? { "X-Ipfs-Path": whole } : {}),
    ...(roots.length === 0 || roots.length > mostRoots ? {} : { "X-Ipfs-Roots": roots.join(",") }),
  };
}

export function unchanged(c: Context, headers: Record<string, string>): Response {
  for (const name of ["ETag", "Cache-Control", "Content-Location"]) if (headers[name]) c.header(name, headers[name]);
  return c.body(null, 304);
}

async function collect(chunks: AsyncIterable<Uint8Array>, length: number): Promise<Uint8Array<ArrayBuffer>> {
  const read: Uint8Array[] = [];
  for await (const chunk of chunks) read.push(chunk);
  const [first] = read;
  return (read.length === 1 && first ? first : Buffer.concat(read, length)) as Uint8Array<ArrayBuffer>;
}

/**
 * A body that may turn out to be unreadable after its headers were sent. The connection is aborted then: a merely short
 * answer, or one whose chunks end in order, would be taken for the whole.
 */
function streamed(c: Context, services: Services, chunks: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const watched = (async function* () {
    try {
      for await (const chunk of chunks) {
        yield chunk;
        await payMore(services, c.env?.incoming, chunkMs + chunk.length * byteMs);
      }
    } catch (err) {
      // The client has hung up, which also ends the reading with an error.
      if (c.env.outgoing.destroyed) return;
      const isAskedTooMuch = err instanceof ServiceError && err.code === "file_too_large";
      if (!isAskedTooMuch)
        services.logOnce.write(
          ...(["error", `broke off ${causeOf(err)}`] as const),
          { err, requestId: c.get("requestId"), path: c.req.path },
          "an answer broke off: content cannot be read",
        );
      c.env.outgoing.destroy();
    }
  })();
  return Readable.toWeb(Readable.from(watched, { objectMode: false })) as ReadableStream<Uint8Array>;
}

/** The same chunks with the first one already read: unreadable content fails while an error can still be sent. */
async function begun(chunks: AsyncIterable<Uint8Array>): Promise<AsyncIterable<Uint8Array>> {
  const iterator = chunks[Symbol.asyncIterator]();
  let next = await iterator.next();
  return (async function* () {
    try {
      for (; !next.done; next = await iterator.next()) yield next.value;
    } finally {
      await iterator.return?.();
    }
  })();
}

const codes = {
  400: "value_error",
  404: "not_found",
  405: "method_not_allowed",
  406: "value_error",
  416: "value_error",
} as const satisfies Record<number, ErrorCode>;

/** An answer without content: a line of text, or the error of the other APIs for those who ask for JSON, with the gateway's own status. */
export function refuse(c: Context, status: keyof typeof codes, message: string): Response {
  c.header("Cache-Control", "no-store");
  if (!/\bjson\b/i.test(c.req.header("accept") ?? "")) {
    c.header("Content-Type", "text/plain; charset=utf-8");
    return c.body(`${message}\n`, status);
  }
  return nok(c, new ServiceError(codes[status], message), c.get("requestId"), status);
}
