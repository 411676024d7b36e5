import { createHash } from "node:crypto";
import { Hono } from "hono";
import { payMore } from "../admission/pay-for-work.ts";
import { matchesEtag } from "../http/etag.ts";
import type { StoredCarFile } from "../ipfs/content-store.ts";
import type { DocumentFormat } from "../ipfs/documents.ts";
import type { Services } from "../services.ts";
import { convertContent, type ReadContent, type ReadFile, readCid, readContent } from "../uploads/read-content.ts";
import { FastFiles } from "./fast-files.ts";
import {
  always,
  contentLocation,
  forAWeek,
  type GatewayRequest,
  type Representation,
  refuse,
  respond,
  unchanged,
} from "./gateway-answer.ts";
import { carType, chooseBlocks, chooseFormat, documentTypes, rawType } from "./gateway-format.ts";
import { documentPage, listedEntries, listingPage, pagesVersion } from "./listing-page.ts";

/** Milliseconds for a listing, converting a block, a block on the path of a CAR, and starting a stored CAR. */
const [listingMs, convertingMs, blockMs, storedCarMs] = [20, 5, 0.2, 10];

const indexPolicy =
  "sandbox; default-src 'none'; style-src 'unsafe-inline' 'self'; img-src data: 'self'; media-src 'self'; font-src 'self'";

const onEveryAnswer = Object.entries({ ...always, "Access-Control-Allow-Origin": "*" });

/** Types that a browser shows without running anything; everything else is offered as a download. */
const shown = /^(image\/(?!svg)|audio\/|video\/|application\/(vnd\.ipld\.dag-)?json$|text\/plain)/;

/**
 * GET and HEAD of `/:cid` and `/:cid/<path>`: uploaded content, public by its CID.
 *
 * It is third-party content under our name: nothing may run scripts, and the browser must not guess types. Source:
 * specs.ipfs.tech, Path Gateway and Trustless Gateway; docs/gateway.md lists what is left out.
 */
export function createGateway(services: Services, files = new FastFiles()): Hono {
  const app = new Hono({ strict: false });
  app.use(async (c, next) => {
    for (const [name, value] of onEveryAnswer) c.header(name, value);
    await next();
  });
  // Hono answers HEAD by running GET and dropping the body.
  app.on("GET", ["/:cid", "/:cid/*"], async (c) => {
    if (c.req.header("service-worker") !== undefined) return refuse(c, 400, "no scripts run here, nor service workers");
    const location = parsePath(c.req.path);
    if (!location) return refuse(c, 400, "this path is not well-formed");
    const { cid, path } = location;
    const read = readCid(cid);
    if (!read) return refuse(c, 400, "this is no CID");
    const url = new URL(c.req.url);
    const { searchParams: query } = url;
    const wanted = chooseFormat(query, c.req.header("accept"));
    if ("status" in wanted) return refuse(c, wanted.status, wanted.message);
    return await answer({ c, services, files, cid, root: read.cid, path, url, query, wanted }, read.isReadable);
  });
  app.all("*", (c) => {
    if (["GET", "HEAD"].includes(c.req.method)) return refuse(c, 400, "/ipfs/<cid>/<path> is wanted");
    c.header("Allow", "GET, HEAD");
    return refuse(c, 405, "GET and HEAD are served here");
  });
  return app;
}

async function answer(request: GatewayRequest, isReadable: boolean): Promise<Response> {
  const { c, services, cid, root, path, wanted } = request;
  const onlyHere = /\bonly-if-cached\b/i.test(c.req.header("cache-control") ?? "");
  if (onlyHere && (await services.content.blockSize(cid)) === null) {
    c.header("Cache-Control", "no-store");
    return c.body(null, 412);
  }
  if (wanted.format === "raw" && path.length === 0) return await answerBlock(request, root, []);
  if (wanted.format === "car") return await answerCar(request);
  if (!isReadable) return refuse(c, 400, "this codec is not read here; format=raw has the block");
  const content = await readContent(services, cid, path, onlyHere);
  if (!content) return refuse(c, 404, `/ipfs/${[cid, ...path].join("/")} is not here`);
  if (wanted.format === "raw") return await answerBlock(request, content.cid, content.roots);
  if (content.kind === "file" && content.isDocument) return await answerDocument(request, content);
  if (wanted.format?.startsWith("dag-") || (wanted.format && content.kind === "directory"))
    return await answerConverted(request, content, wanted.format as DocumentFormat);
  if (content.kind === "file") return await answerFile(request, content);
  const { pathname, search } = request.url;
  // The page's links are relative to the directory.
  if (!pathname.endsWith("/")) {
    c.header("Cache-Control", forAWeek);
    return c.redirect(`${pathname}/${search}`, 301);
  }
  return content.index ? await answerIndex(request, content, content.index) : await answerListing(request, content);
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

async function answerFile(request: GatewayRequest, file: ReadFile): Promise<Response> {
  const representation: Representation = {
    etag: `"${file.cid}"`,
    type: withCharset(file.contentType),
    size: file.size,
    disposition: contentDisposition(request.query, { attachment: !shown.test(file.contentType) }),
    roots: file.roots,
    content: file.stream,
  };
  return await respond(request, representation, { keep: true });
}

/** A directory's own index page, in a sandbox without scripts and forms, with the directory's pictures and styles. */
async function answerIndex(request: GatewayRequest, directory: ReadContent, index: ReadFile): Promise<Response> {
  return await respond(request, {
    etag: `"${directory.cid}"`,
    type: "text/html; charset=utf-8",
    size: index.size,
    disposition: contentDisposition(request.query, {}),
    roots: directory.roots,
    headers: { "Content-Security-Policy": indexPolicy },
    content: index.stream,
  });
}

async function answerListing(request: GatewayRequest, directory: Exclude<ReadContent, ReadFile>): Promise<Response> {
  const { cid, path, c, services } = request;
  const etag = `"DirIndex-${pagesVersion}_CID-${directory.cid}"`;
  // Checked before the directory's names are read.
  if (matchesEtag(c.req.header("if-none-match"), etag)) return unchanged(c, { ETag: etag, "Cache-Control": forAWeek });
  const base = `/ipfs/${[cid, ...path].map(encodeURIComponent).join("/")}`;
  await payMore(services, c.env?.incoming, listingMs);
  const { entries, count } = await directory.firstEntries(listedEntries);
  const page = Buffer.from(listingPage(base, directory.cid, entries, count));
  return await respond(request, pageOf(request, page, etag, directory.roots));
}

/** A block that is a document: as it is, in the requested format, or as a page. */
async function answerDocument(request: GatewayRequest, file: ReadFile): Promise<Response> {
  const { format, html } = request.wanted;
  if (format) return await answerConverted(request, file, format as DocumentFormat);
  if (html && file.contentType.startsWith("application/vnd.ipld.dag-")) {
    const etag = `"DagIndex-${pagesVersion}_CID-${file.cid}"`;
    return await respond(request, pageOf(request, Buffer.from(documentPage(file.cid)), etag, file.roots));
  }
  const { cid, size, stream: content, roots, contentType } = file;
  const shape = documentShape(request, cid, contentType);
  return await respond(request, { etag: `"${cid}"`, size, content, roots, ...shape });
}

async function answerConverted(
  request: GatewayRequest,
  { cid, roots }: ReadContent,
  format: DocumentFormat,
): Promise<Response> {
  const { c, services } = request;
  await payMore(services, c.env?.incoming, convertingMs);
  const bytes = await convertContent(services, cid, format);
  if (!bytes) return refuse(c, 404, "this block is not here");
  if (bytes === "too_large") return refuse(c, 406, "a block of this size is not converted; format=raw has it");
  if (bytes === "invalid") return refuse(c, 400, "this block is not what its codec says, or has no such form");
  return await respond(request, {
    etag: `"${cid}.${format}"`,
    size: bytes.length,
    roots,
    headers: contentLocation(request),
    content: bytes,
    ...documentShape(request, cid, documentTypes[format]),
  });
}

function documentShape({ query }: GatewayRequest, cid: string, type: string) {
  const isJson = type.endsWith("json");
  const name = `${cid}.${isJson ? "json" : "cbor"}`;
  return { type, disposition: contentDisposition(query, { attachment: !isJson, name }) };
}

async function answerBlock(request: GatewayRequest, cid: string, roots: readonly string[]): Promise<Response> {
  const { c, services, query } = request;
  const block = c.req.method === "HEAD" ? null : await services.content.readBlock(cid);
  const size = block?.length ?? (await services.content.blockSize(cid));
  if (size === null) return refuse(c, 404, "this block is not here");
  return await respond(request, {
    etag: `"${cid}.raw"`,
    type: rawType,
    size,
    disposition: contentDisposition(query, { attachment: true, name: `${cid}.bin` }),
    roots: roots.length > 0 ? roots : [cid],
    headers: contentLocation(request),
    content: block ?? new Uint8Array(),
  });
}

/** The trustless gateway's CAR, depth first. */
async function answerCar(request: GatewayRequest): Promise<Response> {
  const { c, services, path, root, query, wanted } = request;
  const shape = chooseBlocks(query);
  if ("status" in shape) return refuse(c, shape.status, shape.message);
  const isWhole = path.length === 0 && shape.scope === "all" && !wanted.dups && !wanted.depthFirst;
  const stored = isWhole ? await services.content.findStoredCar(root) : null;
  if (stored) return await answerStoredCar(request, stored);
  const pay = async (blocks: number) => await payMore(services, c.env?.incoming, blocks * blockMs);
  const car = await services.content.exportCar(root, path, { ...shape, dups: wanted.dups, pay });
  if (!car) return refuse(c, 404, `/ipfs/${[request.cid, ...path].join("/")} is not here`);
  if (car === "outside") return refuse(c, 400, "the file has none of these bytes");
  const asked = createHash("sha256")
    .update(JSON.stringify([path, shape, wanted.dups]))
    .digest("hex")
    .slice(0, 16);
  return await respond(request, {
    etag: `"${root}.car.${asked}"`,
    type: `${carType}; version=1; order=dfs; dups=${wanted.dups ? "y" : "n"}`,
    size: null,
    disposition: contentDisposition(query, { attachment: true, name: `${root}.car` }),
    roots: path.length === 0 ? [root] : [],
    headers: contentLocation(request),
    content: () => car,
  });
}

/** All content of a root with very many blocks: the CAR file in which it is stored. */
async function answerStoredCar(request: GatewayRequest, { file, size, stream }: StoredCarFile): Promise<Response> {
  const { c, services, root, query } = request;
  await payMore(services, c.env?.incoming, storedCarMs);
  return await respond(request, {
    // The same content may be stored again in another order.
    etag: `"${root}.car.${file}"`,
    type: `${carType}; version=1; order=unk; dups=n`,
    size,
    disposition: contentDisposition(query, { attachment: true, name: `${root}.car` }),
    roots: [root],
    headers: contentLocation(request),
    content: stream,
  });
}

function pageOf({ query }: GatewayRequest, page: Uint8Array, etag: string, roots: readonly string[]): Representation {
  return {
    etag,
    type: "text/html; charset=utf-8",
    size: page.length,
    disposition: contentDisposition(query, {}),
    roots,
    headers: { "Cache-Control": forAWeek },
    content: page,
  };
}

function withCharset(type: string): string {
  return /^text\/[^;]*$/.test(type) ? `${type}; charset=utf-8` : type;
}

const longestName = 255;

interface Defaults {
  /** It must be a download, whatever the query says. */
  attachment?: boolean;
  name?: string;
}

/** The header for `?download=true` and `?filename=`. @returns null if none is needed. */
function contentDisposition(query: URLSearchParams, { attachment = false, name }: Defaults): string | null {
  const download = query.get("download");
  const asked = (query.get("filename") || name)?.slice(0, longestName).toWellFormed();
  const kind = attachment || download === "true" ? "attachment" : "inline";
  if (asked === undefined) return kind === "attachment" || download === "false" ? kind : null;
  const ascii = asked.replace(/[^\x20-\x7e]|["\\]/gu, "_");
  return `${kind}; filename="${ascii}"${ascii === asked ? "" : `; filename*=UTF-8''${percentEncoded(asked)}`}`;
}

/** RFC 8187, section 3.2.1. */
function percentEncoded(text: string): string {
  return encodeURIComponent(text).replace(/['()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
}
