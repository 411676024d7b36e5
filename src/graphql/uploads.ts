import type { Caller } from "../auth/caller.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Page } from "../nfts/page.ts";
import type { DirectoryWarning } from "../uploads/lint-directory.ts";
import { getUpload, listUploads } from "../uploads/list-uploads.ts";
import { uploadFile } from "../uploads/upload-file.ts";
import { displayTypes, type MetadataInput, type Trait, uploadMetadata } from "../uploads/upload-metadata.ts";
import { type DirectoryResult, uploadMetadataDirectory } from "../uploads/upload-metadata-directory.ts";
import type { FileInput, Upload } from "../uploads/upload-record.ts";
import { type Builder, oncePerBuilder, present } from "./builder.ts";
import { connectionCost, connectionOf, pageArgs, pageRequestOf } from "./connection.ts";
import type { UploadedFile } from "./multipart-request.ts";
import { payloadType, userErrorType, withUserErrors } from "./user-errors.ts";
import { viewerType } from "./viewer.ts";

/** Uploads of files, metadata documents and metadata directories. */
export function addUploads(builder: Builder): void {
  const stored = addStoredUpload(builder);
  const { upload } = stored;
  const payload = uploadPayload(builder, upload);
  const metadataInput = metadataInputType(builder);
  builder.mutationFields((t) => ({
    uploadFile: t.field({
      type: payload,
      description: "Stores one file of any type on IPFS, unchanged.",
      args: { file: t.arg({ type: "Upload", required: true }) },
      resolve: async (_root, { file }, { services, caller }) =>
        await withUserErrors(caller(), async (account) => ({
          upload: await uploadFile(services, account, await file.open()),
        })),
    }),
    uploadMetadata: t.field({
      type: payload,
      description: "Stores one metadata document on IPFS.",
      args: { input: t.arg({ type: metadataInput, required: true }) },
      resolve: async (_root, { input }, { services, caller }) =>
        await withUserErrors(caller(), async (account) => ({
          upload: await uploadMetadata(services, account, readMetadata(input)),
        })),
    }),
    uploadMetadataDirectory: t.field({
      type: directoryPayload(builder, upload),
      description:
        "Stores JSON files as one directory. Each is linked under its name without the extension, which is what token URIs use, and in full: 0.json as 0 and 0.json.",
      args: {
        files: t.arg({ type: ["Upload"], required: true }),
        dryRun: t.arg.boolean({ description: "Check everything and tell the CID; nothing is stored." }),
      },
      resolve: async (_root, { files, dryRun }, { services, caller }) =>
        await withUserErrors<Caller, DirectoryResult>(
          caller(),
          (account) => uploadMetadataDirectory(services, account, opened(files), { dryRun: dryRun ?? false }),
          ({ details }) => ({ warnings: async () => (details?.["warnings"] ?? []) as readonly DirectoryWarning[] }),
        ),
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
        const { kinds = [], from, until } = present(args);
        return await listUploads(services, await caller(), { kinds, from, until, page: pageRequestOf(args) });
      },
    }),
  );
}

async function* opened(files: readonly UploadedFile[]): AsyncGenerator<FileInput> {
  for (const file of files) yield await file.open();
}

/** A metadata document as an input, of uploads and mints. */
export const metadataInputType = oncePerBuilder((builder: Builder) => {
  const displayType = builder.enumType("TraitDisplayType", { values: displayTypes });
  const trait = builder.inputType("TraitInput", {
    fields: (t) => ({
      traitType: t.string({ required: true }),
      value: t.field({ type: "JSON", required: true, description: "A string or a number." }),
      maxValue: t.float(),
      displayType: t.field({ type: displayType }),
    }),
  });
  return builder.inputType("MetadataInput", {
    fields: (t) => ({
      name: t.string({ required: true }),
      description: t.string({ required: true }),
      fileUrl: t.string({ required: true, description: "Link of the image or other file; stored as image." }),
      externalUrl: t.string(),
      animationUrl: t.string(),
      attributes: t.field({ type: [trait] }),
      customFields: t.field({ type: "JSON", description: "An object; its members are added to the document." }),
    }),
  });
});

type GivenMetadata = ReturnType<typeof metadataInputType>["$inferInput"];
type GivenTrait = NonNullable<GivenMetadata["attributes"]>[number];

/** What the use case takes. @throws ServiceError `invalid_type` for what the schema cannot say. */
export function readMetadata(input: GivenMetadata): MetadataInput {
  return {
    name: input.name,
    description: input.description,
    fileUrl: input.fileUrl,
    externalUrl: input.externalUrl ?? null,
    animationUrl: input.animationUrl ?? null,
    attributes: input.attributes?.map(traitOf) ?? null,
    customFields: customFieldsOf(input.customFields),
  };
}

function traitOf({ traitType, value, maxValue, displayType }: GivenTrait, index: number): Trait {
  if (typeof value !== "string" && typeof value !== "number") {
    const field = `input.attributes.${index}.value`;
    const fix = `Send ${field} as a string or a number.`;
    throw new ServiceError("invalid_type", "the value of a trait must be a string or a number", { field, fix });
  }
  return { traitType, value, maxValue: maxValue ?? null, displayType: displayType ?? null };
}

function customFieldsOf(value: unknown): Record<string, unknown> | null {
  if (value === null || value === undefined) return null;
  if (typeof value === "object" && !Array.isArray(value)) return value as Record<string, unknown>;
  const fix = "Send input.customFields as an object.";
  throw new ServiceError("invalid_type", "customFields must be an object", { field: "input.customFields", fix });
}

/** One upload and the words about it. */
function addStoredUpload(builder: Builder) {
  const kind = builder.enumType("UploadKind", {
    values: {
      FILE: { value: "file" },
      METADATA: { value: "metadata" },
      METADATA_DIRECTORY: { value: "metadata_directory" },
    } as const,
  });
  const pinState = builder.enumType("PinState", {
    description: "Whether the content was handed on to a pinning service. Its bytes are stored here in every state.",
    values: {
      LOCAL: { value: "local", description: "No pinning service was configured." },
      QUEUED: { value: "queued" },
      PINNED: { value: "pinned" },
      FAILED: { value: "failed", description: "The pinning service refused it; the operator sees why." },
    } as const,
  });
  const upload = builder.objectRef<Upload>("StoredUpload").implement({
    description: "Content that your account stored on IPFS.",
    fields: (t) => ({
      id: t.exposeID("id"),
      kind: t.expose("kind", { type: kind }),
      cid: t.expose("cid", { type: "CID" }),
      uri: t.string({
        description: "ipfs://<cid>; of a directory with a slash at its end, ready to be a base URI.",
        resolve: ({ kind, cid }) => `ipfs://${cid}${kind === "metadata_directory" ? "/" : ""}`,
      }),
      url: t.string({
        description: "The content at the configured gateway.",
        resolve: ({ cid }, _args, { services }) => `${services.config.ipfs.gatewayBase}/${cid}`,
      }),
      fileName: t.exposeString("fileName", { nullable: true }),
      contentType: t.exposeString("contentType", { nullable: true }),
      sizeBytes: t.exposeFloat("sizeBytes", { description: "Of the file; of a directory, of all its files together." }),
      profile: t.exposeString("profile", { description: "How the bytes became CIDs (IPIP-499)." }),
      pinState: t.expose("pinState", { type: pinState }),
      createdAt: t.expose("createdAt", { type: "DateTime" }),
    }),
  });
  return { upload, kind };
}

type StoredUpload = ReturnType<typeof addStoredUpload>["upload"];

/** What uploads of files and documents answer. */
function uploadPayload(builder: Builder, upload: StoredUpload) {
  return payloadType<{ upload: Upload }>(builder, "UploadPayload", (t) => ({
    upload: t.expose("upload", {
      type: upload,
      nullable: true,
      description: "On disk and committed; null when there are user errors, and then nothing was kept.",
    }),
  }));
}

/** What uploads of directories answer. */
function directoryPayload(builder: Builder, upload: StoredUpload) {
  const warning = builder.objectRef<DirectoryWarning>("DirectoryWarning").implement({
    description: "A rule that files of a directory break. It is stored all the same.",
    fields: (t) => ({
      rule: t.exposeString("rule", { description: "Stable, for programs; docs/storage.md lists them." }),
      message: t.exposeString("message"),
      count: t.exposeFloat("count", { description: "Files that break it." }),
      examples: t.exposeStringList("examples", { description: "The first of them." }),
    }),
  });
  return payloadType<DirectoryResult>(builder, "MetadataDirectoryPayload", (t) => ({
    upload: t.expose("upload", {
      type: upload,
      nullable: true,
      description: "On disk and committed; null of a dry run, and when there are user errors: then nothing was kept.",
    }),
    cid: t.expose("cid", {
      type: "CID",
      nullable: true,
      description: "Of the directory; of a dry run the one that an upload of these files will have.",
    }),
    uri: t.string({
      nullable: true,
      description: "ipfs://<cid>/, ready to be a base URI.",
      resolve: ({ cid }) => (cid === undefined ? null : `ipfs://${cid}/`),
    }),
    fileCount: t.exposeInt("files", { nullable: true }),
    sizeBytes: t.exposeFloat("sizeBytes", { nullable: true, description: "Of all files together." }),
    warnings: t.field({
      type: [warning],
      description: "What wallets and markets will stumble over, by rule.",
      resolve: async ({ warnings }) => [...((await warnings?.()) ?? [])],
    }),
    userErrors: t.field({
      type: [userErrorType(builder)],
      description: "Every fault of every file, up to a hundred; `field` is the file.",
      resolve: ({ userErrors }) => [...userErrors],
    }),
  }));
}
