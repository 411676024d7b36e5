import type { IncomingMessage } from "node:http";
import { GraphQLError } from "graphql";
import { processRequest } from "graphql-upload-ts";
import { createYoga, type Plugin } from "graphql-yoga";
import type { Context } from "hono";
import { authenticate } from "../accounts/authenticate.ts";
import { type Freshness, readFreshness } from "../accounts/freshness.ts";
import { waitForBlock } from "../accounts/wait-for-block.ts";
import type { Session } from "../auth/caller.ts";
import { type ErrorGuide, guideOf } from "../error-guide.ts";
import { type ErrorCode, isErrorCode, ServiceError } from "../errors.ts";
import type { AppEnv } from "../http/app-env.ts";
import { clientAddress } from "../http/client-address.ts";
import { handedOver } from "../http/handover.ts";
import { rawHeaderValues } from "../http/headers.ts";
import type { Services } from "../services.ts";
import { asUnavailable } from "../unavailable.ts";
import { admission } from "./admission.ts";
import type { GraphQLContext } from "./builder.ts";
import { documentLimits } from "./document-limits.ts";
import { type KnownOperations, readOperation } from "./front.ts";
import { rawTexts } from "./raw-text.ts";
import { samples, sampleVariables } from "./samples.ts";
import { createSchema } from "./schema.ts";
import { uploadFailure } from "./upload-failure.ts";

interface ServerContext {
  hono: Context<AppEnv>;
  caller: () => Promise<Session>;
  /** Operation and open file streams of a multipart request (graphql-multipart-request-spec). */
  multipart: Record<string, unknown> | null;
  freshness: Freshness;
}

/** A browser sends this header across origins only after a preflight, which plain form posts never do. */
const preflightHeader = "x-graphql-yoga-csrf";

/** Larger operations are read by yoga, in its own way. */
const maxPlainBody = 100_000;

/** Beside the files: the operation, the map, and headers of 25,000 parts. */
const formBytes = 32_000_000;

/** Between two pieces of an upload. */
const idleMs = 10_000;

const multipartParser: Plugin<Record<string, never>, ServerContext> = {
  onRequestParse({ serverContext, setRequestParser }) {
    const { multipart } = serverContext;
    if (multipart) setRequestParser(() => multipart);
  },
};

/** Names the request in each error, and logs with that name what was not raised on purpose. */
function stampErrors(services: Services): Plugin<Record<string, never>, ServerContext> {
  return {
    onResultProcess({ result, serverContext }) {
      const requestId = serverContext.hono.get("requestId");
      for (const error of "errors" in result ? (result.errors ?? []) : []) {
        error.extensions["requestId"] = requestId;
        explain(error, services.config.introspection === "open");
        if (error.extensions["code"] !== "internal_error") continue;
        services.log.error({ err: error.originalError, requestId }, "unexpected failure in a resolver");
      }
    },
  };
}

/** What GraphQL itself complains about gets what each failure has: a code, its cause, and what to do. */
function explain(error: GraphQLError, open: boolean): void {
  const { extensions } = error;
  extensions["code"] ??= "value_error" satisfies ErrorCode;
  const code = String(extensions["code"]);
  const guide = documentGuides[code] ?? guideOf(isErrorCode(code) ? code : "value_error");
  for (const [name, text] of Object.entries(guide)) extensions[name] ??= text;
  // Whoever may not read the schema must not guess it either.
  if (!open) error.message = error.message.replace(/ Did you mean .*\?$/s, "");
}

/** By the codes that yoga gives. */
const documentGuides: Record<string, ErrorGuide> = {
  GRAPHQL_PARSE_FAILED: {
    cause: "The text is no GraphQL document.",
    fix: "`message` and `locations` say where it breaks off; send values as variables.",
  },
  GRAPHQL_VALIDATION_FAILED: {
    cause: "The document asks for what the schema does not have, or in another form.",
    fix: "Compare it with the schema: /graphql in a browser, or an introspection query with your key.",
  },
};

/** Says with each answer what it cost and how far the index had come. */
const stampFreshness: Plugin<Record<string, never>, ServerContext> = {
  onResultProcess({ result, serverContext }) {
    if (!("data" in result) || result.data == null) return;
    const { hono, freshness } = serverContext;
    const cost = hono.get("graphqlCost");
    Object.assign(result, { extensions: { ...result.extensions, ...(cost ? { cost } : {}), freshness } });
  },
};

/** The GraphQL door: yoga with multipart off, uploads by graphql-upload-ts, errors by code. */
export function createGraphQLHandler(
  services: Services,
  front: KnownOperations,
): (c: Context<AppEnv>) => Promise<Response> {
  const schema = createSchema();
  const yoga = createYoga<ServerContext, GraphQLContext>({
    schema,
    graphqlEndpoint: "/graphql",
    multipart: false,
    batching: false,
    // Presale lists of the largest size fit.
    maxRequestBodySize: Math.min(services.config.limits.jsonBodyBytes, 2_000_000),
    // The app answers for all paths alike; yoga's own would add credentials.
    cors: false,
    landingPage: false,
    logging: false,
    maskedErrors: { maskError },
    graphiql: {
      title: "Mintyard",
      // Never a real key: any page in the same browser can read this one.
      headers: JSON.stringify({ Authorization: "<your API key>" }),
      defaultTabs: samples.map((query) => ({ query, variables: sampleVariables(query, services.chains) })),
    },
    // With all it needs in the page itself. Five megabytes, so they are loaded for the first who looks.
    renderGraphiQL: async (options) => (await import("@graphql-yoga/render-graphiql")).renderGraphiQL(options),
    context: ({ hono, caller }) => ({
      services,
      requestId: hono.get("requestId"),
      caller,
      session: caller,
      address: clientAddress(hono.env.incoming, services.config.trustedProxies),
    }),
    plugins: [multipartParser, documentLimits, admission(services), stampErrors(services), stampFreshness, rawTexts],
  });
  return async (c) => {
    const requestId = c.get("requestId");
    let known: Promise<Session> | undefined;
    const caller = () => {
      const address = clientAddress(c.env.incoming, services.config.trustedProxies);
      known ??= authenticate(services, rawHeaderValues(c.env.incoming, "authorization"), requestId, address);
      return known;
    };
    const multipart = isMultipart(c) ? await readMultipart(c, services, caller) : null;
    const wish = c.env.incoming.headers["x-min-block"];
    if (typeof wish === "string") {
      await caller();
      await waitForBlock(services, wish);
    }
    const freshness = await readFreshness(services);
    const context = { hono: c, caller, multipart, freshness };
    if (multipart) return await yoga.handleRequest(emptyPost(c.req.raw), context);
    if (!isPlainPost(c.env.incoming)) return await yoga.handleRequest(c.req.raw, context);
    const body = handedOver(c.env.incoming).body ?? (await c.req.text());
    const operation = readOperation(body);
    const request = new Request(c.req.raw.url, { method: "POST", headers: c.req.raw.headers, body });
    const response = await yoga.handleRequest(request, context);
    if (!operation || response.status !== 200) return response;
    const text = await response.text();
    const cost = c.get("graphqlCost");
    if (cost && text.startsWith('{"data":')) {
      const [accept, type] = [c.env.incoming.headers.accept ?? "", response.headers.get("content-type") ?? ""];
      front.learn(schema, accept, operation, type, cost);
    }
    return new Response(text, { status: 200, headers: response.headers });
  };
}

/** Whether a request's body is one small JSON text. */
export function isPlainPost({ method, headers }: IncomingMessage): boolean {
  const length = Number(headers["content-length"] ?? Number.NaN);
  return method === "POST" && /^application\/json\b/i.test(headers["content-type"] ?? "") && length <= maxPlainBody;
}

function isMultipart(c: Context): boolean {
  return c.req.method === "POST" && /^multipart\/form-data\b/i.test(c.req.header("content-type") ?? "");
}

/** The key is checked before a byte of the files is read. */
async function readMultipart(c: Context<AppEnv>, services: Services, caller: () => Promise<Session>) {
  if (!c.req.header(preflightHeader)) {
    throw new ServiceError(
      "value_error",
      `multipart requests must carry the header ${preflightHeader}, with any value`,
    );
  }
  await caller();
  const { limits } = services.config;
  const { incoming } = c.env;
  // A client that stops sending must not hold a connection and a temporary file.
  incoming.setTimeout(idleMs, () => incoming.destroy());
  incoming.once("end", () => incoming.setTimeout(0));
  boundBody(incoming, Math.max(limits.fileBytes, limits.directoryBytes) + formBytes);
  try {
    const operation = await processRequest(incoming, c.env.outgoing, {
      maxFieldSize: 1_000_000,
      maxFileSize: Math.max(limits.fileBytes, limits.directoryFileBytes),
      maxFiles: limits.directoryFiles,
    });
    if (Array.isArray(operation)) throw new ServiceError("value_error", "send one operation per request");
    return operation as unknown as Record<string, unknown>;
  } catch (error) {
    const failure = uploadFailure(error);
    if (failure instanceof ServiceError) throw failure;
    // Whatever it stumbled over, it was something in the request.
    throw new ServiceError("value_error", "the multipart request is malformed", { cause: error });
  }
}

/**
 * Ends a request whose body is larger than any upload: its files wait on disk, each bounded by itself, and
 * together they could fill it.
 *
 * @throws ServiceError `file_too_large` for a length that is announced.
 */
function boundBody(incoming: IncomingMessage, most: number): void {
  const tooLarge = () => new ServiceError("file_too_large", `the body is over ${most} bytes`);
  if (Number(incoming.headers["content-length"] ?? 0) > most) throw tooLarge();
  let size = 0;
  incoming.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > most) incoming.destroy();
  });
  // A listener makes a stream flow; graphql-upload-ts is to say when.
  incoming.pause();
}

/** What yoga sees of a multipart request: its body has been read already. */
function emptyPost(request: Request): Request {
  const headers = new Headers(request.headers);
  headers.set("content-type", "application/json");
  headers.delete("content-length");
  return new Request(request.url, { method: "POST", headers, body: "{}" });
}

/**
 * What leaves the server of an error: failures raised on purpose by code and text, GraphQL's own
 * complaints about the document as they are, anything else without its message.
 */
function maskError(error: unknown): GraphQLError {
  const thrown = error instanceof GraphQLError ? error.originalError : error;
  const original = asUnavailable(thrown) ?? thrown;
  const place = error instanceof GraphQLError ? { nodes: error.nodes ?? null, path: error.path ?? null } : {};
  if (original instanceof ServiceError) {
    const { code, field, details, status, retryAfterSeconds } = original;
    const statuses = [401, 403, 429, 503];
    const headers = retryAfterSeconds === undefined ? {} : { headers: { "Retry-After": String(retryAfterSeconds) } };
    const http = statuses.includes(status) ? { http: { status, ...headers } } : {};
    return new GraphQLError(original.message, {
      ...place,
      originalError: original,
      extensions: {
        code,
        ...guideOf(code),
        docs: `/docs/errors/${code}`,
        ...(field ? { field } : {}),
        ...(details ? { details } : {}),
        ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
        ...http,
      },
    });
  }
  if (error instanceof GraphQLError && (!original || original instanceof GraphQLError)) return error;
  return new GraphQLError("an unexpected failure; the operator finds it by its request id", {
    ...place,
    ...(original instanceof Error ? { originalError: original } : {}),
    extensions: { code: "internal_error" },
  });
}
