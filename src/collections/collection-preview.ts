import { LRUCache } from "lru-cache";
import { entryBound } from "../cache-bounds.ts";
import { parseIpfsUri } from "../metadata/read/ipfs-location.ts";
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
  const place = parseIpfsUri(uri);
  if (!place) return null;
  const file = await services.content.resolveAnywhere(place.cid, place.path).catch(() => null);
  if (file?.kind !== "file" || file.size > mostBytes) return null;
  const pieces: Uint8Array[] = [];
  try {
    for await (const piece of file.stream()) pieces.push(piece);
  } catch {
    return null;
  }
  const preview = parsePreview(Buffer.concat(pieces).toString("utf8"));
  if (preview) previews.set(uri, preview);
  return preview;
}

function parsePreview(text: string): CollectionPreview | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null) return null;
  const { name, description, image, image_url: other } = value as Record<string, unknown>;
  const short = (member: unknown) => (typeof member === "string" && member ? member.slice(0, 1_000) : null);
  const place = typeof (image ?? other) === "string" ? parseIpfsUri(String(image ?? other)) : null;
  return {
    name: short(name),
    description: short(description),
    image: place ? `/ipfs/${[place.cid, ...place.path].map(encodeURIComponent).join("/")}` : null,
  };
}
