import * as z from "zod";
import type { ErrorCode } from "../errors/errors.ts";
import {
  anyObject,
  date,
  dateFormat,
  integer,
  type Json,
  jsonSchemaOf,
  list,
  type Members,
  nullableText,
  operation,
  pageNumberQuery,
  query,
  read,
  text,
} from "./openapi-parts.ts";

const file = text.meta({ format: "binary" });
const gatewayUrl = "URL of the content at this service's IPFS gateway.";

const fileName = nullableText.describe("Name that the file was sent with; null when it had none.");
const contentType = nullableText.describe("Content type that the file was sent with; null when it had none.");
const fileSize = integer.describe("Size in bytes.");
const fileSizeMb = z.number().describe("Size in units of 1,048,576 bytes, to four decimals.");
const kind = z.enum(["file", "metadata", "metadata_directory"]);
const storageItem = z.object({
  storage_type: kind.describe("What was uploaded; the same as `type`."),
  type: kind.describe("What was uploaded."),
  file_name: fileName.optional(),
  ipfs_uri: text.describe("`ipfs://` and the CID; that of a directory ends with a slash."),
  ipfs_url: text.describe(gatewayUrl),
  uploaded_date: text.describe("When it was uploaded: UTC without an offset, to microseconds."),
  content_type: contentType.optional(),
  file_size: fileSize.optional(),
  file_size_mb: fileSizeMb.optional(),
  metadata: anyObject
    .nullable()
    .describe("The stored document; null where it cannot be read, or when the documents of the page are too large.")
    .optional(),
});
/** Warnings about a directory, on request. */
export const directoryWarning = z.object({
  rule: text.describe("Name of the rule, for programs, such as `image_missing`."),
  message: text.describe("What is wrong, for people."),
  count: integer.describe("How many files break the rule; of `token_ids_missing`, how many ids."),
  examples: z.array(text).describe("The first ten of them."),
});
const directoryReport = {
  dry_run: z.literal(true).describe("Present in the answer of a dry run: nothing was stored.").optional(),
  files: integer.describe("How many files were accepted; with `warnings` or in a dry run.").optional(),
  size_bytes: integer.describe("Size of the directory in bytes; with `warnings` or in a dry run.").optional(),
  warnings: z
    .array(directoryWarning)
    .describe("What wallets and markets will not show well; with `warnings` or in a dry run.")
    .optional(),
};

const attribute = z.object({
  trait_type: text.describe("Name of the trait."),
  value: z.union([z.string(), z.number()]).describe("Value of the trait, a text or a number."),
  max_value: z.number().nullable().describe("Largest value that a number may have; null: none given.").optional(),
  display_type: z
    .enum(["boost_number", "boost_percentage", "number", "date"])
    .nullable()
    .describe("How markets show a number; null: as they like.")
    .optional(),
});
const uploadedFile = {
  ipfs_url: text.describe(`${gatewayUrl} The CID is its last part.`),
  file_name: fileName,
  content_type: contentType,
  file_size: fileSize,
  file_size_mb: fileSizeMb,
};
const metadataMembers = {
  name: text.describe("Name of the token, not empty."),
  description: text.describe("Description of the token; it may be empty."),
  file_url: text.describe("Link to the image or other file, best `ipfs://…`; stored as `image`."),
  external_url: nullableText.describe("Link to a page about the token; null: none."),
  animation_url: nullableText.describe("Link to an animation, video or page; null: none."),
  custom_fields: anyObject
    .nullable()
    .describe(
      "Further members of the document, in their order; one named like a member above replaces it; null: none.",
    ),
  attributes: z.array(attribute).nullable().describe("Traits of the token; null: none."),
};
const metadataBody = z
  .object(metadataMembers)
  .partial({ external_url: true, animation_url: true, custom_fields: true, attributes: true });

/** Files, metadata, and the account's uploads. */
export function uploadPaths(): Json {
  return {
    "/v0/files": {
      post: upload(
        "Store a file on IPFS",
        "file",
        file.describe("The file, 20 MiB at most unless the operator set another limit."),
        uploadedFile,
        ["file_too_large", "storage_full"],
      ),
    },
    "/v0/metadata": {
      post: operation(
        "Store one metadata document on IPFS",
        [],
        { metadata_uri: text.describe("`ipfs://` and the CID of the stored document."), ...metadataMembers },
        ["file_too_large", "storage_full"],
        metadataBody,
      ),
    },
    "/v0/metadata/directory": {
      post: upload(
        "Store a folder of metadata files on IPFS",
        "metadata_files",
        z.array(file).describe("The JSON files, one part for each, named by token id as in `0.json`."),
        {
          metadata_directory_ipfs_uri: text.describe("`ipfs://`, the CID and a slash: the `base_uri` of a collection."),
          metadata_directory_ipfs_url: text.describe(gatewayUrl),
          ...directoryReport,
        },
        ["file_too_large", "storage_full"],
        [
          query(
            "dry_run",
            z.boolean().default(false),
            "`true` checks the files and answers with the CID; nothing is stored. The default is `false`.",
          ),
          query(
            "warnings",
            z.boolean().default(false),
            "`true` adds `files`, `size_bytes` and `warnings` to the answer; the default is `false`, in a dry run `true`.",
          ),
        ],
      ),
    },
    "/v0/me/storage": {
      get: read(
        "Your uploads, newest first",
        [
          list(
            "type",
            ["file", "metadata", "metadata_directory", "all"],
            "Kinds of uploads to list: repeat the parameter, or separate the words by commas.",
            true,
          ),
          pageNumberQuery,
          query("page_size", z.int().min(1).max(500).default(50), "Items per page, 1 to 500; the default is 50."),
          query("start_date", date, `Uploads of this time and later, ${dateFormat}.`),
          query("end_date", date, `Uploads of this time and earlier, ${dateFormat}.`),
        ],
        { storage: z.array(storageItem).describe("Uploads, newest first.") },
      ),
    },
  };
}

function upload(
  summary: string,
  part: string,
  schema: z.ZodType,
  members: Members,
  failures: readonly ErrorCode[],
  queries: readonly Json[] = [],
): Json {
  const form = jsonSchemaOf(z.object({ [part]: schema }));
  const described = operation(summary, queries, members, [...failures, "unsupported_media_type", "request_timeout"]);
  return { ...described, requestBody: { required: true, content: { "multipart/form-data": { schema: form } } } };
}
