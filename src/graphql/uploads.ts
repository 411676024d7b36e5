import type { Caller } from "../auth/caller.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Page } from "../nfts/page.ts";
import type { DirectoryWarning } from "../uploads/lint-directory.ts";
import { getUpload, listUploads } from "../uploads/list-uploads.ts";
import { uploadFile } from "../uploads/upload-file.ts";
import { type DisplayType, type MetadataInput, type Trait, uploadMetadata } from "../uploads/upload-metadata.ts";
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
      args: {
        file: t.arg({
          type: "Upload",
          required: true,
          description: "The file, up to 20 MiB unless the installation has another limit.",
        }),
      },
      resolve: async (_root, { file }, { services, caller }) =>
        await withUserErrors(caller(), async (account) => ({
          upload: await uploadFile(services, account, await file.open()),
        })),
    }),
    uploadMetadata: t.field({
      type: payload,
      description: "Stores one metadata document on IPFS.",
      args: {
        input: t.arg({
          type: metadataInput,
          required: true,
          description: "The members of the document, up to 1 MiB as JSON.",
        }),
      },
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
        files: t.arg({
          type: ["Upload"],
          required: true,
          description: "The JSON files, named by token id: 0.json, 1.json and so on.",
        }),
        dryRun: t.arg.boolean({ description: "Check everything and compute the CID; nothing is stored." }),
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
      args: { id: t.arg.id({ required: true, description: "The id of the upload." }) },
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
        kinds: t.arg({ type: [kind], description: "Only uploads of these kinds; of all when absent." }),
        from: t.arg({ type: "DateTime", description: "Only uploads at this time or later." }),
        until: t.arg({ type: "DateTime", description: "Only uploads at this time or earlier." }),
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

/** A metadata document as an input of uploads and mints. */
export const metadataInputType = oncePerBuilder((builder: Builder) => {
  const displayType = builder.enumType("TraitDisplayType", {
    description: "How marketplaces show a trait that is a number (`display_type` in the metadata).",
    values: {
      boost_number: { description: "A boost by a number, such as +5." },
      boost_percentage: { description: "A boost by a share, such as +10 %." },
      number: { description: "A plain number, such as a generation." },
      date: { description: "A date, as Unix seconds." },
    } satisfies Record<DisplayType, { description: string }>,
  });
  const trait = builder.inputType("TraitInput", {
    description: "A trait of a token, as an item of `attributes` in its metadata.",
    fields: (t) => ({
      traitType: t.string({ required: true, description: "The name of the trait, such as Fur (`trait_type`)." }),
      value: t.field({ type: "JSON", required: true, description: "The value of the trait: a string or a number." }),
      maxValue: t.float({ description: "The highest value that a number can have (`max_value`)." }),
      displayType: t.field({ type: displayType, description: "How marketplaces show a number (`display_type`)." }),
    }),
  });
  return builder.inputType("MetadataInput", {
    description: "The metadata document of a token.",
    fields: (t) => ({
      name: t.string({ required: true, description: "The name of the token." }),
      description: t.string({ required: true, description: "The description of the token; may be empty." }),
      fileUrl: t.string({
        required: true,
        description: "The link of the picture or another file, such as ipfs://…; it becomes `image` of the document.",
      }),
      externalUrl: t.string({ description: "The link of a page about the token (`external_url`)." }),
      animationUrl: t.string({ description: "The link of a video, a model or a page (`animation_url`)." }),
      attributes: t.field({ type: [trait], description: "The traits of the token." }),
      customFields: t.field({
        type: "JSON",
        description:
          "An object whose members are added to the document; one with the name of another field replaces it.",
      }),
    }),
  });
});

type GivenMetadata = ReturnType<typeof metadataInputType>["$inferInput"];
type GivenTrait = NonNullable<GivenMetadata["attributes"]>[number];

/** Converts the input for the use case. @throws ServiceError `invalid_type` for faults beyond the schema. */
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

/** `StoredUpload` and its enums. */
function addStoredUpload(builder: Builder) {
  const kind = builder.enumType("UploadKind", {
    description: "What was uploaded.",
    values: {
      FILE: { value: "file", description: "A file, by `uploadFile`." },
      METADATA: { value: "metadata", description: "A metadata document, by `uploadMetadata`." },
      METADATA_DIRECTORY: {
        value: "metadata_directory",
        description: "A metadata directory, by `uploadMetadataDirectory`.",
      },
    } as const,
  });
  const pinState = builder.enumType("PinState", {
    description: "Whether the content was handed on to a pinning service. Its bytes are stored here in every state.",
    values: {
      LOCAL: { value: "local", description: "No pinning service was configured." },
      QUEUED: { value: "queued", description: "It waits to be handed to the pinning service." },
      PINNED: { value: "pinned", description: "The pinning service has pinned it." },
      FAILED: { value: "failed", description: "The pinning service refused it; the operator sees why." },
    } as const,
  });
  const upload = builder.objectRef<Upload>("StoredUpload").implement({
    description: "Content that your account stored on IPFS.",
    fields: (t) => ({
      id: t.exposeID("id", { description: "The id of the upload." }),
      kind: t.expose("kind", { type: kind, description: "What was uploaded." }),
      cid: t.expose("cid", { type: "CID", description: "The CID of the content." }),
      uri: t.string({
        description:
          "The IPFS URI of the content, ipfs://<cid>; of a directory with a slash at its end, ready to be a base URI.",
        resolve: ({ kind, cid }) => `ipfs://${cid}${kind === "metadata_directory" ? "/" : ""}`,
      }),
      url: t.string({
        description: "The URL of the content at the installation's IPFS gateway.",
        resolve: ({ cid }, _args, { services }) => `${services.config.ipfs.gatewayBase}/${cid}`,
      }),
      fileName: t.exposeString("fileName", {
        nullable: true,
        description: "The name that the file was sent with; null where it had none.",
      }),
      contentType: t.exposeString("contentType", {
        nullable: true,
        description: "The media type of the file, such as image/png; null where it is not known.",
      }),
      sizeBytes: t.exposeFloat("sizeBytes", {
        description: "The size in bytes; of a directory, the sum of its files.",
      }),
      profile: t.exposeString("profile", {
        description: "The rules by which bytes became CIDs (IPIP-499), such as unixfs-v1-2025.",
      }),
      pinState: t.expose("pinState", {
        type: pinState,
        description: "Whether the content was handed on to a pinning service.",
      }),
      createdAt: t.expose("createdAt", { type: "DateTime", description: "When it was uploaded." }),
    }),
  });
  return { upload, kind };
}

type StoredUpload = ReturnType<typeof addStoredUpload>["upload"];

/** The payload of file and document uploads. */
function uploadPayload(builder: Builder, upload: StoredUpload) {
  return payloadType<{ upload: Upload }>(builder, "UploadPayload", "`uploadFile` and `uploadMetadata`", (t) => ({
    upload: t.expose("upload", {
      type: upload,
      nullable: true,
      description: "The upload, on disk and committed; null when there are user errors, and then nothing was kept.",
    }),
  }));
}

/** The payload of directory uploads. */
function directoryPayload(builder: Builder, upload: StoredUpload) {
  const warning = builder.objectRef<DirectoryWarning>("DirectoryWarning").implement({
    description: "A rule that files of a directory break; the directory is stored all the same.",
    fields: (t) => ({
      rule: t.exposeString("rule", {
        description: "The name of the rule, stable for programs, such as image_missing.",
      }),
      message: t.exposeString("message", { description: "What the files do wrong, in English." }),
      count: t.exposeFloat("count", {
        description: "How many files break the rule, or how many token ids it is about.",
      }),
      examples: t.exposeStringList("examples", {
        description: "The first cases, up to ten: names of files, with what is wrong there, or missing token ids.",
      }),
    }),
  });
  return payloadType<DirectoryResult>(builder, "MetadataDirectoryPayload", "`uploadMetadataDirectory`", (t) => ({
    upload: t.expose("upload", {
      type: upload,
      nullable: true,
      description:
        "The upload, on disk and committed; null in a dry run, and when there are user errors: then nothing was kept.",
    }),
    cid: t.expose("cid", {
      type: "CID",
      nullable: true,
      description: "The CID of the directory; in a dry run the one that an upload of these files will have.",
    }),
    uri: t.string({
      nullable: true,
      description: "The IPFS URI of the directory, ipfs://<cid>/, ready to be a base URI.",
      resolve: ({ cid }) => (cid === undefined ? null : `ipfs://${cid}/`),
    }),
    fileCount: t.exposeInt("files", {
      nullable: true,
      description: "How many files the directory has; null when there are user errors.",
    }),
    sizeBytes: t.exposeFloat("sizeBytes", { nullable: true, description: "The size of all files in bytes." }),
    warnings: t.field({
      type: [warning],
      description: "What wallets and marketplaces will have trouble with, by rule.",
      resolve: async ({ warnings }) => [...((await warnings?.()) ?? [])],
    }),
    userErrors: t.field({
      type: [userErrorType(builder)],
      description: "The faults of the files, up to a hundred; `field` is the name of the file.",
      resolve: ({ userErrors }) => [...userErrors],
    }),
  }));
}
