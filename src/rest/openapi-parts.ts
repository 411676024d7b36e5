import * as z from "zod";
import { errorTable } from "../errors/errors.ts";
import {
  type AnyField,
  contractFields,
  type GraphQLType,
  tokenFields,
  type V0Group,
  v0Fields,
} from "../nfts/fields.ts";

/* The words of which the OpenAPI document is made: zod schemas, and the functions that render them. */

/** What clients of the original service switch on after a 429. */
export const legacyRateCode = "too_many_requests";

export type Json = Record<string, unknown>;
/** Members of an object by name. */
export type Members = Record<string, z.ZodType>;

export const text = z.string();
export const nullableText = text.nullable();
export const integer = z.int();
export const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/);
export const hash = z.string().regex(/^0x[0-9a-fA-F]{64}$/);
export const date = z.string().describe("ISO 8601; UTC when it has no offset");
/** An object with any members. */
export const anyObject = z.looseObject({});

export const chainQuery = query(
  "chain",
  text,
  "ethereum, polygon, goerli (rinkeby), or a chain this installation added",
  true,
);
const continuationQuery = query("continuation", text, "the previous answer's continuation");
export const pageNumberQuery = query("page_number", z.int().min(1).default(1), "page, from 1");
export const pageSizeQuery = query("page_size", z.int().min(1).max(50).default(50), "items per page");
export const pageQueries = [pageNumberQuery, pageSizeQuery, continuationQuery];
export const refreshQuery = query("refresh_metadata", z.boolean(), "fetch the metadata again");

const schemasOf: Partial<Record<GraphQLType, z.ZodType>> = {
  Int: integer,
  Address: address,
  TokenId: z.string().regex(/^\d+$/),
  TokenStandard: z.enum(["ERC721", "ERC1155"]),
  JSON: anyObject,
  MetadataStatus: z.enum(["PENDING", "FRESH", "FAILED"]),
  "[String!]": z.array(text),
};

/** The members of a group of a field table as they are on the wire. */
function fieldMembers(table: Record<string, AnyField>, group: V0Group): Members {
  return Object.fromEntries(
    v0Fields(table, group).map(([name, { v0, from, graphql }]) => {
      // An address beside a token is written as a text in the document since its first version.
      const schema = (from === "live" && graphql.type === "Address" ? undefined : schemasOf[graphql.type]) ?? text;
      return [v0?.name ?? name, graphql.nullable ? schema.nullable() : schema];
    }),
  );
}
const ofToken = (group: V0Group) => fieldMembers(tokenFields, group);

export const contractRecord = z.object({
  ...fieldMembers(contractFields, "record"),
  metadata: z.object(fieldMembers(contractFields, "recordMetadata")),
});
export const texts = ofToken("texts");
export const files = ofToken("files");
export const creator = ofToken("creator");
export const owner = ofToken("owner");
export const metadataMembers = { ...ofToken("document"), ...ofToken("reading") };
export const optionalMetadata: Members = z.object(metadataMembers).partial().shape;
export const fileInformation = z.object({ height: integer, width: integer, file_size: integer }).nullable();
export const tokenKey = { ...ofToken("chain"), ...ofToken("key") };
export const tokenId = z.string().regex(/^\d+$/);

export function query(name: string, schema: z.ZodType, description: string, required = false): Json {
  return { name, in: "query", required, description, schema: jsonSchemaOf(schema) };
}

export function path(name: string, schema: z.ZodType): Json {
  return { name, in: "path", required: true, schema: jsonSchemaOf(schema) };
}

export function list(name: string, words: readonly string[], required = false): Json {
  const schema = jsonSchemaOf(z.array(z.enum(words)));
  return { name, in: "query", required, style: "form", explode: true, schema };
}

/** Which parts of the records are shown. */
export function include(...words: readonly string[]): Json {
  return list("include", ["default", ...words]);
}

/**
 * The JSON Schema of a value as it is on the wire. Objects stay open: a client must not fail at a member that a later
 * version adds.
 */
export function jsonSchemaOf(schema: z.ZodType): Json {
  const { $schema: _, ...made } = z.toJSONSchema(schema, { io: "input", override: simplify });
  return made;
}

/** Leaves out what zod adds to say nothing more: the bounds of a JavaScript integer, and a second schema for null. */
function simplify({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  const [value, none, ...more] = jsonSchema.anyOf ?? [];
  if (typeof value !== "object" || typeof none !== "object" || none.type !== "null" || more.length > 0) return;
  if (typeof value.type !== "string" || value.properties !== undefined || value.enum !== undefined) return;
  delete jsonSchema.anyOf;
  Object.assign(jsonSchema, value, { type: [value.type, "null"] });
}

/** The answer of a success: `response` first, `error` last. */
export function success(members: Members): Json {
  return jsonSchemaOf(z.object({ response: z.literal("OK"), ...members, error: z.null() }));
}

export const errorSchema = { $ref: "#/components/schemas/Error" };

export function jsonContent(schema: Json): Json {
  return { content: { "application/json": { schema } } };
}

export function operation(
  summary: string,
  parameters: readonly Json[],
  members: Members,
  failures: readonly (keyof typeof errorTable)[] = [],
  body?: z.ZodType,
): Json {
  // What any request may meet: its key, its input, its rate, a failure of ours, a database or node that is away.
  const statuses = new Set([401, 403, 422, 429, 500, 503, ...failures.map((code) => errorTable[code].status)]);
  const responses: Json = { "200": { description: "Done", ...jsonContent(success(members)) } };
  for (const status of [...statuses].sort()) {
    const codes = Object.entries(errorTable).filter(([, row]) => row.status === status);
    responses[String(status)] = {
      description: codes.map(([code]) => (code === "rate_limit_exceeded" ? legacyRateCode : code)).join(", "),
      ...jsonContent(errorSchema),
    };
  }
  const requestBody = body && { requestBody: { required: true, ...jsonContent(jsonSchemaOf(body)) } };
  return { summary, ...(parameters.length > 0 ? { parameters } : {}), ...requestBody, responses };
}

/** An operation whose answers have an `ETag`; the same parameters as `operation`. */
export function read(...parts: Parameters<typeof operation>): Json {
  const made = operation(...parts);
  const unchanged = { "304": { description: "The answer is still the one that If-None-Match names" } };
  return { ...made, responses: { ...(made["responses"] as Json), ...unchanged } };
}
