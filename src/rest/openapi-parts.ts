import * as z from "zod";
import { type ErrorCode, errorTable } from "../errors/errors.ts";
import {
  type AnyField,
  contractFields,
  type GraphQLType,
  tokenFields,
  type V0Group,
  v0Fields,
} from "../nfts/fields.ts";
import type { Member, MembersOf } from "../requests/answer-members.ts";

/* The building blocks of the OpenAPI document: zod schemas, and the functions that render them. */

/** The code on which clients of the original service switch after a 429. */
export const legacyRateCode = "too_many_requests";

export type Json = Record<string, unknown>;
export type Members = Record<string, z.ZodType>;

export const text = z.string();
export const nullableText = text.nullable();
export const integer = z.int();
export const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/);
export const hash = z.string().regex(/^0x[0-9a-fA-F]{64}$/);
export const date = z.string();
const ofAnswers: Record<Member["kind"], z.ZodType> = {
  id: text,
  text,
  integer,
  date: text.meta({ format: "date-time" }),
  texts: z.array(text),
  address,
};

/** An answer's members, as declared in requests/answer-members.ts. @param nameOf a member's name in REST. */
export function membersOf<T>(members: MembersOf<T>, nameOf = (name: string) => name): Members {
  const schemas = (Object.entries(members) as [string, Member][]).map(([name, { kind, doc, nullable, words }]) => {
    const schema = words ? z.enum(words) : ofAnswers[kind];
    return [nameOf(name), (nullable ? schema.nullable() : schema).describe(doc)];
  });
  return Object.fromEntries(schemas) as Members;
}

export const anyObject = z.looseObject({});
export const dateFormat = "in ISO 8601, UTC if it has no offset";

const chainNames = "`ethereum`, `polygon`, `goerli` (also `rinkeby`), or another chain of this installation";
/** Members of many bodies. */
export const chainAnswer = text.describe("Name of the chain, as spelled in the request.");
export const transactionHash = hash.describe("Hash of the transaction: `0x` and 64 hex digits.");
export const transactionUrl = text.describe("URL of the transaction in the chain's block explorer.");
export const continuation = nullableText.describe(
  "Cursor of the next page: send it as the parameter `continuation`. Null on the last page.",
);

export const chainQuery = query("chain", text, `Name of the chain: ${chainNames}.`, true);
const continuationQuery = query(
  "continuation",
  text,
  "The `continuation` of the previous answer, to get the next page. It takes precedence over `page_number`, and is valid only for the same list and filters.",
);
export const pageNumberQuery = query("page_number", z.int().min(1).default(1), "Page number, from 1.");
export const pageSizeQuery = query(
  "page_size",
  z.int().min(1).max(50).default(50),
  "Items per page, 1 to 50; the default is 50.",
);
export const pageQueries = [pageNumberQuery, pageSizeQuery, continuationQuery];
export const refreshQuery = query(
  "refresh_metadata",
  z.boolean(),
  "`true` queues the metadata to be read again; for a contract, that of all its tokens.",
);
export const contractPath = path("contract_address", address, "Address of the contract, in any letter case.");
export const accountPath = path("account_address", address, "Address of the account, in any letter case.");
export const transactionPath = path("transaction_hash", hash, "Hash of the transaction: `0x` and 64 hex digits.");

const schemasOf: Partial<Record<GraphQLType, z.ZodType>> = {
  Int: integer,
  Address: address,
  TokenId: z.string().regex(/^\d+$/),
  TokenStandard: z.enum(["ERC721", "ERC1155"]),
  JSON: anyObject,
  MetadataStatus: z.enum(["PENDING", "FRESH", "FAILED"]),
  "[String!]": z.array(text),
};

/** The members of a field table's group as they are sent. */
function fieldMembers(table: Record<string, AnyField>, group: V0Group): Members {
  return Object.fromEntries(
    v0Fields(table, group).map(([name, { v0, from, graphql }]) => {
      // Such addresses have been plain strings in the document since its first version.
      const schema = (from === "live" && graphql.type === "Address" ? undefined : schemasOf[graphql.type]) ?? text;
      const member = graphql.nullable ? schema.nullable() : schema;
      return [v0?.name ?? name, member.describe(describe(table, graphql))];
    }),
  );
}

/** A field's GraphQL description, with the names of `/v0`. */
function describe(table: Record<string, AnyField>, { type, description = "" }: AnyField["graphql"]): string {
  const renamed = description.replaceAll(/`(\w+)`/g, (text, name) => {
    const known = Object.hasOwn(table, name) ? table[name]?.v0?.name : undefined;
    return known === undefined ? text : `\`${known}\``;
  });
  // GraphQL describes each value of an enum separately.
  if (type !== "MetadataStatus") return renamed;
  return `${renamed} \`PENDING\`: waiting to be read, for the first time or again; \`FRESH\`: read; \`FAILED\`: the last attempt failed.`;
}

const ofToken = (group: V0Group) => fieldMembers(tokenFields, group);

export const contractRecord = z
  .object({
    ...fieldMembers(contractFields, "record"),
    metadata: z.object(fieldMembers(contractFields, "recordMetadata")).describe("Contract-level metadata."),
  })
  .describe("The contract and its metadata.");
export const texts = ofToken("texts");
export const files = ofToken("files");
export const creator = ofToken("creator");
export const owner = ofToken("owner");
export const metadataMembers = { ...ofToken("document"), ...ofToken("reading") };
export const optionalMetadata: Members = z.object(metadataMembers).partial().shape;
export const fileInformation = z
  .object({
    height: integer.describe("Height in pixels."),
    width: integer.describe("Width in pixels."),
    file_size: integer.describe("Size in bytes."),
  })
  .nullable()
  .describe("Dimensions and size of the image; null if they are not known.");
export const tokenKey = { ...ofToken("chain"), ...ofToken("key") };
export const tokenPath = path("token_id", z.string().regex(/^\d+$/), "Token id: a decimal number from 0 to 2^256 - 1.");

export function query(name: string, schema: z.ZodType, description: string, required = false): Json {
  return { name, in: "query", required, description, schema: jsonSchemaOf(schema) };
}

export function path(name: string, schema: z.ZodType, description: string): Json {
  return { name, in: "path", required: true, description, schema: jsonSchemaOf(schema) };
}

export function list(name: string, words: readonly string[], description: string, required = false): Json {
  const schema = jsonSchemaOf(z.array(z.enum(words)));
  return { name, in: "query", required, description, style: "form", explode: true, schema };
}

/** The parameter that selects which parts of the records are shown. */
export function include(...words: readonly string[]): Json {
  const description =
    "Additional parts to return. Repeat the parameter, or separate the values with commas; `default` adds nothing.";
  return list("include", ["default", ...words], description);
}

/**
 * The JSON Schema of a value as it is sent. Objects stay open: a client must not fail on a member that a later version
 * adds.
 */
export function jsonSchemaOf(schema: z.ZodType): Json {
  const { $schema: _, ...made } = z.toJSONSchema(schema, { io: "input", override: simplify });
  return made;
}

/** Removes what zod adds without meaning: the bounds of a JavaScript integer, and a second schema for null. */
function simplify({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  const [value, none, ...more] = jsonSchema.anyOf ?? [];
  if (typeof value !== "object" || typeof none !== "object" || none.type !== "null" || more.length > 0) return;
  if (typeof value.type !== "string" || value.properties !== undefined || value.enum !== undefined) return;
  delete jsonSchema.anyOf;
  Object.assign(jsonSchema, value, { type: [value.type, "null"] });
}

/** A success answer: `response` first, `error` last. */
export function success(members: Members): Json {
  const response = z.literal("OK").describe("`OK` on success.");
  const error = z.null().describe("Null on success.");
  return jsonSchemaOf(z.object({ response, ...members, error }));
}

const errorSchema = { $ref: "#/components/schemas/Error" };

export function jsonContent(schema: Json): Json {
  return { content: { "application/json": { schema } } };
}

function codesOf(status: number): string {
  const codes = Object.entries(errorTable).filter(([, row]) => row.status === status);
  return codes.map(([code]) => (code === "rate_limit_exceeded" ? legacyRateCode : code)).join(", ");
}

/** The statuses that any request may get (key, input, rate, our failures, database or node unreachable), and others. */
function statusesOf(failures: readonly ErrorCode[]): number[] {
  return [...new Set([401, 403, 422, 429, 500, 503, ...failures.map((code) => errorTable[code].status)])].sort();
}

/** The response object that describes all failures of an operation. */
export function anyFailure(...failures: readonly ErrorCode[]): Json {
  const codes = statusesOf(failures).map((status) => `${status}: ${codesOf(status)}`);
  return { description: `What went wrong, by status and code. ${codes.join("; ")}.`, ...jsonContent(errorSchema) };
}

export function operation(
  summary: string,
  parameters: readonly Json[],
  members: Members,
  failures: readonly ErrorCode[] = [],
  body?: z.ZodType,
): Json {
  const responses: Json = { "200": { description: "Done", ...jsonContent(success(members)) } };
  for (const status of statusesOf(failures))
    responses[String(status)] = { description: codesOf(status), ...jsonContent(errorSchema) };
  const requestBody = body && { requestBody: { required: true, ...jsonContent(jsonSchemaOf(body)) } };
  return { summary, ...(parameters.length > 0 ? { parameters } : {}), ...requestBody, responses };
}

/** An operation whose answers have an `ETag`; takes the same parameters as `operation`. */
export function read(...parts: Parameters<typeof operation>): Json {
  const made = operation(...parts);
  const unchanged = { "304": { description: "The answer has not changed since the one that If-None-Match names" } };
  return { ...made, responses: { ...(made["responses"] as Json), ...unchanged } };
}
