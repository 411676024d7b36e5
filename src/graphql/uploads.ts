import type { Page } from "../nfts/page.ts";
import type { DirectoryWarning } from "../uploads/lint-directory.ts";
import { getUpload, listUploads } from "../uploads/list-uploads.ts";
import { uploadFile } from "../uploads/upload-file.ts";
import { uploadMetadata } from "../uploads/upload-metadata.ts";
import { uploadMetadataDirectory } from "../uploads/upload-metadata-directory.ts";
import type { FileInput, Upload } from "../uploads/upload-record.ts";
import type { Builder } from "./builder.ts";
import { connectionCost, pageArgs, pageRequestOf } from "./connection.ts";
import { metadataInputType, readMetadata } from "./metadata-input.ts";
import { connectionOf } from "./page-types.ts";
import { addDirectoryPayload, addPayload, addStoredUpload, type DirectoryPayload } from "./upload-types.ts";
import type { UploadedFile } from "./uploaded-file.ts";
import { withUserErrors } from "./user-errors.ts";
import { viewerType } from "./viewer.ts";

/** Uploads of files, metadata documents and metadata directories. */
export function addUploads(builder: Builder): void {
  const stored = addStoredUpload(builder);
  const { upload } = stored;
  const payload = addPayload(builder, upload);
  const directoryPayload = addDirectoryPayload(builder, upload);
  const metadataInput = metadataInputType(builder);
  builder.mutationFields((t) => ({
    uploadFile: t.field({
      type: payload,
      description: "Stores one file of any type on IPFS, unchanged.",
      args: { file: t.arg({ type: "Upload", required: true }) },
      resolve: async (_root, { file }, { services, caller }) => {
        const account = await caller();
        return await withUserErrors(async () => await uploadFile(services, account, await file.open()));
      },
    }),
    uploadMetadata: t.field({
      type: payload,
      description: "Stores one metadata document on IPFS.",
      args: { input: t.arg({ type: metadataInput, required: true }) },
      resolve: async (_root, { input }, { services, caller }) => {
        const account = await caller();
        return await withUserErrors(async () => await uploadMetadata(services, account, readMetadata(input)));
      },
    }),
    uploadMetadataDirectory: t.field({
      type: directoryPayload,
      description:
        "Stores JSON files as one directory. Each is linked under its name without the extension, which is what token URIs use, and in full: 0.json as 0 and 0.json.",
      args: {
        files: t.arg({ type: ["Upload"], required: true }),
        dryRun: t.arg.boolean({ description: "Check everything and tell the CID; nothing is stored." }),
      },
      resolve: async (_root, { files, dryRun }, { services, caller }) => {
        const account = await caller();
        let warnings: DirectoryPayload["warnings"] = async () => [];
        const run = async () => {
          const options = { dryRun: dryRun ?? false };
          const result = await uploadMetadataDirectory(services, account, opened(files), options);
          warnings = result.warnings;
          return result;
        };
        const answer = await withUserErrors(run, (error) => {
          const found = (error.details?.["warnings"] ?? []) as readonly DirectoryWarning[];
          warnings = async () => found;
        });
        return { ...answer, warnings };
      },
    }),
  }));
  builder.objectField(viewerType(builder), "upload", (t) =>
    t.field({
      type: upload,
      nullable: true,
      description: "One upload of your account.",
      args: { id: t.arg.id({ required: true }) },
      resolve: async (_root, { id }, { services, caller }) => await getUpload(services, await caller(), String(id)),
    }),
  );
  addUploadList(builder, stored);
}

function addUploadList(builder: Builder, { upload, kind }: ReturnType<typeof addStoredUpload>): void {
  const connection = connectionOf<Upload, Page<Upload>>(builder, "StoredUpload", upload);
  builder.objectField(viewerType(builder), "uploads", (t) =>
    t.field({
      type: connection,
      nullable: true,
      description: "The uploads of your account, newest first, each with its pin state.",
      args: {
        kinds: t.arg({ type: [kind], description: "Only these kinds; all when absent." }),
        from: t.arg({ type: "DateTime", description: "Uploaded at this time or later." }),
        until: t.arg({ type: "DateTime", description: "Uploaded at this time or earlier." }),
        ...pageArgs(builder),
      },
      complexity: connectionCost,
      resolve: async (_root, args, { services, caller }) => {
        const { kinds, from, until } = args;
        const times = { from: from ?? undefined, until: until ?? undefined };
        return await listUploads(services, await caller(), { kinds: kinds ?? [], ...times, page: pageRequestOf(args) });
      },
    }),
  );
}

async function* opened(files: readonly UploadedFile[]): AsyncGenerator<FileInput> {
  for (const file of files) yield await file.open();
}
