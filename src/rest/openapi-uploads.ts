import * as z from "zod";
import type { errorTable } from "../errors/errors.ts";
import {
  anyObject,
  date,
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

const kind = z.enum(["file", "metadata", "metadata_directory"]);
const storageItem = z.object({
  storage_type: kind,
  type: kind,
  file_name: nullableText.optional(),
  ipfs_uri: text,
  ipfs_url: text,
  uploaded_date: text,
  content_type: nullableText.optional(),
  file_size: integer.optional(),
  file_size_mb: z.number().optional(),
  metadata: anyObject.nullable().optional(),
});
/** Of a directory, when it was asked for. */
export const directoryWarning = z.object({ rule: text, message: text, count: integer, examples: z.array(text) });
const directoryReport = {
  dry_run: z.literal(true).optional(),
  files: integer.optional(),
  size_bytes: integer.optional(),
  warnings: z.array(directoryWarning).optional(),
};

const attribute = z.object({
  trait_type: text,
  value: z.union([z.string(), z.number()]),
  max_value: z.number().nullable().optional(),
  display_type: z.enum(["boost_number", "boost_percentage", "number", "date"]).nullable().optional(),
});
const uploadedFile = {
  ipfs_url: text,
  file_name: nullableText,
  content_type: nullableText,
  file_size: integer,
  file_size_mb: z.number(),
};
const metadataMembers = {
  name: text,
  description: text,
  file_url: text,
  external_url: nullableText,
  animation_url: nullableText,
  custom_fields: anyObject.nullable(),
  attributes: z.array(attribute).nullable(),
};
const metadataBody = z
  .object(metadataMembers)
  .partial({ external_url: true, animation_url: true, custom_fields: true, attributes: true });

/** Files, metadata and what an account stored. */
export function uploadPaths(): Json {
  return {
    "/v0/files": {
      post: upload("Store a file on IPFS", "file", file, uploadedFile, ["file_too_large", "storage_full"]),
    },
    "/v0/metadata": {
      post: operation(
        "Store one metadata document on IPFS",
        [],
        { metadata_uri: text, ...metadataMembers },
        ["file_too_large", "storage_full"],
        metadataBody,
      ),
    },
    "/v0/metadata/directory": {
      post: upload(
        "Store a folder of metadata files on IPFS",
        "metadata_files",
        z.array(file),
        { metadata_directory_ipfs_uri: text, metadata_directory_ipfs_url: text, ...directoryReport },
        ["file_too_large", "storage_full"],
        [
          query("dry_run", z.boolean().default(false), "check and tell the CID; nothing is stored"),
          query("warnings", z.boolean().default(false), "add what wallets and markets will stumble over"),
        ],
      ),
    },
    "/v0/me/storage": {
      get: read(
        "Your uploads, newest first",
        [
          list("type", ["file", "metadata", "metadata_directory", "all"], true),
          pageNumberQuery,
          query("page_size", z.int().min(1).max(500).default(50), "items per page"),
          query("start_date", date, "uploaded at this time or later"),
          query("end_date", date, "uploaded at this time or earlier"),
        ],
        { storage: z.array(storageItem) },
        [],
      ),
    },
  };
}

function upload(
  summary: string,
  part: string,
  schema: z.ZodType,
  members: Members,
  failures: readonly (keyof typeof errorTable)[],
  queries: readonly Json[] = [],
): Json {
  const form = jsonSchemaOf(z.object({ [part]: schema }));
  const described = operation(summary, queries, members, [...failures, "unsupported_media_type", "request_timeout"]);
  return { ...described, requestBody: { required: true, content: { "multipart/form-data": { schema: form } } } };
}
