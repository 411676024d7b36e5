import type { Caller } from "../auth/caller.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import { storageMeter, withUploadPermit } from "./admit-upload.ts";
import { baseName } from "./entry-names.ts";
import { type FileInput, recordUpload, type Upload } from "./upload-record.ts";

const unknownType = "application/octet-stream";
const longestName = 255;

/**
 * Stores one file of any type, unchanged, as its bytes arrive.
 *
 * @returns the upload once it is on disk and committed; the type of a file without one is `application/octet-stream`.
 *   The type is the sender's claim; the gateway serves the type that the bytes have.
 * @throws ServiceError `file_too_large`, `plan_limit_exceeded`, `rate_limit_exceeded`; whatever the stream throws.
 *   Nothing is kept then.
 */
export async function uploadFile(services: Services, caller: Caller, input: FileInput): Promise<Upload> {
  const contentType = plainType(input.contentType) ?? unknownType;
  const fileName = plainName(input.fileName);
  return await withUploadPermit(services, caller, async () => {
    const meter = await storageMeter(services, caller);
    const stream = upTo(services.config.limits.fileBytes, meter, input.stream);
    const record = recordUpload(services, caller, { kind: "file", fileName, contentType });
    return await services.content.addFile({ stream }, record);
  });
}

async function* upTo(
  limit: number,
  meter: (bytes: number) => void,
  stream: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > limit) {
      throw new ServiceError("file_too_large", `the file is over ${limit} bytes`, { field: "file" });
    }
    meter(chunk.length);
    yield chunk;
  }
}

/** `type/subtype` in lower case, without parameters; null for a text that is no media type. */
export function plainType(contentType: string | null): string | null {
  const type = (contentType ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  return /^[a-z0-9!#$&^_.+-]{1,100}\/[a-z0-9!#$&^_.+-]{1,100}$/.test(type) ? type : null;
}

/** The name without folders and without unsuitable characters; Postgres refuses NUL. */
function plainName(fileName: string | null): string | null {
  const name = baseName(fileName ?? "")
    .replace(/\p{Cc}/gu, "")
    .slice(0, longestName)
    .toWellFormed();
  return name === "" ? null : name;
}
