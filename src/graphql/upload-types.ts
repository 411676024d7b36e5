import type { Services } from "../services.ts";
import type { DirectoryWarning } from "../uploads/lint-directory.ts";
import type { DirectoryResult } from "../uploads/upload-metadata-directory.ts";
import type { Upload } from "../uploads/upload-record.ts";
import type { Builder } from "./builder.ts";
import { type UserError, userErrorType } from "./user-errors.ts";

/** One upload and the words about it. */
export function addStoredUpload(builder: Builder) {
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
      sizeBytes: t.exposeFloat("sizeBytes", { description: "Of the file; of a directory, of all its files together." }),
      profile: t.exposeString("profile", { description: "How the bytes became CIDs (IPIP-499)." }),
      pinState: t.expose("pinState", { type: pinState }),
      createdAt: t.expose("createdAt", { type: "DateTime" }),
    }),
  });
  return { upload, kind };
}

function gatewayUrl({ config }: Services, cid: string): string {
  return `${config.ipfs.gatewayBase}/${cid}`;
}

interface Payload {
  result: Upload | null;
  userErrors: readonly UserError[];
}

/** What uploads of files and documents answer. */
export function addPayload(builder: Builder, upload: ReturnType<typeof addStoredUpload>["upload"]) {
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

export interface DirectoryPayload {
  result: DirectoryResult | null;
  userErrors: readonly UserError[];
  warnings(): Promise<readonly DirectoryWarning[]>;
}

/** What uploads of directories answer. */
export function addDirectoryPayload(builder: Builder, upload: ReturnType<typeof addStoredUpload>["upload"]) {
  const warning = builder.objectRef<DirectoryWarning>("DirectoryWarning").implement({
    description: "A rule that files of a directory break. It is stored all the same.",
    fields: (t) => ({
      rule: t.exposeString("rule", { description: "Stable, for programs; docs/storage.md lists them." }),
      message: t.exposeString("message"),
      count: t.exposeFloat("count", { description: "Files that break it." }),
      examples: t.exposeStringList("examples", { description: "The first of them." }),
    }),
  });
  return builder.objectRef<DirectoryPayload>("MetadataDirectoryPayload").implement({
    fields: (t) => ({
      upload: t.field({
        type: upload,
        nullable: true,
        description: "On disk and committed; null of a dry run, and when there are user errors: then nothing was kept.",
        resolve: ({ result }) => result?.upload ?? null,
      }),
      cid: t.field({
        type: "CID",
        nullable: true,
        description: "Of the directory; of a dry run the one that an upload of these files will have.",
        resolve: ({ result }) => result?.cid ?? null,
      }),
      uri: t.string({
        nullable: true,
        description: "ipfs://<cid>/, ready to be a base URI.",
        resolve: ({ result }) => result && `ipfs://${result.cid}/`,
      }),
      fileCount: t.int({ nullable: true, resolve: ({ result }) => result?.files ?? null }),
      sizeBytes: t.float({
        nullable: true,
        description: "Of all files together.",
        resolve: ({ result }) => result?.sizeBytes ?? null,
      }),
      warnings: t.field({
        type: [warning],
        description: "What wallets and markets will stumble over, by rule.",
        resolve: async ({ warnings }) => [...(await warnings())],
      }),
      userErrors: t.field({
        type: [userErrorType(builder)],
        description: "Every fault of every file, up to a hundred; `field` is the file.",
        resolve: ({ userErrors }) => [...userErrors],
      }),
    }),
  });
}
