import type { FileUpload } from "graphql-upload-ts";
import { ServiceError } from "../errors.ts";
import type { Page } from "../nfts/page.ts";
import type { Services } from "../services.ts";
import { getUpload } from "../uploads/get-upload.ts";
import { type ListedUpload, listUploads } from "../uploads/list-uploads.ts";
import { type DisplayType, displayTypes, type MetadataInput, type Trait } from "../uploads/metadata-document.ts";
import { uploadFile } from "../uploads/upload-file.ts";
import { uploadMetadata } from "../uploads/upload-metadata.ts";
import { uploadMetadataDirectory } from "../uploads/upload-metadata-directory.ts";
import type { FileInput, Upload } from "../uploads/upload-record.ts";
import type { Builder } from "./builder.ts";
import { connectionCost, pageInfoOf, pageRequestOf } from "./connection.ts";
import { uploadBytes, uploadFailure } from "./upload-failure.ts";
import { type UserError, userErrorType, withUserErrors } from "./user-errors.ts";

/** Uploads of files, metadata documents and metadata directories. */
export function addUploads(builder: Builder): void {
  const stored = addStoredUpload(builder);
  const { upload } = stored;
  const payload = addPayload(builder, upload);
  const metadataInput = addMetadataInput(builder);
  builder.mutationFields((t) => ({
    uploadFile: t.field({
      type: payload,
      description: "Stores one file of any type on IPFS, unchanged.",
      args: { file: t.arg({ type: "Upload", required: true }) },
      resolve: async (_root, { file }, { services, caller }) => {
        const account = await caller();
        return await withUserErrors(async () => await uploadFile(services, account, await fileInput(file)));
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
      type: payload,
      description:
        "Stores JSON files as one directory. Each is linked under its name without the extension, which is what token URIs use, and in full: 0.json as 0 and 0.json.",
      args: { files: t.arg({ type: ["Upload"], required: true }) },
      resolve: async (_root, { files }, { services, caller }) => {
        const account = await caller();
        return await withUserErrors(() => uploadMetadataDirectory(services, account, fileInputs(files)));
      },
    }),
  }));
  builder.queryField("upload", (t) =>
    t.field({
      type: upload,
      description: "One upload of your account.",
      args: { id: t.arg.id({ required: true }) },
      resolve: async (_root, { id }, { services, caller }) => await getUpload(services, await caller(), String(id)),
    }),
  );
  addUploadList(builder, stored);
}

function addUploadList(builder: Builder, { upload, kind }: ReturnType<typeof addStoredUpload>): void {
  const edge = builder.objectRef<{ node: ListedUpload; cursor: string }>("StoredUploadEdge").implement({
    fields: (t) => ({ cursor: t.exposeString("cursor"), node: t.expose("node", { type: upload }) }),
  });
  const connection = builder.objectRef<Page<ListedUpload>>("StoredUploadConnection").implement({
    fields: (t) => ({
      edges: t.expose("items", { type: [edge], complexity: { multiplier: 1 } }),
      nodes: t.field({
        type: [upload],
        complexity: { multiplier: 1 },
        resolve: (page) => page.items.map((item) => item.node),
      }),
      pageInfo: t.field({ type: builder.pageInfoRef(), resolve: pageInfoOf }),
    }),
  });
  builder.queryField("uploads", (t) =>
    t.field({
      type: connection,
      description: "The uploads of your account, newest first, each with its pin state.",
      args: {
        kinds: t.arg({ type: [kind], description: "Only these kinds; all when absent." }),
        from: t.arg({ type: "DateTime", description: "Uploaded at this time or later." }),
        until: t.arg({ type: "DateTime", description: "Uploaded at this time or earlier." }),
        first: t.arg.int(),
        after: t.arg.string(),
        last: t.arg.int(),
        before: t.arg.string(),
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

interface Payload {
  result: Upload | null;
  userErrors: readonly UserError[];
}

function addPayload(builder: Builder, upload: ReturnType<typeof addStoredUpload>["upload"]) {
  return builder.objectRef<Payload>("UploadPayload").implement({
    fields: (t) => ({
      upload: t.field({
        type: upload,
        nullable: true,
        description: "On disk and committed; null when there are user errors, and then nothing was kept.",
        resolve: ({ result }) => result,
      }),
      userErrors: t.field({ type: [userErrorType(builder)], resolve: ({ userErrors }) => [...userErrors] }),
    }),
  });
}

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
        resolve: ({ cid }, _args, { services }) => gatewayUrl(services, cid),
      }),
      fileName: t.exposeString("fileName", { nullable: true }),
      contentType: t.exposeString("contentType", { nullable: true }),
      sizeBytes: t.exposeInt("sizeBytes", { description: "Of the file; of a directory, of all its files together." }),
      profile: t.exposeString("profile", { description: "How the bytes became CIDs (IPIP-499)." }),
      pinState: t.expose("pinState", { type: pinState }),
      createdAt: t.expose("createdAt", { type: "DateTime" }),
    }),
  });
  return { upload, kind };
}

function addMetadataInput(builder: Builder) {
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
}

function gatewayUrl({ config }: Services, cid: string): string {
  return `${config.ipfs.gatewayBase}/${cid}`;
}

async function fileInput(upload: Promise<FileUpload>): Promise<FileInput> {
  try {
    const { filename, mimetype, createReadStream } = await upload;
    return { fileName: filename || null, contentType: mimetype || null, stream: uploadBytes(createReadStream()) };
  } catch (error) {
    throw uploadFailure(error);
  }
}

async function* fileInputs(files: readonly Promise<FileUpload>[]): AsyncGenerator<FileInput> {
  for (const file of files) yield await fileInput(file);
}

interface GivenMetadata {
  name: string;
  description: string;
  fileUrl: string;
  externalUrl?: string | null | undefined;
  animationUrl?: string | null | undefined;
  attributes?: GivenTrait[] | null | undefined;
  customFields?: unknown;
}

interface GivenTrait {
  traitType: string;
  value?: unknown;
  maxValue?: number | null | undefined;
  displayType?: DisplayType | null | undefined;
}

function readMetadata(input: GivenMetadata): MetadataInput {
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
    throw new ServiceError("invalid_type", "the value of a trait must be a string or a number", { field });
  }
  return { traitType, value, maxValue: maxValue ?? null, displayType: displayType ?? null };
}

function customFieldsOf(value: unknown): Record<string, unknown> | null {
  if (value === null || value === undefined) return null;
  if (typeof value === "object" && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new ServiceError("invalid_type", "customFields must be an object", { field: "input.customFields" });
}
