import { errorTable } from "../errors/errors.ts";
import { accountPaths } from "./openapi-account.ts";
import { collectionPaths } from "./openapi-collections.ts";
import { dataPaths } from "./openapi-data.ts";
import { nftPaths } from "./openapi-nfts.ts";
import { integer, type Json, object, text } from "./openapi-parts.ts";
import { directoryWarning, uploadPaths } from "./openapi-uploads.ts";

/** OpenAPI 3.1 of the legacy API. The committed copy is `schema/openapi.json`; a test compares them. */
export function createOpenApi(): Json {
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
    },
    components: {
      securitySchemes: {
        apiKey: { type: "apiKey", in: "header", name: "Authorization", description: "the raw key, no scheme word" },
      },
      schemas: { Error: errorBody() },
    },
  };
}

function errorBody(): Json {
  const error = object({
    status_code: integer,
    code: { enum: Object.keys(errorTable) },
    message: text,
    request_id: { type: "string", description: "names this request in the server's log" },
    fix: { type: "string", description: "what to do about it" },
    docs: { type: "string", description: "path of a page about this code" },
  });
  const detail = { type: "array", items: object({ loc: { type: "array", items: text }, msg: text, type: text }) };
  const warnings = {
    type: "array",
    description: "what else a metadata directory should mend",
    items: directoryWarning,
  };
  return object({ response: { const: "NOK" }, error, detail, warnings }, ["detail", "warnings"]);
}
