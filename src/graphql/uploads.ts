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
        "Stores JSON files as one directory. Each file is linked under its full name and without the extension, which token URIs use: 0.json as 0.json and 0.",
      args: {
        files: t.arg({
          type: ["Upload"],
          required: true,
          description: "The JSON files, named by token id: 0.json, 1.json and so on.",
        }),
        dryRun: t.arg.boolean({ description: "Validate everything and compute the CID. Nothing is stored." }),
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
      description: "The uploads of your account, newest first, with their pin states.",
      args: {
        kinds: t.arg({ type: [kind], description: "Only uploads of these kinds. All kinds if omitted." }),
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
    description: "How marketplaces display a numeric trait (`display_type` in the metadata).",
    values: {
      boost_number: { description: "A numeric boost, such as +5." },
      boost_percentage: { description: "A percentage boost, such as +10 %." },
      number: { description: "A plain number, such as a generation." },
      date: { description: "A date, in Unix seconds." },
    } satisfies Record<DisplayType, { description: string }>,
  });
  const trait = builder.inputType("TraitInput", {
    description: "A trait of a token: one item of `attributes` in its metadata.",
    fields: (t) => ({
      traitType: t.string({ required: true, description: "The name of the trait, such as Fur (`trait_type`)." }),
      value: t.field({ type: "JSON", required: true, description: "The value of the trait: a string or a number." }),
      maxValue: t.float({ description: "The maximum of a numeric trait (`max_value`)." }),
      displayType: t.field({
        type: displayType,
        description: "How marketplaces display a numeric trait (`display_type`).",
      }),
    }),
  });
  return builder.inputType("MetadataInput", {
    description: "The metadata document of a token.",
    fields: (t) => ({
      name: t.string({ required: true, description: "The name of the token." }),
      description: t.string({ required: true, description: "The description of the token; may be empty." }),
      fileUrl: t.string({
        required: true,
        description: "The URL of the image or another file, such as ipfs://…. It becomes `image` of the document.",
      }),
      externalUrl: t.string({ description: "The URL of a page about the token (`external_url`)." }),
      animationUrl: t.string({ description: "The URL of a video, a 3D model or a page (`animation_url`)." }),
      attributes: t.field({ type: [trait], description: "The traits of the token." }),
      customFields: t.field({
        type: "JSON",
        description:
          "An object whose members are added to the document. A member with the name of another field replaces that field.",
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

function addStoredUpload(builder: Builder) {
  const kind = builder.enumType("UploadKind", {
    description: "The kind of an upload.",
    values: {
      FILE: { value: "file", description: "A file, from `uploadFile`." },
      METADATA: { value: "metadata", description: "A metadata document, from `uploadMetadata`." },
      METADATA_DIRECTORY: {
        value: "metadata_directory",
        description: "A metadata directory, from `uploadMetadataDirectory`.",
      },
    } as const,
  });
  const pinState = builder.enumType("PinState", {
    description:
      "The state of the content at the pinning service. In every state, this service stores the content itself.",
    values: {
      LOCAL: { value: "local", description: "No pinning service was configured." },
      QUEUED: { value: "queued", description: "The content waits to be sent to the pinning service." },
      PINNED: { value: "pinned", description: "The pinning service has pinned the content." },
      FAILED: { value: "failed", description: "The pinning service refused the content; the operator can see why." },
    } as const,
  });
  const upload = builder.objectRef<Upload>("StoredUpload").implement({
    description: "Content that your account stored on IPFS.",
    fields: (t) => ({
      id: t.exposeID("id", { description: "The id of the upload." }),
      kind: t.expose("kind", { type: kind, description: "The kind of the upload." }),
      cid: t.expose("cid", { type: "CID", description: "The CID of the content." }),
      uri: t.string({
        description:
          "The IPFS URI of the content, ipfs://<cid>. That of a directory ends with a slash and can be used as a base URI.",
        resolve: ({ kind, cid }) => `ipfs://${cid}${kind === "metadata_directory" ? "/" : ""}`,
      }),
      url: t.string({
        description: "The URL of the content at the installation's IPFS gateway.",
        resolve: ({ cid }, _args, { services }) => `${services.config.ipfs.gatewayBase}/${cid}`,
      }),
      fileName: t.exposeString("fileName", {
        nullable: true,
        description: "The file name, as sent. Null if none was sent.",
      }),
      contentType: t.exposeString("contentType", {
        nullable: true,
        description: "The media type of the file, such as image/png. Null if it is not known.",
      }),
      sizeBytes: t.exposeFloat("sizeBytes", {
        description: "The size in bytes; for a directory, the total of its files.",
      }),
      profile: t.exposeString("profile", {
        description: "The profile that was used to compute the CID (IPIP-499), such as unixfs-v1-2025.",
      }),
      pinState: t.expose("pinState", {
        type: pinState,
        description: "The state of the content at the pinning service.",
      }),
      createdAt: t.expose("createdAt", { type: "DateTime", description: "When the content was uploaded." }),
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
      description: "The upload, committed to disk. Null if there are user errors; then nothing was stored.",
    }),
  }));
}

/** The payload of directory uploads. */
function directoryPayload(builder: Builder, upload: StoredUpload) {
  const warning = builder.objectRef<DirectoryWarning>("DirectoryWarning").implement({
    description: "A rule that files of a directory violate. The directory is stored nevertheless.",
    fields: (t) => ({
      rule: t.exposeString("rule", {
        description: "The stable name of the rule, such as image_missing.",
      }),
      message: t.exposeString("message", { description: "What is wrong with the files, in English." }),
      count: t.exposeFloat("count", {
        description: "The number of files that violate the rule, or of token ids that it concerns.",
      }),
      examples: t.exposeStringList("examples", {
        description: "The first cases, up to ten: file names with what is wrong, or missing token ids.",
      }),
    }),
  });
  return payloadType<DirectoryResult>(builder, "MetadataDirectoryPayload", "`uploadMetadataDirectory`", (t) => ({
    upload: t.expose("upload", {
      type: upload,
      nullable: true,
      description:
        "The upload, committed to disk. Null in a dry run and if there are user errors; then nothing was stored.",
    }),
    cid: t.expose("cid", {
      type: "CID",
      nullable: true,
      description: "The CID of the directory. In a dry run, the CID that uploading these files would have.",
    }),
    uri: t.string({
      nullable: true,
      description: "The IPFS URI of the directory, ipfs://<cid>/. It can be used as a base URI.",
      resolve: ({ cid }) => (cid === undefined ? null : `ipfs://${cid}/`),
    }),
    fileCount: t.exposeInt("files", {
      nullable: true,
      description: "The number of files in the directory. Null if there are user errors.",
    }),
    sizeBytes: t.exposeFloat("sizeBytes", { nullable: true, description: "The total size of the files in bytes." }),
    warnings: t.field({
      type: [warning],
      description: "What wallets and marketplaces will not display well, by rule.",
      resolve: async ({ warnings }) => [...((await warnings?.()) ?? [])],
    }),
    userErrors: t.field({
      type: [userErrorType(builder)],
      description: "The errors of the files, up to 100; `field` is the file name.",
      resolve: ({ userErrors }) => [...userErrors],
    }),
  }));
}
