import * as z from "zod";
import { type ErrorCode, errorTable } from "../errors/errors.ts";
import { referenceAnchor } from "../http/reference-anchor.ts";
import { accountPaths } from "./openapi-account.ts";
import { collectionPaths } from "./openapi-contracts.ts";
import { eventPaths } from "./openapi-events.ts";
import { examples } from "./openapi-examples.ts";
import { tasks } from "./openapi-guide.ts";
import { mintPaths } from "./openapi-mints.ts";
import { integer, type Json, jsonSchemaOf, legacyRateCode, text } from "./openapi-parts.ts";
import { dataPaths, nftPaths } from "./openapi-reads.ts";
import { directoryWarning, uploadPaths } from "./openapi-uploads.ts";
import { webhookBodies } from "./openapi-webhooks.ts";

const errorBody = z.object({
  response: z.literal("NOK").describe("`NOK` on failure."),
  error: z
    .object({
      status_code: integer.describe("HTTP status of the answer."),
      code: z
        .enum(
          (Object.keys(errorTable) as ErrorCode[]).map((code) =>
            code === "rate_limit_exceeded" ? legacyRateCode : code,
          ),
        )
        .describe("Error code. Codes are never renamed."),
      message: text.describe("What went wrong, in English. The wording may change."),
      request_id: text.describe("Id of this request in the server's log, also in the header `X-Request-Id`."),
      fix: text.describe("How to fix it."),
      docs: text.describe("Path of the page about this code."),
    })
    .describe("The error."),
  detail: z
    .array(
      z.object({
        loc: z.array(text).describe("Name of the invalid member or parameter; empty if it is none in particular."),
        msg: text.describe("What is wrong with it."),
        type: text.describe("Code of this error."),
      }),
    )
    .describe("All errors of the request. Only with the statuses 422 and 413.")
    .optional(),
  warnings: z
    .array(directoryWarning)
    .describe("What else in a refused metadata directory wallets and marketplaces will not display well.")
    .optional(),
});

let made: Json | null = null;

/** OpenAPI 3.1 of the legacy API, made once. The committed copy is `schema/openapi.json`; a test compares them. */
export function createOpenApi(): Json {
  made ??= makeOpenApi();
  return made;
}

/** The address in `/docs` of the operation that a request is for; null: the document has none. */
export function pageOfOperation(method: string, path: string): string | null {
  const given = path.split("/").filter(Boolean);
  const operation = method.toLowerCase();
  const fitting = Object.entries(createOpenApi()["paths"] as Paths).flatMap(([template, operations]) => {
    const parts = template.split("/").filter(Boolean);
    const fits = parts.length === given.length && parts.every((part, at) => part.startsWith("{") || part === given[at]);
    return fits && Object.hasOwn(operations, operation) ? [template] : [];
  });
  // A literal segment takes precedence over a parameter: /mints/batch/{hash}.
  const [template] = fitting.toSorted((a, b) => a.split("{").length - b.split("{").length);
  if (template === undefined) return null;
  return `/docs#${referenceAnchor(`${operation} ${template}`)}`;
}

/** The names of all query parameters of all operations. */
export function queryNames(): Set<string> {
  const operations = Object.values(createOpenApi()["paths"] as Paths).flatMap((methods) => Object.values(methods));
  const parameters = operations.flatMap(({ parameters = [] }) => parameters as { in: string; name: string }[]);
  return new Set(parameters.flatMap((parameter) => (parameter.in === "query" ? parameter.name : [])));
}

type Paths = Record<string, Record<string, Json>>;

function tagOf(method: string, path: string): string | undefined {
  return Object.keys(tasks).find((name) => tasks[name]?.operations[`${method} ${path}`] !== undefined);
}

/** The paths with each operation's tag, description and examples. */
function withGuide(paths: Json): Paths {
  const each = <T, U>(record: Record<string, T>, map: (value: T, name: string) => U): Record<string, U> =>
    Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value, name)]));
  return each(paths as Paths, (methods, path) =>
    each(methods, ({ summary, requestBody, responses, ...more }, method) => {
      const tag = tagOf(method, path);
      const description = tasks[tag ?? ""]?.operations[`${method} ${path}`];
      const { body, answer } = examples[`${method} ${path}`] ?? {};
      const ok = (responses as Paths)["200"] ?? {};
      const answers = { ...(responses as Json), 200: withExample(ok, answer) };
      return {
        ...(tag ? { tags: [tag] } : {}),
        summary,
        ...(description ? { description } : {}),
        ...more,
        ...(requestBody ? { requestBody: withExample(requestBody as Json, body) } : {}),
        responses: answers,
      };
    }),
  );
}

function withExample(body: Json, example: unknown): Json {
  const json = (body["content"] as Paths | undefined)?.["application/json"];
  return example === undefined || !json ? body : { ...body, content: { "application/json": { ...json, example } } };
}

function makeOpenApi(): Json {
  return {
    openapi: "3.1.0",
    info: {
      title: "Mintyard /v0",
      version: "0.2.0",
      description:
        "Every answer is one JSON object. On success the status is exactly 200, `response` comes first and `error: null` last. Send your key in the header `Authorization`. Where the operation says so, you can send an `Idempotency-Key`; the answer names the key that was used. Amounts of wei and token ids are strings, because they can exceed the range of JSON numbers.",
      license: { name: "MIT", identifier: "MIT" },
    },
    tags: Object.entries(tasks).map(([name, { about: description }]) => ({ name, description })),
    security: [{ apiKey: [] }],
    paths: withGuide({
      ...accountPaths(),
      ...uploadPaths(),
      ...collectionPaths(),
      ...nftPaths(),
      ...dataPaths(),
      ...eventPaths(),
      ...mintPaths(),
    }),
    webhooks: webhookBodies(),
    components: {
      securitySchemes: {
        apiKey: {
          type: "apiKey",
          in: "header",
          name: "Authorization",
          description: "Your key itself, without a scheme such as Bearer.",
        },
      },
      schemas: { Error: jsonSchemaOf(errorBody) },
    },
  };
}
