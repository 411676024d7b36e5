import * as z from "zod";
import { type ErrorCode, errorTable } from "../errors/errors.ts";
import { accountPaths, directoryWarning, uploadPaths } from "./openapi-account.ts";
import { collectionPaths, mintPaths } from "./openapi-contracts.ts";
import { eventPaths } from "./openapi-events.ts";
import { integer, type Json, jsonSchemaOf, legacyRateCode, text } from "./openapi-parts.ts";
import { dataPaths, nftPaths } from "./openapi-reads.ts";

const errorBody = z.object({
  response: z.literal("NOK"),
  error: z.object({
    status_code: integer,
    code: z.enum(
      (Object.keys(errorTable) as ErrorCode[]).map((code) => (code === "rate_limit_exceeded" ? legacyRateCode : code)),
    ),
    message: text,
    request_id: text.describe("names this request in the server's log"),
    fix: text.describe("what to do about it"),
    docs: text.describe("path of a page about this code"),
  }),
  detail: z.array(z.object({ loc: z.array(text), msg: text, type: text })).optional(),
  warnings: z.array(directoryWarning).describe("what else a metadata directory should mend").optional(),
});

let made: Json | null = null;

/** OpenAPI 3.1 of the legacy API, made once. The committed copy is `schema/openapi.json`; a test compares them. */
export function createOpenApi(): Json {
  made ??= makeOpenApi();
  return made;
}

/** The address of the page at `/docs/rest` about the operation that a request is for; null: the document has none. */
export function pageOfOperation(method: string, path: string): string | null {
  const given = path.split("/").filter(Boolean);
  const operation = method.toLowerCase();
  const fitting = Object.entries(createOpenApi()["paths"] as Record<string, Json>).flatMap(([template, operations]) => {
    const parts = template.split("/").filter(Boolean);
    const fits = parts.length === given.length && parts.every((part, at) => part.startsWith("{") || part === given[at]);
    return fits && Object.hasOwn(operations, operation) ? [template] : [];
  });
  // A name in the path goes before a parameter: /mints/batch/{hash}.
  const [template] = fitting.toSorted((a, b) => a.split("{").length - b.split("{").length);
  // Swagger UI names an operation without tag and id in this way.
  return template === undefined ? null : `/docs/rest#/default/${operation}${template.replaceAll(/\W/g, "_")}`;
}

function makeOpenApi(): Json {
  return {
    openapi: "3.1.0",
    info: {
      title: "Mintyard /v0",
      version: "0.2.0",
      description:
        "Every answer is one JSON object: `response` first, `error: null` last on success; status 200 exactly.",
      license: { name: "MIT", identifier: "MIT" },
    },
    security: [{ apiKey: [] }],
    paths: {
      ...accountPaths(),
      ...uploadPaths(),
      ...collectionPaths(),
      ...nftPaths(),
      ...dataPaths(),
      ...eventPaths(),
      ...mintPaths(),
    },
    components: {
      securitySchemes: {
        apiKey: { type: "apiKey", in: "header", name: "Authorization", description: "the raw key, no scheme word" },
      },
      schemas: { Error: jsonSchemaOf(errorBody) },
    },
  };
}
