import { errorTable } from "../errors/errors.ts";
import { legacyRateCode } from "./answer.ts";

/* The words of which the OpenAPI document is made. */

export type Json = Record<string, unknown>;

export const text = { type: "string" };
export const nullableText = { type: ["string", "null"] };
export const integer = { type: "integer" };
export const address = { type: "string", pattern: "^0x[0-9a-fA-F]{40}$" };
export const hash = { type: "string", pattern: "^0x[0-9a-fA-F]{64}$" };
export const date = { type: "string", description: "ISO 8601; UTC when it has no offset" };

export const chainQuery = query(
  "chain",
  { type: "string" },
  "ethereum, polygon, goerli (rinkeby), or a chain this installation added",
  true,
);
export const continuationQuery = query("continuation", text, "the previous answer's continuation");
export const pageNumberQuery = query("page_number", { type: "integer", minimum: 1, default: 1 }, "page, from 1");
export const pageSizeQuery = query(
  "page_size",
  { type: "integer", minimum: 1, maximum: 50, default: 50 },
  "items per page",
);
export const refreshQuery = query("refresh_metadata", { type: "boolean" }, "fetch the metadata again");

export const contractRecord = object({
  name: nullableText,
  symbol: nullableText,
  type: { enum: ["ERC721", "ERC1155"] },
  metadata: object({
    description: nullableText,
    thumbnail_url: nullableText,
    cached_thumbnail_url: nullableText,
    banner_url: nullableText,
    cached_banner_url: nullableText,
  }),
});
export const files = {
  file_url: nullableText,
  animation_url: nullableText,
  cached_file_url: nullableText,
  cached_animation_url: nullableText,
};
export const metadataMembers = { metadata: { type: ["object", "null"] }, metadata_url: nullableText };
export const fileInformation = {
  anyOf: [object({ height: integer, width: integer, file_size: integer }), { type: "null" }],
};
export const tokenKey = { chain: text, contract_address: address, token_id: { type: "string", pattern: "^\\d+$" } };
export function query(name: string, schema: Json, description: string, required = false): Json {
  return { name, in: "query", required, description, schema };
}

export function path(name: string, schema: Json): Json {
  return { name, in: "path", required: true, schema };
}

export function list(name: string, words: readonly string[]): Json {
  return {
    name,
    in: "query",
    required: false,
    style: "form",
    explode: true,
    schema: { type: "array", items: { enum: words } },
  };
}

export function include(words: readonly string[]): Json {
  return list("include", words);
}

export function pageQueries(): Json[] {
  return [pageNumberQuery, pageSizeQuery, continuationQuery];
}

export function object(
  properties: Json,
  optional: readonly string[] = [],
): { type: "object"; required: string[]; properties: Json } {
  return { type: "object", required: Object.keys(properties).filter((name) => !optional.includes(name)), properties };
}

export function operation(
  summary: string,
  parameters: readonly Json[],
  members: Json,
  failures: readonly (keyof typeof errorTable)[],
  body?: Json,
  optional: readonly string[] = [],
): Json {
  const success = object({ response: { const: "OK" }, ...members, error: { type: "null" } }, optional);
  // What any request may meet: its key, its input, its rate, a failure of ours, a database or node that is away.
  const statuses = new Set([401, 403, 422, 429, 500, 503, ...failures.map((code) => errorTable[code].status)]);
  const responses: Json = { "200": { description: "Done", content: { "application/json": { schema: success } } } };
  for (const status of [...statuses].sort()) {
    const codes = Object.entries(errorTable).filter(([, row]) => row.status === status);
    responses[String(status)] = {
      description: codes.map(([code]) => (code === "rate_limit_exceeded" ? legacyRateCode : code)).join(", "),
      content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
    };
  }
  const requestBody = body && { requestBody: { required: true, content: { "application/json": { schema: body } } } };
  return { summary, ...(parameters.length > 0 ? { parameters } : {}), ...requestBody, responses };
}

/** An operation whose answers have an `ETag`; the same parameters as `operation`. */
export function read(...parts: Parameters<typeof operation>): Json {
  const made = operation(...parts);
  const unchanged = { "304": { description: "The answer is still the one that If-None-Match names" } };
  return { ...made, responses: { ...(made["responses"] as Json), ...unchanged } };
}
