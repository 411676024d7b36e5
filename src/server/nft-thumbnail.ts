import type { Context } from "hono";
import { payAfterwards, payMore } from "../admission/pay-for-work.ts";
import { ServiceError } from "../errors/errors.ts";
import type { LinkedThumbnail } from "../metadata/pictures/linked-pictures.ts";
import { findPicture } from "../nfts/find-picture.ts";
import type { Services } from "../services.ts";
import type { ThumbnailWidth } from "../thumbnails/bounds.ts";
import { refuse } from "./gateway-answer.ts";
import { clientOf, keptAs, makingMs, requestOf, sendThumbnail, widthOf, widths } from "./thumbnail-answer.ts";

/** Milliseconds of this process that asking another server takes, and each byte that it reads, digests and passes on. */
const [fetchMs, byteMs] = [3, 10 / 1_048_576];
const forADay = "public, max-age=86400";
/** A token's picture may become our own, and its metadata may name another one. */
const forMinutes = "public, max-age=300";
const retryAfterSeconds = 5;
const callersFaults: readonly string[] = ["not_found", "invalid_enumeration", "chain_not_supported"];

/**
 * GET and HEAD of `/:width/nfts/:chain/:contract/:tokenId`: a preview of the picture that the metadata of an indexed token
 * names. Nothing else is fetched for anybody, and no answer leads a visitor to another server.
 */
export async function answerNftThumbnail(c: Context, services: Services): Promise<Response> {
  const { width: given = "", chain = "", contract = "", tokenId = "" } = c.req.param();
  const width = widthOf(given);
  if (!width) return refuse(c, 400, `${given.slice(0, 20)} is no width of a preview; ${widths}`);
  if (!/^0x[0-9a-f]{40}$/i.test(contract)) return refuse(c, 400, "the path has no contract's address");
  const isId = /^\d{1,78}$/.test(tokenId) && BigInt(tokenId) < 2n ** 256n;
  if (!isId) return refuse(c, 400, "a token id is a decimal number from 0 to 2^256 - 1");
  const found = await findPicture(services, { chain, contract, tokenId: BigInt(tokenId) }).catch(asRefusal);
  if (found instanceof ServiceError) return refuse(c, found.code === "not_found" ? 404 : 400, found.message);
  if (found === null) return refuse(c, 404, "this token's metadata names no picture, or has not been read");
  if (found.kind === "content") {
    c.header("Cache-Control", forMinutes);
    return c.redirect(`/thumbnails/${width}/${found.path}`, 307);
  }
  if (services.thumbnails.areOff) return refuse(c, 404, "this service makes no previews");
  const thumbnail = await makeThumbnail(c, services, width, found.link);
  if (thumbnail === "busy")
    throw new ServiceError("service_unavailable", "too many previews are being made; ask again in 5 s", {
      retryAfterSeconds,
    });
  if ("refused" in thumbnail) return refuse(c, 422, `no preview is made of this picture: ${thumbnail.refused}`);
  return sendThumbnail(c, thumbnail.bytes, keptAs(thumbnail.digest, width, forADay));
}

/** @throws what is no matter of the request's. */
function asRefusal(error: unknown): ServiceError {
  if (error instanceof ServiceError && callersFaults.includes(error.code)) return error;
  throw error;
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
