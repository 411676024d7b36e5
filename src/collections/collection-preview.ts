import { LRUCache } from "lru-cache";
import { entryBound } from "../cache-bounds.ts";
import { withoutEnd } from "../db/tenancy/tenant.ts";
import { contentTypeOf, readHead } from "../ipfs/content-type.ts";
import { type Motion, motionBytes, motionOf } from "../ipfs/motion.ts";
import { gatewayPath, type IpfsLocation, parseIpfsUri } from "../metadata/read/ipfs-location.ts";
import type { Services } from "../services.ts";

/** What a token of the collection looks like, from metadata that this installation holds. */
export interface CollectionPreview {
  name: string | null;
  description: string | null;
  /** Path on this server, `/ipfs/…`; null: no picture on IPFS. */
  image: string | null;
  /** What a page may play: content of this server that moves and runs no scripts; null: nothing. */
  animation: { kind: Motion; path: string } | null;
  /** Its `animation_url` is a web page that lies here, which no page of this service shows. */
  interactive: boolean;
}

/** A token's document shows what the tokens are; what was said while they were hidden was said of all of them. */
export async function previewOf(
  services: Services,
  { baseURI, prerevealTokenURI }: { baseURI: string; prerevealTokenURI: string },
): Promise<CollectionPreview | null> {
  const hidden = await readPreview(services, prerevealTokenURI);
  const token = baseURI === "" ? null : await readPreview(services, `${baseURI}0`);
  return token ? { ...token, description: hidden?.description ?? token.description } : hidden;
}

const mostBytes = 65_536;
/** Content has one address for ever; what is not here today may be tomorrow. */
const previews = new LRUCache<string, { preview: CollectionPreview; againAt: number }>(entryBound(1_000));
/** After so long it is looked again for a picture or an animation that was not here. */
const incompleteMs = 60_000;

/** @param uri of one token's metadata, as the contract has it. @returns null for metadata that is not here. */
export async function readPreview(services: Services, uri: string): Promise<CollectionPreview | null> {
  const known = previews.get(uri);
  if (!known) return await lookUp(services, uri);
  if (performance.now() > known.againAt) {
    known.againAt = performance.now() + incompleteMs;
    // Gateways may be asked, which takes seconds; the sale is shown meanwhile.
    void withoutEnd(() => lookUp(services, uri)).catch(() => null);
  }
  return known.preview;
}

async function lookUp(services: Services, uri: string): Promise<CollectionPreview | null> {
  const file = (await find(services, uri))?.content;
  if (file?.kind !== "file" || file.size > mostBytes) return null;
  const pieces: Uint8Array[] = [];
  try {
    for await (const piece of file.stream()) pieces.push(piece);
  } catch {
    return null;
  }
  const read = await parsePreview(services, Buffer.concat(pieces).toString("utf8"));
  if (!read) return null;
  const againAt = read.isWhole ? Number.POSITIVE_INFINITY : performance.now() + incompleteMs;
  previews.set(uri, { preview: read.preview, againAt });
  return read.preview;
}

type Found = Awaited<ReturnType<typeof find>>;

/** The content that a URI names, and where it is; of what is not here, the first place that the URI may mean. */
async function find({ content }: Services, uri: string) {
  const places = parseIpfsUri(uri);
  for (const place of places ?? []) {
    const found = await content.resolveAnywhere(place.cid, place.path).catch(() => null);
    if (found) return { content: found, place };
  }
  return places && { content: null, place: places[0] };
}

async function parsePreview(services: Services, text: string) {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null) return null;
  const { name, description, image, image_url: other, animation_url: link } = value as Record<string, unknown>;
  const short = (member: unknown) => (typeof member === "string" && member ? member.slice(0, 1_000) : null);
  const findLink = async (uri: unknown) => (typeof uri === "string" ? await find(services, uri) : null);
  // What is not here may be asked for elsewhere, which takes time.
  const [picture, linked] = await Promise.all([findLink(image ?? other), findLink(link)]);
  const [still, moving] = await Promise.all([motionAt(services, picture), motionAt(services, linked)]);
  const preview: CollectionPreview = {
    name: short(name),
    description: short(description),
    image: picture && pathOf(picture.place),
    animation: moving?.animation ?? still?.animation ?? null,
    interactive: moving?.type.startsWith("text/html") ?? false,
  };
  return { preview, isWhole: (!linked || moving !== null) && (!picture || still !== null) };
}

const pathOf = (place: IpfsLocation) => `/ipfs/${gatewayPath(place)}`;

/** What of a file moves, and its type; null for what is not here or cannot be read now. */
async function motionAt(services: Services, found: Found) {
  if (!found?.content) return null;
  const { content, place } = found;
  // Of pages, with the files that they load.
  if (content.kind === "directory") {
    const page = await services.content.resolveAnywhere(place.cid, [...place.path, "index.html"]).catch(() => null);
    return { type: page ? "text/html" : "inode/directory", animation: null };
  }
  try {
    const type = await contentTypeOf(content, place.path.at(-1) ?? "");
    const kind = motionOf(type, await readHead(content, motionBytes));
    return { type, animation: kind && { kind, path: pathOf(place) } };
  } catch {
    return null;
  }
}
