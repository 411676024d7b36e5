import { type Context, Hono } from "hono";
import { payMore } from "../admission/pay-for-work.ts";
import { ServiceError } from "../errors/errors.ts";
import { matchesEtag } from "../http/etag.ts";
import type { ContentFile } from "../ipfs/resolve-content.ts";
import type { Services } from "../services.ts";
import { mostPictureBytes, type ThumbnailWidth } from "../thumbnails/bounds.ts";
import type { Thumbnail } from "../thumbnails/thumbnails.ts";
import { moves, readCid } from "../uploads/read-content.ts";
import { answerNftThumbnail } from "./nft-thumbnail.ts";
import { clientOf, keptAs, makingMs, requestOf, sendThumbnail, widthOf, widths } from "./thumbnail-answer.ts";

/** Milliseconds of this process per byte of a picture. */
const byteMs = 0.5 / 1_048_576;

/** Pages of any origin may show previews; a preview is never anything but a picture. */
const onEveryAnswer = Object.entries({
  "X-Content-Type-Options": "nosniff",
  "Content-Security-Policy": "sandbox; default-src 'none'",
  "Cross-Origin-Resource-Policy": "cross-origin",
  "Access-Control-Allow-Origin": "*",
});

const forAYear = "public, max-age=31536000, immutable";

/**
 * GET and HEAD of `/:width/:cid` and `/:width/:cid/<path>`: a preview of the picture that `/ipfs` has under that path,
 * or a redirect to it if none can be made now (docs/gateway.md). `/:width/nfts/:chain/:contract/:tokenId` is alike,
 * wherever that token's picture is. Every route throws ServiceError, whatever the client accepts.
 */
export function createThumbnailRoutes(services: Services): Hono {
  const app = new Hono({ strict: false });
  app.use(async (c, next) => {
    for (const [name, value] of onEveryAnswer) c.header(name, value);
    await next();
  });
  app.get("/:width/nfts/:chain/:contract/:tokenId", async (c) => await answerNftThumbnail(c, services));
  app.on("GET", ["/:width/:cid", "/:width/:cid/*"], async (c) => await answer(c, services));
  app.all("*", (c) => {
    if (["GET", "HEAD"].includes(c.req.method))
      throw new ServiceError(
        "not_found",
        `/thumbnails/<width>/<cid>/<path> or /thumbnails/<width>/nfts/<chain>/<contract>/<tokenId> is wanted; ${widths}`,
      );
    c.header("Allow", "GET, HEAD");
    const fix = "Use one of the methods that are: GET, HEAD.";
    throw new ServiceError("method_not_allowed", `${c.req.method} is not served at ${c.req.path}`, { fix });
  });
  return app;
}

async function answer(c: Context, services: Services): Promise<Response> {
  const asked = parsePath(new URL(c.req.url).pathname);
  if (!asked) throw new ServiceError("value_error", "this path is not well-formed");
  const width = widthOf(asked.width);
  if (!readCid(asked.cid)) throw new ServiceError("value_error", "this is no CID", { field: "cid" });
  const picture = await services.content.resolveAnywhere(asked.cid, asked.path);
  if (!picture) throw new ServiceError("not_found", `${asked.original} is not here`);
  if (picture.kind === "directory")
    throw new ServiceError("not_found", `${asked.original} is a directory; add the name of a picture`);
  const kept = keptAs(picture.cid, width, forAYear);
  if (matchesEtag(c.req.header("if-none-match"), kept.ETag)) return c.body(null, 304, kept);
  const thumbnail = (await services.thumbnails.find(picture.cid, width)) ?? (await make(c, services, picture, width));
  if (thumbnail !== "busy" && "bytes" in thumbnail) return sendThumbnail(c, thumbnail.bytes, kept);
  const onlyStill = c.req.query("still") === "true";
  if (onlyStill ? !(await moves(picture, asked.path.at(-1) ?? "")) : thumbnail === "busy") {
    c.header("Cache-Control", "no-store");
    return c.redirect(asked.original, 307);
  }
  // Not 503: with previews off every answer would be one, and 5xx alert the operator.
  if (thumbnail === "busy") throw new ServiceError("not_found", "there is no preview of this animation now");
  const fix = `Show ${asked.original} itself.`;
  throw new ServiceError("value_error", `no preview is made of this file: ${thumbnail.refused}`, { fix });
}

async function make(c: Context, services: Services, picture: ContentFile, width: ThumbnailWidth): Promise<Thumbnail> {
  await payMore(services, requestOf(c), makingMs + Math.min(picture.size, mostPictureBytes) * byteMs);
  const { cid: id, size } = picture;
  return await services.thumbnails.make({ id, size, stream: () => picture.stream() }, width, clientOf(c, services));
}

interface Asked {
  width: string;
  cid: string;
  path: string[];
  /** The path of the picture itself, as written in the request. */
  original: string;
}

function parsePath(requestPath: string): Asked | null {
  const [, width = "", ...written] = requestPath.split("/").filter(Boolean);
  try {
    const [cid = "", ...path] = written.map(decodeURIComponent);
    return { width, cid, path, original: `/ipfs/${written.join("/")}` };
  } catch {
    return null;
  }
}
