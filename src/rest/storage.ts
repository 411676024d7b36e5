import type { Services } from "../services.ts";
import { type ListedUpload, listUploads, readDocuments } from "../uploads/list-uploads.ts";
import type { V0App } from "./app.ts";
import { naiveMicros } from "./dates.ts";
import { fileSizeMb } from "./files.ts";
import { Input } from "./input.ts";
import { pageParameters, queryOf, wordsParameter } from "./query.ts";
import { okRead, RawJson } from "./raw-json.ts";

const kinds = ["file", "metadata", "metadata_directory"] as const;

/** GET /me/storage */
export function addStorage(app: V0App, services: Services): void {
  app.get("/me/storage", async (c) => {
    const query = queryOf(c);
    const input = Input.fromQuery(query);
    const types = wordsParameter(query, input, "type", [...kinds, "all"] as const);
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

/** The old documents disagree about the name of the first member: it goes out under both. */
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
