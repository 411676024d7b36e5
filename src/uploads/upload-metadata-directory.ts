import type { Caller } from "../auth/caller.ts";
import { forOneUpload, LargeRequest } from "../auth/large-requests.ts";
import { ServiceError } from "../errors/errors.ts";
import type { NewDirectoryFile } from "../ipfs/import-content.ts";
import { LongWork } from "../long-work.ts";
import type { Services } from "../services.ts";
import { storageMeter, withUploadPermit } from "./admit-upload.ts";
import { baseName } from "./entry-names.ts";
import { isSystemFile } from "./folder-files.ts";
import { DirectoryLint, type DirectoryWarning, quoted } from "./lint-directory.ts";
import { plainType } from "./upload-file.ts";
import { type FileInput, recordUpload, type Upload } from "./upload-record.ts";

export interface DirectoryOptions {
  /** Check everything and compute the CID, but store nothing. */
  dryRun?: boolean;
}

export interface DirectoryResult {
  /** Null for a dry run. */
  upload: Upload | null;
  cid: string;
  files: number;
  /** Total size of the files. */
  sizeBytes: number;
  /** Properties of documents that wallets and markets will have trouble with. The directory was stored all the same. */
  warnings(): Promise<readonly DirectoryWarning[]>;
}

/**
 * Stores JSON files as one directory. Each file is linked under its name without the last extension and under its full
 * name; folders in names are dropped, bytes stay as they are.
 *
 * @throws ServiceError `parameter_missing` without a file; `value_error` for a name that cannot be linked, two
 *   different files with one name, a file that is not a JSON object, or too many files; `file_too_large`;
 *   `plan_limit_exceeded`, `rate_limit_exceeded`. One error has all faults of files, in `details.problems` next to
 *   `details.warnings`; its code is that of the first. Nothing is kept then.
 */
export async function uploadMetadataDirectory(
  services: Services,
  caller: Caller,
  files: AsyncIterable<FileInput>,
  { dryRun = false }: DirectoryOptions = {},
): Promise<DirectoryResult> {
  return await withUploadPermit(services, caller, async () => {
    const { content, config } = services;
    const meter = dryRun ? () => undefined : await storageMeter(services, caller);
    const lint = new DirectoryLint();
    const work = new LongWork(caller.accountId);
    const price = new LargeRequest(config.rateLimits ? services.auth.limiter : null, caller, "upload");
    let found: Promise<readonly DirectoryWarning[]> | undefined;
    const warnings = () => (found ??= lint.warnings((locations) => content.locate(locations, work), work));
    let count = 0;
    async function* accepted() {
      for await (const file of checked(priced(files, price), config.limits, lint, work)) {
        count += 1;
        meter(file.bytes.length);
        if (!lint.refuses) yield file;
      }
      if (lint.refuses) throw lint.refusal(await warnings());
    }
    if (dryRun) {
      const { root, sizeBytes } = await content.predictDirectory(accepted(), work);
      return { upload: null, cid: root, files: count, sizeBytes, warnings };
    }
    const record = recordUpload(services, caller, { kind: "metadata_directory", fileName: null, contentType: null });
    const upload = await content.addDirectory(accepted(), record, work);
    return { upload, cid: upload.cid, files: count, sizeBytes: upload.sizeBytes, warnings };
  });
}

/** Charges for each file as it comes, and for the bytes of the previous ones: a size is known once it was read. */
async function* priced(files: AsyncIterable<FileInput>, price: LargeRequest): AsyncGenerator<FileInput> {
  let [count, bytes] = [0, 0];
  async function* counted(stream: FileInput["stream"]) {
    for await (const chunk of stream) {
      bytes += chunk.length;
      yield chunk;
    }
  }
  for await (const file of files) {
    count += 1;
    const requests = Math.max(count / forOneUpload.files, bytes / forOneUpload.bytes);
    await price.count(requests, `a directory of ${count} files and more`);
    yield { ...file, stream: counted(file.stream) };
  }
}

/** The files that can be linked. After a fault the others are still read, so that all faults are reported. */
async function* checked(
  files: AsyncIterable<FileInput>,
  limits: Services["config"]["limits"],
  lint: DirectoryLint,
  work: LongWork,
): AsyncGenerator<NewDirectoryFile> {
  let count = 0;
  let linked = 0;
  let room = limits.directoryBytes;
  for await (const file of files) {
    const { fileName } = file;
    count += 1;
    if (work.isOver) await work.rest();
    if (count > limits.directoryFiles) {
      lint.refuse(null, new ServiceError("value_error", `a directory holds at most ${limits.directoryFiles} files`));
      return;
    }
    if (isSystemFile(baseName(fileName ?? ""))) {
      lint.leaveOut(fileName);
      await collect(file, 0);
      continue;
    }
    const names = lint.names(fileName);
    if (!saysJson(file)) {
      const message = `${quoted(fileName)} is neither of type application/json nor named like a JSON file`;
      lint.refuse(fileName, new ServiceError("value_error", message));
      continue;
    }
    const bytes = await collect(file, Math.min(limits.directoryFileBytes, room));
    if (!bytes && room < limits.directoryFileBytes) {
      const message = `the files are over ${limits.directoryBytes} bytes together`;
      lint.refuse(fileName, new ServiceError("file_too_large", message));
      return;
    }
    if (!bytes) {
      const message = `${quoted(fileName)} is over ${limits.directoryFileBytes} bytes`;
      lint.refuse(fileName, new ServiceError("file_too_large", message));
      continue;
    }
    room -= bytes.length;
    if (!names || !lint.file(fileName, names, bytes)) continue;
    linked += 1;
    yield { names, bytes, contentType: "application/json" };
  }
  if (linked === 0 && !lint.refuses) {
    throw new ServiceError("parameter_missing", "send at least one metadata file");
  }
}

/** Reads one file of a directory into memory, since it must be parsed to be checked. Null: it exceeds `most` bytes. */
async function collect(file: FileInput, most: number): Promise<Buffer | null> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  // To its end in any case: the next parts come over the same connection.
  for await (const chunk of file.stream) {
    size += chunk.length;
    if (size <= most) chunks.push(chunk);
    else chunks.length = 0;
  }
  return size > most ? null : Buffer.concat(chunks, size);
}

function saysJson({ fileName, contentType }: FileInput): boolean {
  return plainType(contentType) === "application/json" || /\.json$/i.test(fileName ?? "");
}
