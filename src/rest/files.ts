import { ServiceError } from "../errors/errors.ts";
import { withDrainedBody } from "../http/drain-body.ts";
import { announcedBytes, type Part, readMultipart } from "../http/multipart.ts";
import type { Services } from "../services.ts";
import { refuseOverQuota } from "../uploads/admit-upload.ts";
import { type ListedUpload, listUploads, readDocuments } from "../uploads/list-uploads.ts";
import { uploadFile } from "../uploads/upload-file.ts";
import type { FileInput } from "../uploads/upload-record.ts";
import { ok, okRead, RawJson } from "./answer.ts";
import type { V0App } from "./app.ts";
import { pageParameters, queryInput, wordsParameter } from "./query.ts";
import { naiveMicros } from "./values.ts";

/** What a form may contain besides the file; it is ignored. */
export const otherParts = 100;
export const otherBytes = 1_048_576;

/** POST /files */
export function addFiles(app: V0App, services: Services): void {
  app.post("/files", (c) =>
    withDrainedBody(c, async () => {
      const { fileBytes } = services.config.limits;
      await refuseOverQuota(services, c.get("caller"), announcedBytes(c.env.incoming));
      const parts = readMultipart(c.env.incoming, {
        account: c.get("caller").accountId,
        parts: otherParts,
        bodyBytes: fileBytes + otherBytes,
      });
      try {
        const upload = await uploadFile(services, c.get("caller"), await firstFile(parts));
        return ok(c, {
          ipfs_url: `${services.config.ipfs.gatewayBase}/${upload.cid}`,
          file_name: upload.fileName,
          content_type: upload.contentType,
          file_size: upload.sizeBytes,
          file_size_mb: fileSizeMb(upload.sizeBytes),
        });
      } finally {
        await parts.return(undefined);
      }
    }),
  );
}

/** Megabytes as the original service counts them: 1,048,576 bytes each, four decimals. */
export function fileSizeMb(bytes: number): number {
  return Math.round((bytes / 1_048_576) * 10_000) / 10_000;
}

export async function firstFile(parts: AsyncGenerator<Part>): Promise<FileInput> {
  for (;;) {
    const { value: part, done } = await parts.next();
    if (done) throw new ServiceError("parameter_missing", "send the file as the part file", { field: "file" });
    if (part.name !== "file") continue;
    if (part.fileName === null && part.contentType === null) {
      throw new ServiceError("parameter_missing", "the part file must be a file, not a text field", { field: "file" });
    }
    return { fileName: part.fileName, contentType: part.contentType, stream: toTheEnd(part, parts) };
  }
}

/** The file's bytes. It ends only after the whole form has ended properly, so that nothing is committed before. */
async function* toTheEnd(part: Part, parts: AsyncGenerator<Part>): AsyncGenerator<Uint8Array> {
  for await (const chunk of part.stream) yield chunk as Uint8Array;
  for (;;) {
    const { value: next, done } = await parts.next();
    if (done) return;
    if (next.name === "file") throw new ServiceError("value_error", "send one file per request", { field: "file" });
  }
}

const kinds = ["file", "metadata", "metadata_directory"] as const;

/** GET /me/storage */
export function addStorage(app: V0App, services: Services): void {
  app.get("/me/storage", async (c) => {
    const input = queryInput(c);
    const types = wordsParameter(input, "type", [...kinds, "all"] as const);
    if (types.size === 0) input.text("type", { required: true });
    const from = input.date("start_date");
    const until = input.date("end_date");
    // This list has no continuation: one that is sent is an unknown parameter.
    const { number, size } = pageParameters(input, 500n);
    input.check();
    const page = { number, size };
    const wanted = types.has("all") ? [] : kinds.filter((kind) => types.has(kind));
    const found = await listUploads(services, c.get("caller"), { kinds: wanted, from, until, page });
    const uploads = found.items.map(({ node }) => node);
    const documents = await readDocuments(services, uploads);
    const { gatewayBase } = services.config.ipfs;
    return okRead(c, { storage: uploads.map((upload) => storageItem(upload, gatewayBase, documents)) });
  });
}

/** The old documents disagree about the first member's name, so it is sent under both. */
function storageItem(upload: ListedUpload, gatewayBase: string, documents: ReadonlyMap<string, string>) {
  const { kind, cid } = upload;
  const uris = { ipfs_uri: `ipfs://${cid}`, ipfs_url: `${gatewayBase}/${cid}` };
  const uploaded = { uploaded_date: naiveMicros(upload.createdMicros) };
  const type = { storage_type: kind, type: kind };
  switch (kind) {
    case "file":
      return {
        ...type,
        file_name: upload.fileName,
        ...uris,
        ...uploaded,
        content_type: upload.contentType,
        file_size: upload.sizeBytes,
        file_size_mb: fileSizeMb(upload.sizeBytes),
      };
    case "metadata": {
      const text = documents.get(cid);
      return { ...type, ...uris, ...uploaded, metadata: text === undefined ? null : new RawJson(text) };
    }
    case "metadata_directory":
      return { ...type, ...uris, ipfs_uri: `${uris.ipfs_uri}/`, ...uploaded };
  }
}
