import type { Context } from "hono";
import { payAfterwards, payMore } from "../admission/pay-for-work.ts";
import { ServiceError } from "../errors/errors.ts";
import type { LinkedThumbnail } from "../metadata/pictures/linked-pictures.ts";
import { findPicture } from "../nfts/find-picture.ts";
import type { Services } from "../services.ts";
import type { ThumbnailWidth } from "../thumbnails/bounds.ts";
import { clientOf, keptAs, makingMs, requestOf, sendThumbnail, widthOf } from "./thumbnail-answer.ts";

/** Milliseconds for fetching from another server, and for each byte that is read, processed and passed on. */
const [fetchMs, byteMs] = [3, 10 / 1_048_576];
const forADay = "public, max-age=86400";
/** We may store a copy of a token's picture, and its metadata may come to name another one. */
const forMinutes = "public, max-age=300";
const retryAfterSeconds = 5;

/**
 * GET and HEAD of `/:width/nfts/:chain/:contract/:tokenId`: a preview of the picture that an indexed token's metadata
 * names. Nothing else is fetched for a client, and no answer redirects a visitor to another server.
 */
export async function answerNftThumbnail(c: Context, services: Services): Promise<Response> {
  const { width: given = "", chain = "", contract = "", tokenId = "" } = c.req.param();
  const width = widthOf(given);
  if (!/^0x[0-9a-f]{40}$/i.test(contract))
    throw new ServiceError("invalid_address", "the path has no contract's address", { field: "contract" });
  const isId = /^\d{1,78}$/.test(tokenId) && BigInt(tokenId) < 2n ** 256n;
  if (!isId)
    throw new ServiceError("value_error", "a token id is a decimal number from 0 to 2^256 - 1", { field: "tokenId" });
  const found = await findPicture(services, { chain, contract, tokenId: BigInt(tokenId) });
  if (found === null)
    throw new ServiceError("not_found", "this token's metadata names no picture, or has not been read");
  if (found.kind === "content") {
    c.header("Cache-Control", forMinutes);
    return c.redirect(`/thumbnails/${width}/${found.path}`, 307);
  }
  if (services.thumbnails.areOff) throw new ServiceError("not_found", "this service makes no previews");
  const thumbnail = await makeThumbnail(c, services, width, found.link);
  if (thumbnail === "busy")
    throw new ServiceError("service_unavailable", "too many previews are being made; ask again in 5 s", {
      retryAfterSeconds,
    });
  if ("refused" in thumbnail)
    throw new ServiceError("value_error", `no preview is made of this picture: ${thumbnail.refused}`);
  return sendThumbnail(c, thumbnail.bytes, keptAs(thumbnail.digest, width, forADay));
}

async function makeThumbnail(
  c: Context,
  services: Services,
  width: ThumbnailWidth,
  link: string,
): Promise<LinkedThumbnail> {
  const { linkedPictures } = services;
  const paid = (bytes: number) => payAfterwards(services, requestOf(c), bytes * byteMs);
  const asking = { client: clientOf(c, services), paid };
  if (/^data:/i.test(link)) {
    await payMore(services, requestOf(c), makingMs);
    return await linkedPictures.ofData(link, width, asking);
  }
  const found = await linkedPictures.find(link, width);
  if (found) return found;
  await payMore(services, requestOf(c), makingMs + fetchMs);
  return await linkedPictures.make(link, width, asking);
}
