import { ServiceError } from "../errors/errors.ts";
import { withDrainedBody } from "../http/drain-body.ts";
import { announcedBytes, readMultipart } from "../http/multipart.ts";
import type { Services } from "../services.ts";
import { refuseOverQuota } from "../uploads/admit-upload.ts";
import { uploadMetadata } from "../uploads/upload-metadata.ts";
import { uploadMetadataDirectory } from "../uploads/upload-metadata-directory.ts";
import type { FileInput } from "../uploads/upload-record.ts";
import { ok } from "./answer.ts";
import type { V0App } from "./app.ts";
import { Input } from "./input.ts";
import { readJsonObject } from "./json-body.ts";
import { legacyTraits, readMetadata } from "./metadata-body.ts";
import { queryOf } from "./query.ts";

/** Room for the header lines of each part. */
const partOverheadBytes = 1_024;

/** POST /metadata, POST /metadata/directory */
export function addMetadata(app: V0App, services: Services): void {
  const { config } = services;
  app.post("/metadata", async (c) => {
    const body = await readJsonObject(c.env.incoming, config.limits.jsonBodyBytes, {
      account: c.get("caller").accountId,
    });
    const input = readMetadata(body);
    const upload = await uploadMetadata(services, c.get("caller"), input);
    return ok(c, {
      metadata_uri: `ipfs://${upload.cid}`,
      name: input.name,
      description: input.description,
      file_url: input.fileUrl,
      external_url: input.externalUrl,
      animation_url: input.animationUrl,
      custom_fields: input.customFields,
      attributes: legacyTraits(input.attributes),
    });
  });
  app.post("/metadata/directory", (c) =>
    withDrainedBody(c, async () => {
      const query = Input.fromQuery(queryOf(c));
      const dryRun = query.boolean("dry_run") ?? false;
      const wantsWarnings = query.boolean("warnings") ?? dryRun;
      query.check();
      const { directoryFiles, directoryBytes } = config.limits;
      // Some more than are allowed, so that the use case is the one to say so.
      const parts = directoryFiles + 100;
      if (!dryRun) {
        await refuseOverQuota(services, c.get("caller"), announcedBytes(c.env.incoming), parts * partOverheadBytes);
      }
      const account = c.get("caller").accountId;
      const bodyBytes = directoryBytes + parts * partOverheadBytes;
      const form = readMultipart(c.env.incoming, { account, parts, bodyBytes });
      const result = await uploadMetadataDirectory(services, c.get("caller"), metadataFiles(form), { dryRun });
      const uri = {
        metadata_directory_ipfs_uri: `ipfs://${result.cid}/`,
        metadata_directory_ipfs_url: `${config.ipfs.gatewayBase}/${result.cid}`,
      };
      // Old clients get the body they know; what is new comes to those who ask for it.
      if (!wantsWarnings) return ok(c, uri);
      const { files, sizeBytes } = result;
      const report = { files, size_bytes: sizeBytes, warnings: await result.warnings() };
      return ok(c, { ...(dryRun ? { dry_run: true } : {}), ...uri, ...report });
    }),
  );
}

async function* metadataFiles(form: ReturnType<typeof readMultipart>): AsyncGenerator<FileInput> {
  const field = "metadata_files";
  let some = false;
  for await (const { name, fileName, contentType, stream } of form) {
    if (name !== field) continue;
    if (fileName === null) {
      throw new ServiceError("value_error", `each part ${field} must be a file with a name`, { field });
    }
    some = true;
    yield { fileName, contentType, stream };
  }
  if (!some) throw new ServiceError("parameter_missing", `send the files as parts ${field}`, { field });
}
