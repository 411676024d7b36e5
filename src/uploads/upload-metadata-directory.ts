import type { Caller } from "../auth/caller.ts";
import { ServiceError } from "../errors.ts";
import type { NewDirectoryFile } from "../ipfs/content-store.ts";
import type { Services } from "../services.ts";
import { entryNames } from "./entry-names.ts";
import { plainType } from "./upload-file.ts";
import { type FileInput, recordUpload, type Upload } from "./upload-record.ts";

/**
 * Stores JSON files as one directory. Each file is linked under its name without the last extension
 * and under its full name; folders in names are dropped, bytes stay as they are.
 *
 * @throws ServiceError `parameter_missing` without a file; `value_error` for a name that cannot be
 *   linked, two different files of one name, a file that is not a JSON object, or too many files;
 *   `file_too_large`. Nothing is kept then.
 */
export async function uploadMetadataDirectory(
  services: Services,
  caller: Caller,
  files: AsyncIterable<FileInput>,
): Promise<Upload> {
  return await services.content.addDirectory(
    checked(files, services.config.limits),
    recordUpload(services, caller, { kind: "metadata_directory", fileName: null, contentType: null }),
  );
}

async function* checked(
  files: AsyncIterable<FileInput>,
  limits: Services["config"]["limits"],
): AsyncGenerator<NewDirectoryFile> {
  let count = 0;
  let room = limits.directoryBytes;
  for await (const file of files) {
    count += 1;
    if (count > limits.directoryFiles) {
      throw new ServiceError("value_error", `a directory holds at most ${limits.directoryFiles} files`);
    }
    const names = entryNames(file.fileName);
    mustSayJson(file);
    const bytes = await collect(file, limits.directoryFileBytes, room, limits.directoryBytes);
    room -= bytes.length;
    mustBeJsonObject(bytes, file.fileName);
    yield { names, bytes, contentType: "application/json" };
  }
  if (count === 0) {
    throw new ServiceError("parameter_missing", "send at least one metadata file");
  }
}

/** One file of a directory is small enough to be in memory: it must be parsed to be checked. */
async function collect(file: FileInput, perFile: number, room: number, total: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of file.stream) {
    size += chunk.length;
    if (size > room) {
      throw new ServiceError("file_too_large", `the files are over ${total} bytes together`);
    }
    if (size > perFile) {
      throw new ServiceError("file_too_large", `${quoted(file.fileName)} is over ${perFile} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function mustSayJson({ fileName, contentType }: FileInput): void {
  if (plainType(contentType) === "application/json" || /\.json$/i.test(fileName ?? "")) return;
  throw new ServiceError(
    "value_error",
    `${quoted(fileName)} is neither of type application/json nor named like a JSON file`,
  );
}

function mustBeJsonObject(bytes: Buffer, fileName: string | null): void {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new ServiceError("value_error", `${quoted(fileName)} is not JSON`, { cause });
  }
  if (value === null || typeof value !== "object" || Array.isArray(value)) {
    throw new ServiceError("value_error", `${quoted(fileName)} must hold a JSON object`);
  }
}

function quoted(fileName: string | null): string {
  return JSON.stringify((fileName ?? "").slice(0, 100));
}
