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

const fileName = nullableText.describe("File name, as sent; null if none was sent.");
const contentType = nullableText.describe("Content type, as sent; null if none was sent.");
const fileSize = integer.describe("Size in bytes.");
const fileSizeMb = z.number().describe("Size in MiB (1,048,576 bytes), to four decimals.");
const kind = z.enum(["file", "metadata", "metadata_directory"]);
const storageItem = z.object({
  storage_type: kind.describe("The kind of the upload; the same as `type`."),
  type: kind.describe("The kind of the upload."),
  file_name: fileName.optional(),
  ipfs_uri: text.describe("`ipfs://` and the CID; for a directory, it ends with a slash."),
  ipfs_url: text.describe(gatewayUrl),
  uploaded_date: text.describe("When the content was uploaded, in UTC without an offset, to microseconds."),
  content_type: contentType.optional(),
  file_size: fileSize.optional(),
  file_size_mb: fileSizeMb.optional(),
  metadata: anyObject
    .nullable()
    .describe("The stored document; null if it cannot be read, or if the documents of the page are too large.")
    .optional(),
});
/** Warnings about a directory, on request. */
export const directoryWarning = z.object({
  rule: text.describe("Stable name of the rule, such as `image_missing`."),
  message: text.describe("What is wrong, in English."),
  count: integer.describe("Number of files that violate the rule; for `token_ids_missing`, number of ids."),
  examples: z.array(text).describe("The first ten cases."),
});
const directoryReport = {
  dry_run: z.literal(true).describe("Only in the answer of a dry run: nothing was stored.").optional(),
  files: integer.describe("Number of accepted files. Only with `warnings` or in a dry run.").optional(),
  size_bytes: integer.describe("Size of the directory in bytes. Only with `warnings` or in a dry run.").optional(),
  warnings: z
    .array(directoryWarning)
    .describe("What wallets and marketplaces will not display well. Only with `warnings` or in a dry run.")
    .optional(),
};

const attribute = z.object({
  trait_type: text.describe("Name of the trait."),
  value: z.union([z.string(), z.number()]).describe("Value of the trait, a string or a number."),
  max_value: z.number().nullable().describe("Maximum of a numeric trait; null if there is none.").optional(),
  display_type: z
    .enum(["boost_number", "boost_percentage", "number", "date"])
    .nullable()
    .describe("How marketplaces display a numeric trait; null for their default.")
    .optional(),
});
const uploadedFile = {
  ipfs_url: text.describe(`${gatewayUrl} Its last part is the CID.`),
  file_name: fileName,
  content_type: contentType,
  file_size: fileSize,
  file_size_mb: fileSizeMb,
};
const metadataMembers = {
  name: text.describe("Name of the token, not empty."),
  description: text.describe("Description of the token; may be empty."),
  file_url: text.describe("URL of the image or another file, preferably `ipfs://…`; stored as `image`."),
  external_url: nullableText.describe("URL of a page about the token; null for none."),
  animation_url: nullableText.describe("URL of a video, a 3D model or a page; null for none."),
  custom_fields: anyObject
    .nullable()
    .describe(
      "Further members of the document, in their order. A member with the name of one above replaces it. Null for none.",
    ),
  attributes: z.array(attribute).nullable().describe("Traits of the token; null for none."),
};
const metadataBody = z
  .object(metadataMembers)
  .partial({ external_url: true, animation_url: true, custom_fields: true, attributes: true });

export function uploadPaths(): Json {
  return {
    "/v0/files": {
      post: upload(
        "Store a file on IPFS",
        "file",
        file.describe("The file, up to 20 MiB unless the operator set another limit."),
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
        z.array(file).describe("The JSON files, one part per file, named by token id as in `0.json`."),
        {
          metadata_directory_ipfs_uri: text.describe(
            "`ipfs://`, the CID and a slash; can be used as the `base_uri` of a collection.",
          ),
          metadata_directory_ipfs_url: text.describe(gatewayUrl),
          ...directoryReport,
        },
        ["file_too_large", "storage_full"],
        [
          query(
            "dry_run",
            z.boolean().default(false),
            "`true` validates the files and returns the CID; nothing is stored. The default is `false`.",
          ),
          query(
            "warnings",
            z.boolean().default(false),
            "`true` adds `files`, `size_bytes` and `warnings` to the answer. The default is `false`, and `true` in a dry run.",
          ),
        ],
      ),
    },
    "/v0/me/storage": {
      get: read(
        "List your uploads, newest first",
        [
          list(
            "type",
            ["file", "metadata", "metadata_directory", "all"],
            "Kinds of uploads to list. Repeat the parameter, or separate the values with commas.",
            true,
          ),
          pageNumberQuery,
          query("page_size", z.int().min(1).max(500).default(50), "Items per page, 1 to 500; the default is 50."),
          query("start_date", date, `Only uploads at this time or later, ${dateFormat}.`),
          query("end_date", date, `Only uploads at this time or earlier, ${dateFormat}.`),
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
