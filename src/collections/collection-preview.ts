import { LRUCache } from "lru-cache";
import { entryBound } from "../cache-bounds.ts";
import { withoutEnd } from "../db/tenancy/tenant.ts";
import { contentTypeOf, readHead } from "../ipfs/content-type.ts";
import { type Motion, motionBytes, motionOf } from "../ipfs/motion.ts";
import { gatewayPath, type IpfsLocation, parseIpfsUri } from "../metadata/read/ipfs-location.ts";
import type { Services } from "../services.ts";

/** How a token of the collection looks, from metadata stored by this installation. */
export interface CollectionPreview {
  name: string | null;
  description: string | null;
  /** Path on this server, `/ipfs/…`; null: no image on IPFS. */
  image: string | null;
  /** Media that a page may play: stored here, moving, and without scripts; null: none. */
  animation: { kind: Motion; path: string } | null;
  /** Its `animation_url` is a web page stored here, which no page of this service shows. */
  interactive: boolean;
}

/** The preview of a token, with the description from before the reveal, which applies to all tokens. */
export async function previewOf(
  services: Services,
  { baseURI, prerevealTokenURI }: { baseURI: string; prerevealTokenURI: string },
): Promise<CollectionPreview | null> {
  const hidden = await readPreview(services, prerevealTokenURI);
  const token = baseURI === "" ? null : await readPreview(services, `${baseURI}0`);
  return token ? { ...token, description: hidden?.description ?? token.description } : hidden;
}

const mostBytes = 65_536;
/** An IPFS address never changes its content; content that is missing today may arrive later. */
const previews = new LRUCache<string, { preview: CollectionPreview; againAt: number }>(entryBound(1_000));
/** After this time a missing image or animation is looked for again. */
const incompleteMs = 60_000;

/** @param uri of one token's metadata, as in the contract. @returns null for metadata that is not here. */
export async function readPreview(services: Services, uri: string): Promise<CollectionPreview | null> {
  const known = previews.get(uri);
  if (!known) return await lookUp(services, uri);
  if (performance.now() > known.againAt) {
    known.againAt = performance.now() + incompleteMs;
    // Gateways may be asked, which takes seconds; meanwhile the known preview is shown.
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

/** The content of a URI and its location; for missing content, the first location that the URI may mean. */
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
  // Missing content may be fetched from elsewhere, which takes time.
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

/** A file's type and whether it moves; null for content that is missing or cannot be read now. */
async function motionAt(services: Services, found: Found) {
  if (!found?.content) return null;
  const { content, place } = found;
  // A page with the files that it loads.
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
