import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { type Context, Hono } from "hono";
import { parseRange } from "../http/byte-range.ts";
import { matchesEtag } from "../http/etag.ts";
import type { Services } from "../services.ts";
import { causeOf } from "../telemetry/log-once.ts";
import {
  type DagScope,
  type ReadContent,
  type ReadFile,
  readBlock,
  readCar,
  readContent,
} from "../uploads/read-content.ts";
import { FastFiles } from "./fast-files.ts";
import { refuse } from "./gateway-refusal.ts";
import { listingPage } from "./listing-page.ts";

/** Up to this size an answer is in memory before it is sent. */
const wholeBytes = 1_048_576;

const forEver = "public, max-age=31536000, immutable";
/** The bytes behind a listing never change, but its page may. */
const forAWeek = "public, max-age=604800";
const rawType = "application/vnd.ipld.raw";
const carType = "application/vnd.ipld.car";
const scopes = ["all", "entity", "block"] as const satisfies readonly DagScope[];

const indexPolicy =
  "sandbox; default-src 'none'; style-src 'unsafe-inline' 'self'; img-src data: 'self'; media-src 'self'; font-src 'self'";

/** Types that a browser shows without running anything; everything else is offered as a download. */
const shown = /^(image\/(?!svg)|audio\/|video\/|application\/json$|text\/plain)/;

/** On every answer. */
const always = {
  "X-Content-Type-Options": "nosniff",
  "Content-Security-Policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:",
  "Cross-Origin-Resource-Policy": "cross-origin",
};

/**
 * GET and HEAD of `/:cid` and `/:cid/<path>`: uploaded content, public by its CID.
 *
 * It is content of third parties under our name: nothing may run scripts, and no type is guessed by the browser.
 */
export function createGateway(services: Services, files = new FastFiles()): Hono {
  const app = new Hono({ strict: false });
  app.use(async (c, next) => {
    for (const [name, value] of Object.entries(always)) c.header(name, value);
    c.header("Access-Control-Allow-Origin", "*");
    await next();
  });
  // Hono answers HEAD by running GET and dropping the body.
  app.on("GET", ["/:cid", "/:cid/*"], async (c) => {
    const location = parsePath(c.req.path);
    if (!location) return refuse(c, 400, "this path is not well-formed");
    const { cid, path } = location;
    const wantsRaw = c.req.query("format") === "raw" || c.req.header("accept") === rawType;
    if (wantsRaw && path.length === 0) return await answerBlock(c, services, cid);
    if (c.req.query("format") === "car" || acceptsCar(c)) return await answerCar(c, services, location);
    const content = await readContent(services, cid, path);
    if (!content) return refuse(c, 404, "this content is not here");
    if (wantsRaw) return await answerBlock(c, services, content.cid);
    if (content.kind === "file") return await answerFile(c, services.logOnce, content, { files });
    return content.index
      ? await answerIndex(c, services.logOnce, content.index)
      : await answerListing(c, content, location);
  });
  app.all("*", (c) => {
    c.header("Allow", "GET, HEAD");
    return refuse(c, 405, "GET and HEAD are served here");
  });
  return app;
}

interface GatewayPath {
  cid: string;
  path: string[];
}

/** Segments of `…/ipfs/<cid>/<path>`, decoded one by one: an encoded slash stays inside its segment. */
function parsePath(requestPath: string): GatewayPath | null {
  try {
    const segments = requestPath.split("/").filter(Boolean).map(decodeURIComponent);
    const [, cid, ...path] = segments;
    return cid === undefined ? null : { cid, path };
  } catch {
    return null;
  }
}

async function answerFile(
  c: Context,
  logOnce: Services["logOnce"],
  file: ReadFile,
  { isPage = false, files }: { isPage?: boolean; files?: FastFiles } = {},
): Promise<Response> {
  const etag = `"${file.cid}"`;
  if (matchesEtag(c.req.header("if-none-match"), etag)) return unchanged(c, etag, forEver);
  const ifRange = c.req.header("if-range");
  const range = ifRange === undefined || ifRange === etag ? parseRange(c.req.header("range"), file.size) : null;
  if (range === "unsatisfiable") {
    c.header("Content-Range", `bytes */${file.size}`);
    return refuse(c, 416, "the range lies outside the file");
  }
  const { offset, length } = range ?? { offset: 0, length: file.size };
  // Before any header of success is set: a file that cannot be read must not look like one that can.
  const chunks = c.req.method === "HEAD" || length === 0 ? null : await begun(file.stream({ offset, length }));
  // Whole answers leave as one piece: streams cost several times what the file itself does.
  const bytes = chunks && length <= wholeBytes ? await collect(chunks, length) : null;
  const headers = {
    ETag: etag,
    "Cache-Control": forEver,
    "Accept-Ranges": "bytes",
    "Content-Type": withCharset(file.contentType),
    "Content-Length": String(length),
    ...(isPage || shown.test(file.contentType) ? {} : { "Content-Disposition": "attachment" }),
  };
  for (const [name, value] of Object.entries(headers)) c.header(name, value);
  if (range) c.header("Content-Range", `bytes ${offset}-${offset + length - 1}/${file.size}`);
  const status = range ? 206 : 200;
  if (chunks === null) return c.body(null, status);
  if (bytes) {
    if (!range) files?.keep(c.env.incoming, { ...always, ...headers }, bytes);
    return c.body(bytes, status);
  }
  return c.body(streamed(c, logOnce, chunks), status);
}

/** The page that a directory brings: shown, in a sandbox without scripts and forms, with pictures and styles from beside it. */
async function answerIndex(c: Context, logOnce: Services["logOnce"], index: ReadFile): Promise<Response> {
  // Not Hono's path: an app that is not strict takes the slash off, and the redirect would lead to itself.
  const { pathname, search } = new URL(c.req.url);
  // Links in it are relative to the directory.
  if (!pathname.endsWith("/")) {
    c.header("Cache-Control", forAWeek);
    return c.redirect(`${pathname}/${search}`, 301);
  }
  c.header("Content-Security-Policy", indexPolicy);
  return await answerFile(c, logOnce, { ...index, contentType: "text/html" }, { isPage: true });
}

async function answerListing(
  c: Context,
  directory: Exclude<ReadContent, ReadFile>,
  { cid, path }: GatewayPath,
): Promise<Response> {
  const etag = `"listing-${directory.cid}"`;
  if (matchesEtag(c.req.header("if-none-match"), etag)) return unchanged(c, etag, forAWeek);
  const base = `/ipfs/${[cid, ...path].map(encodeURIComponent).join("/")}`;
  const entries = await directory.entries();
  c.header("ETag", etag);
  c.header("Cache-Control", forAWeek);
  return c.html(listingPage(base, directory.cid, entries));
}

async function answerBlock(c: Context, services: Services, cid: string): Promise<Response> {
  const block = await readBlock(services, cid);
  if (!block) return refuse(c, 404, "this block is not here");
  const etag = `"${cid}.raw"`;
  if (matchesEtag(c.req.header("if-none-match"), etag)) return unchanged(c, etag, forEver);
  c.header("ETag", etag);
  c.header("Cache-Control", forEver);
  c.header("Content-Type", rawType);
  c.header("Content-Disposition", `attachment; filename="${cid}.bin"`);
  return c.body(new Uint8Array(block));
}

/** The trustless gateway's CAR: depth first, each block once; `dag-scope` is all, entity or block. */
async function answerCar(c: Context, services: Services, { cid, path }: GatewayPath): Promise<Response> {
  const scope = scopes.find((word) => word === (c.req.query("dag-scope") ?? "all"));
  if (!scope) return refuse(c, 400, `dag-scope is one of ${scopes.join(", ")}`);
  const asked = createHash("sha256")
    .update(JSON.stringify([path, scope]))
    .digest("hex")
    .slice(0, 16);
  const etag = `"${cid}.car.${asked}"`;
  if (matchesEtag(c.req.header("if-none-match"), etag)) return unchanged(c, etag, forEver);
  const car = await readCar(services, cid, path, scope);
  if (!car) return refuse(c, 404, "this content is not here");
  const chunks = c.req.method === "HEAD" ? null : await begun(car);
  c.header("ETag", etag);
  c.header("Cache-Control", forEver);
  c.header("Content-Type", `${carType}; version=1; order=dfs; dups=n`);
  c.header("Content-Disposition", `attachment; filename="${path.length === 0 ? cid : "content"}.car"`);
  c.header("Accept-Ranges", "none");
  if (chunks === null) return c.body(null);
  return c.body(streamed(c, services.logOnce, chunks));
}

function acceptsCar(c: Context): boolean {
  return (c.req.header("accept") ?? "").split(",").some((item) => item.trim().startsWith(carType));
}

function unchanged(c: Context, etag: string, cacheControl: string): Response {
  c.header("ETag", etag);
  c.header("Cache-Control", cacheControl);
  return c.body(null, 304);
}

function withCharset(type: string): string {
  return /^text\/[^;]*$/.test(type) ? `${type}; charset=utf-8` : type;
}

async function collect(chunks: AsyncIterable<Uint8Array>, length: number): Promise<Uint8Array<ArrayBuffer>> {
  const read: Uint8Array[] = [];
  for await (const chunk of chunks) read.push(chunk);
  const [first] = read;
  return (read.length === 1 && first ? first : Buffer.concat(read, length)) as Uint8Array<ArrayBuffer>;
}

/**
 * A body of which a part may turn out to be unreadable when its headers are sent already. The connection ends then:
 * an answer that is merely short, or that closes its chunks in order, would be taken for the whole.
 */
function streamed(
  c: Context,
  logOnce: Services["logOnce"],
  chunks: AsyncIterable<Uint8Array>,
): ReadableStream<Uint8Array> {
  const watched = (async function* () {
    try {
      yield* chunks;
    } catch (err) {
      logOnce.write(
        ...(["error", `broke off ${causeOf(err)}`] as const),
        { err, requestId: c.get("requestId"), path: c.req.path },
        "an answer broke off: content cannot be read",
      );
      c.env.outgoing.destroy();
    }
  })();
  return Readable.toWeb(Readable.from(watched, { objectMode: false })) as ReadableStream<Uint8Array>;
}

/** The same chunks, the first of them read: content that cannot be read fails while there is a status to tell it. */
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
