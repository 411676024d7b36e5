import type { IncomingMessage } from "node:http";
import type { Context } from "hono";
import { ServiceError } from "../errors/errors.ts";
import { clientAddress } from "../http/client-address.ts";
import { matchesEtag } from "../http/etag.ts";
import type { Services } from "../services.ts";
import { type ThumbnailWidth, thumbnailWidths } from "../thumbnails/bounds.ts";
import { thumbnailVersion } from "../thumbnails/thumbnails.ts";

/** Milliseconds of this process that a preview takes which has to be made, beside its bytes. */
export const makingMs = 2;

export const widths = `widths are ${thumbnailWidths.join(", ")}`;

/** @throws ServiceError `value_error` for what is none. */
export function widthOf(text: string): ThumbnailWidth {
  const width = thumbnailWidths.find((one) => String(one) === text);
  if (width) return width;
  throw new ServiceError("value_error", `${text.slice(0, 20)} is no width of a preview; ${widths}`, { field: "width" });
}

/** The request as it came; absent for what no client asked for. */
export function requestOf(c: Context): IncomingMessage | undefined {
  return c.env?.incoming;
}

/** Whose turn it is: clients take turns. */
export function clientOf(c: Context, services: Services): string {
  const incoming = requestOf(c);
  return (incoming && clientAddress(incoming, services.config.trustedProxies)) ?? "";
}

/** What caches keep a preview by. @param id of its picture, whose bytes never change. */
export function keptAs(id: string, width: ThumbnailWidth, cacheControl: string) {
  return { ETag: `"${id}.${width}.${thumbnailVersion}"`, "Cache-Control": cacheControl };
}

/** The preview; 304 for who has it. WebP for everybody, whatever they accept: there is no `Vary`. */
export function sendThumbnail(c: Context, thumbnail: Buffer, kept: ReturnType<typeof keptAs>): Response {
  if (matchesEtag(c.req.header("if-none-match"), kept.ETag)) return c.body(null, 304, kept);
  const bytes = thumbnail as Uint8Array<ArrayBuffer>;
  return c.body(bytes, 200, { ...kept, "Content-Type": "image/webp", "Content-Length": String(bytes.length) });
}
