import type { Caller } from "../auth/caller.ts";
import { ServiceError } from "../errors/errors.ts";
import { chunkBytes } from "../ipfs/profile.ts";
import type { Services } from "../services.ts";
import { refuseOverQuota } from "./admit-upload.ts";
import { recordUpload, type Upload } from "./upload-record.ts";

/**
 * Stores one metadata document; its CID is that of a raw block, so `b` + base32 of the hash.
 *
 * @throws ServiceError `file_too_large` for a document over 1 MiB, `plan_limit_exceeded`.
 */
export async function uploadMetadata(services: Services, caller: Caller, input: MetadataInput): Promise<Upload> {
  const bytes = Buffer.from(metadataDocument(input), "utf8");
  if (bytes.length > chunkBytes) {
    throw new ServiceError("file_too_large", `the metadata document is over ${chunkBytes} bytes`);
  }
  await refuseOverQuota(services, caller, bytes.length, 0);
  const contentType = "application/json";
  return await services.content.addFile(
    { stream: only(bytes) },
    recordUpload(services, caller, { kind: "metadata", fileName: null, contentType }),
  );
}

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

export type DisplayType = (typeof displayTypes)[number];
export const displayTypes = ["boost_number", "boost_percentage", "number", "date"] as const;

/** Values keep their JSON type; a number too large for JavaScript may come as `JSON.rawJSON`. */
export interface Trait {
  traitType: string;
  value: unknown;
  maxValue: unknown;
  displayType: DisplayType | null;
}

export interface MetadataInput {
  name: string;
  description: string;
  /** Link of the image or other file; becomes `image`. */
  fileUrl: string;
  externalUrl: string | null;
  animationUrl: string | null;
  attributes: readonly Trait[] | null;
  /** Further members of the document, in this order. One with the name of a fixed member replaces its value. */
  customFields: Record<string, unknown> | null;
}

/**
 * The document as it is stored: compact JSON, without absent members. Every byte counts, since the CID is the hash of
 * this text, and clients of the original service compare it.
 */
export function metadataDocument(input: MetadataInput): string {
  const members = new Map<string, unknown>();
  const add = (name: string, value: unknown) => value !== null && members.set(name, value);
  add("name", input.name);
  add("description", input.description);
  add("image", input.fileUrl);
  add("external_url", input.externalUrl);
  add("animation_url", input.animationUrl);
  add("attributes", input.attributes?.map(traitDocument) ?? null);
  for (const [name, value] of Object.entries(input.customFields ?? {})) members.set(name, value);
  // Not through one object: a member called __proto__ must stay a member.
  const texts = [...members].map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  return `{${texts.join(",")}}`;
}

function traitDocument({ traitType, value, maxValue, displayType }: Trait): Record<string, unknown> {
  return {
    trait_type: traitType,
    value,
    ...(maxValue === null ? {} : { max_value: maxValue }),
    ...(displayType === null ? {} : { display_type: displayType }),
  };
}
