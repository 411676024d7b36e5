import type { IncomingMessage } from "node:http";
import type { Context } from "hono";
import { ServiceError } from "../errors/errors.ts";
import { clientAddress } from "../http/client-address.ts";
import { matchesEtag } from "../http/etag.ts";
import type { Services } from "../services.ts";
import { type ThumbnailWidth, thumbnailWidths } from "../thumbnails/bounds.ts";
import { thumbnailVersion } from "../thumbnails/thumbnails.ts";

/** Milliseconds of this process for making a preview, not counting its bytes. */
export const makingMs = 2;

export const widths = `widths are ${thumbnailWidths.join(", ")}`;

export function widthOf(text: string): ThumbnailWidth {
  const width = thumbnailWidths.find((one) => String(one) === text);
  if (width) return width;
  throw new ServiceError("value_error", `${text.slice(0, 20)} is no width of a preview; ${widths}`, { field: "width" });
}

/** The incoming request; undefined if no client asked. */
export function requestOf(c: Context): IncomingMessage | undefined {
  return c.env?.incoming;
}

/** The owner in whose name a preview waits: clients take turns. */
export function clientOf(c: Context, services: Services): string {
  const incoming = requestOf(c);
  return (incoming && clientAddress(incoming, services.config.trustedProxies)) ?? "";
}

/** A preview's cache headers. @param id of its picture, whose bytes never change. */
export function keptAs(id: string, width: ThumbnailWidth, cacheControl: string) {
  return { ETag: `"${id}.${width}.${thumbnailVersion}"`, "Cache-Control": cacheControl };
}

/** Sends the preview, or 304 if the client has it. Always WebP, whatever the client accepts, so there is no `Vary`. */
export function sendThumbnail(c: Context, thumbnail: Buffer, kept: ReturnType<typeof keptAs>): Response {
  if (matchesEtag(c.req.header("if-none-match"), kept.ETag)) return c.body(null, 304, kept);
  const bytes = thumbnail as Uint8Array<ArrayBuffer>;
  return c.body(bytes, 200, { ...kept, "Content-Type": "image/webp", "Content-Length": String(bytes.length) });
}
