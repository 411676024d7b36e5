import * as z from "zod";
import type { errorTable } from "../errors/errors.ts";
import {
  anyObject,
  date,
  errorSchema,
  integer,
  type Json,
  jsonContent,
  jsonSchemaOf,
  list,
  type Members,
  nullableText,
  operation,
  pageNumberQuery,
  path,
  query,
  read,
  success,
  text,
} from "./openapi-parts.ts";
import { createKeyBody, rotateKeyBody, signUpBody } from "./own-bodies.ts";

const moment = z.string().nullable().meta({ format: "date-time" });
const count = z.int().nullable();
const wei = z
  .string()
  .regex(/^[0-9]+$/)
  .nullable();
const key = z.object({
  id: z.string().regex(/^key_[0-9a-f]{32}$/),
  name: text,
  scopes: createKeyBody.shape.scopes.unwrap(),
  created_at: moment.optional(),
  expires_at: moment.optional(),
  revoked_at: moment.optional(),
  last_used_at: moment.optional(),
  wallet: z
    .string()
    .nullable()
    .meta({ description: "Of a browser's session: the wallet that signed in; null for a key." })
    .optional(),
});
const spellings = {
  api_key: text.describe("mty_live_…, shown this once"),
  legacy_api_key: text.meta({ format: "uuid", description: "the same key for clients that only send a UUID" }),
};
const minting = z
  .object({
    minting_usage: counts("total_nfts_minted", "subscription_nfts_minted"),
    minting_limits: counts("subscription_mints_included", "max_mints"),
    contract_deployment_usage: counts("total_contracts_deployed", "subscription_contracts_deployed"),
    contract_deployment_limits: counts("subscription_contracts_included", "max_contracts"),
    gas_usage: z.object({ wei_today: wei, wei_this_month: wei }).partial(),
    gas_limits: z.object({ max_wei_per_day: wei, max_wei_per_month: wei }).partial(),
  })
  .partial();
const keyId = path("id", text);
const serviceInfo = z.object({ title: text, description: text, version: text });

/** The operations of `/v0` on accounts and their keys. */
export function accountPaths(): Json {
  return {
    "/v0/": {
      get: {
        summary: "What answers here",
        responses: { "200": { description: "Done", ...jsonContent(jsonSchemaOf(serviceInfo)) } },
        security: [],
      },
    },
    "/v0/signup": {
      post: {
        ...accountOperation(
          "Open a free account and get its first key",
          { account_id: text, tier: text, ...spellings },
          { body: signUpBody },
        ),
        security: [],
      },
    },
    "/v0/me/settings": {
      get: accountOperation("What the account may do and has used", {
        profile: z.object({ name: text, email: text, joined_date: text }).partial(),
        subscription_period: z.object({ start_date: text, end_date: text }).partial(),
        data_usage_and_limits: anyObject,
        storage_usage_and_limits: anyObject,
        transaction_usage_and_limits: z
          .object({
            transaction_usage: counts("transactions_made_today", "subscription_transactions_made"),
            transaction_limits: counts("max_transactions_per_day", "max_transactions_per_month"),
          })
          .partial()
          .describe("deployments and updates on all chains together; days and months of UTC"),
        request_limits: counts(
          ...["max_deploy_requests_per_minute", "max_deploy_requests_per_day"],
          ...["max_upload_requests_per_minute", "max_upload_requests_per_day"],
        ),
        webhook_usage_and_limits: z
          .object({
            webhook_usage: counts("webhooks", "tries_made_today"),
            webhook_limits: counts("max_webhooks", "max_tries_per_day"),
          })
          .partial()
          .describe("endpoints, and messages to all of them in a day of UTC, whatever becomes of them"),
        deployment_limits: counts(
          ...["max_supply", "max_awaited_deployments", "max_allowlists", "max_allowlist_bytes"],
        ),
        minting_usage_and_limits: z.record(z.string(), minting),
      }),
    },
    "/v0/me/keys": {
      get: accountOperation("Keys of the account", { keys: z.array(key) }),
      post: accountOperation("Make a further key", { ...spellings, key }, { body: createKeyBody }),
    },
    "/v0/me/keys/{id}/rotate": {
      post: accountOperation(
        "Replace a key; the old one works on for a while",
        { ...spellings, key },
        { body: rotateKeyBody, parameters: [keyId] },
      ),
    },
    "/v0/me/keys/{id}": {
      delete: accountOperation("End a key, everywhere within a second", { key }, { parameters: [keyId] }),
    },
  };
}

function counts(...names: string[]): z.ZodType {
  return z.object(Object.fromEntries(names.map((name) => [name, count]))).partial();
}

function accountOperation(
  summary: string,
  members: Members,
  input: { body?: z.ZodType; parameters?: readonly Json[] } = {},
): Json {
  return {
    summary,
    ...(input.parameters ? { parameters: input.parameters } : {}),
    ...(input.body ? { requestBody: jsonContent(jsonSchemaOf(input.body)) } : {}),
    responses: {
      200: { description: "OK", ...jsonContent(success(members)) },
      default: { description: "What went wrong, by code", ...jsonContent(errorSchema) },
    },
  };
}

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
