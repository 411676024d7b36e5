import type { errorTable } from "../errors/errors.ts";
import {
  date,
  integer,
  type Json,
  list,
  nullableText,
  object,
  operation,
  pageNumberQuery,
  query,
  read,
  text,
} from "./openapi-parts.ts";

const file = { type: "string", format: "binary" };

const storageItem = object(
  {
    storage_type: { enum: ["file", "metadata", "metadata_directory"] },
    type: { enum: ["file", "metadata", "metadata_directory"] },
    file_name: nullableText,
    ipfs_uri: text,
    ipfs_url: text,
    uploaded_date: text,
    content_type: nullableText,
    file_size: integer,
    file_size_mb: { type: "number" },
    metadata: { type: ["object", "null"] },
  },
  ["file_name", "content_type", "file_size", "file_size_mb", "metadata"],
);
/** Of a directory, when it was asked for. */
export const directoryWarning = object({
  rule: text,
  message: text,
  count: integer,
  examples: { type: "array", items: text },
});
const directoryReport = {
  dry_run: { const: true },
  files: integer,
  size_bytes: integer,
  warnings: { type: "array", items: directoryWarning },
};

const attribute = object(
  {
    trait_type: text,
    value: { type: ["string", "number"] },
    max_value: { type: ["number", "null"] },
    display_type: { enum: ["boost_number", "boost_percentage", "number", "date", null] },
  },
  ["max_value", "display_type"],
);

/** Files, metadata and what an account stored. */
export function uploadPaths(): Json {
  return {
    "/v0/files": {
      post: upload("Store a file on IPFS", "file", file, uploadedFile(), ["file_too_large", "storage_full"]),
    },
    "/v0/metadata": {
      post: operation(
        "Store one metadata document on IPFS",
        [],
        metadataAnswer(),
        ["file_too_large", "storage_full"],
        metadataBody(),
      ),
    },
    "/v0/metadata/directory": {
      post: upload(
        "Store a folder of metadata files on IPFS",
        "metadata_files",
        { type: "array", items: file },
        { metadata_directory_ipfs_uri: text, metadata_directory_ipfs_url: text, ...directoryReport },
        ["file_too_large", "storage_full"],
        [
          query("dry_run", { type: "boolean", default: false }, "check and tell the CID; nothing is stored"),
          query("warnings", { type: "boolean", default: false }, "add what wallets and markets will stumble over"),
        ],
        Object.keys(directoryReport),
      ),
    },
    "/v0/me/storage": {
      get: read(
        "Your uploads, newest first",
        [
          { ...list("type", ["file", "metadata", "metadata_directory", "all"]), required: true },
          pageNumberQuery,
          query("page_size", { type: "integer", minimum: 1, maximum: 500, default: 50 }, "items per page"),
          query("start_date", date, "uploaded at this time or later"),
          query("end_date", date, "uploaded at this time or earlier"),
        ],
        { storage: { type: "array", items: storageItem } },
        [],
      ),
    },
  };
}

function upload(
  summary: string,
  part: string,
  schema: Json,
  members: Json,
  failures: readonly (keyof typeof errorTable)[],
  queries: readonly Json[] = [],
  optional: readonly string[] = [],
): Json {
  const body = { required: true, content: { "multipart/form-data": { schema: object({ [part]: schema }) } } };
  const described = operation(
    summary,
    queries,
    members,
    [...failures, "unsupported_media_type", "request_timeout"],
    undefined,
    optional,
  );
  return { ...described, requestBody: body };
}

function uploadedFile(): Json {
  return {
    ipfs_url: text,
    file_name: nullableText,
    content_type: nullableText,
    file_size: integer,
    file_size_mb: { type: "number" },
  };
}

function metadataMembersOf(): Json {
  return {
    name: text,
    description: text,
    file_url: text,
    external_url: nullableText,
    animation_url: nullableText,
    custom_fields: { type: ["object", "null"] },
    attributes: { type: ["array", "null"], items: attribute },
  };
}

function metadataBody(): Json {
  return object(metadataMembersOf(), ["external_url", "animation_url", "custom_fields", "attributes"]);
}

function metadataAnswer(): Json {
  return { metadata_uri: text, ...metadataMembersOf() };
}
