import { LRUCache } from "lru-cache";
import { entryBound } from "../cache-bounds.ts";
import { gatewayPath, parseIpfsUri } from "../metadata/read/ipfs-location.ts";
import type { Services } from "../services.ts";

/** What a token of the collection looks like, from metadata that this installation holds. */
export interface CollectionPreview {
  name: string | null;
  description: string | null;
  /** Path on this server, `/ipfs/…`; null: no picture on IPFS. */
  image: string | null;
}

const mostBytes = 65_536;
/** Content has one address for ever; what is not here today may be tomorrow. */
const previews = new LRUCache<string, CollectionPreview>(entryBound(1_000));

/** @param uri of one token's metadata, as the contract has it. @returns null for metadata that is not here. */
export async function readPreview(services: Services, uri: string): Promise<CollectionPreview | null> {
  const known = previews.get(uri);
  if (known) return known;
  const file = (await find(services, uri))?.content;
  if (file?.kind !== "file" || file.size > mostBytes) return null;
  const pieces: Uint8Array[] = [];
  try {
    for await (const piece of file.stream()) pieces.push(piece);
  } catch {
    return null;
  }
  const preview = await parsePreview(services, Buffer.concat(pieces).toString("utf8"));
  if (preview) previews.set(uri, preview);
  return preview;
}

/** The content that a URI names, and where it is; of what is not here, the first place that the URI may mean. */
async function find({ content }: Services, uri: string) {
  const places = parseIpfsUri(uri);
  for (const place of places ?? []) {
    const found = await content.resolveAnywhere(place.cid, place.path).catch(() => null);
    if (found) return { content: found, place };
  }
  return places && { content: null, place: places[0] };
}

async function parsePreview(services: Services, text: string): Promise<CollectionPreview | null> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null) return null;
  const { name, description, image, image_url: other } = value as Record<string, unknown>;
  const short = (member: unknown) => (typeof member === "string" && member ? member.slice(0, 1_000) : null);
  const picture = typeof (image ?? other) === "string" ? await find(services, String(image ?? other)) : null;
  return {
    name: short(name),
    description: short(description),
    image: picture && `/ipfs/${gatewayPath(picture.place)}`,
  };
}
