import * as z from "zod";
import { type ErrorCode, errorTable } from "../errors/errors.ts";
import { legacyRateCode } from "./answer.ts";
import { accountPaths } from "./openapi-account.ts";
import { collectionPaths } from "./openapi-collections.ts";
import { dataPaths } from "./openapi-data.ts";
import { eventPaths } from "./openapi-events.ts";
import { mintPaths } from "./openapi-mints.ts";
import { nftPaths } from "./openapi-nfts.ts";
import { integer, type Json, jsonSchemaOf, text } from "./openapi-parts.ts";
import { directoryWarning, uploadPaths } from "./openapi-uploads.ts";

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
