import type { Caller } from "../auth/caller.ts";
import { ServiceError } from "../errors/errors.ts";
import { chunkBytes } from "../ipfs/profile.ts";
import type { Services } from "../services.ts";
import { refuseOverQuota } from "./admit-upload.ts";
import { type MetadataInput, metadataDocument } from "./metadata-document.ts";
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
