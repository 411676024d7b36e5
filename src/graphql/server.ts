import type { IncomingMessage } from "node:http";
import { type DocumentNode, type ExecutionResult, GraphQLError } from "graphql";
import { createYoga, type Plugin } from "graphql-yoga";
import type { Context } from "hono";
import { authenticate } from "../accounts/authenticate.ts";
import { DocumentBudget } from "../accounts/document-budget.ts";
import { type Freshness, readFreshness } from "../accounts/freshness.ts";
import { waitForBlock } from "../accounts/wait-for-block.ts";
import { requestState } from "../admission/admit-once.ts";
import type { Session } from "../auth/caller.ts";
import { fixFor, guideOf } from "../errors/error-guide.ts";
import { ServiceError } from "../errors/errors.ts";
import { asUnavailable } from "../errors/unavailable.ts";
import type { AppEnv } from "../http/app-env.ts";
import { clientAddress } from "../http/client-address.ts";
import { withDrainedBody } from "../http/drain-body.ts";
import type { EventStreams } from "../http/event-streams.ts";
import { rawHeaderValues } from "../http/headers.ts";
import { noteRequest, notesOf } from "../http/request-notes.ts";
import type { Services } from "../services.ts";
import { admission } from "./admission.ts";
import { boundAnswer, rawTexts } from "./answer-text.ts";
import type { GraphQLContext } from "./builder.ts";
import { documentAdmission } from "./document-admission.ts";
import { DocumentCache } from "./document-cache.ts";
import { documentLimits, timeLimit } from "./document-limits.ts";
import { explainComplaint } from "./explain-complaint.ts";
import type { PrecompiledOperations } from "./fast-path/precompiled-operations.ts";
import { isMultipart, type MultipartRequest, readMultipartRequest } from "./multipart-request.ts";
import { samples, sampleVariables } from "./samples.ts";
import { createSchema } from "./schema.ts";
import { answerSubscription, takeEvents } from "./subscriptions.ts";

interface ServerContext {
  hono: Context<AppEnv>;
  caller: () => Promise<Session>;
  multipart: MultipartRequest | null;
  freshness: Freshness;
  /** Set as soon as a subscription is admitted. An object, because yoga works with a copy of the context. */
  stream: { events: AsyncIterable<ExecutionResult> | null };
}

/** Yoga reads larger bodies itself. */
const maxPlainBody = 100_000;

const multipartParser: Plugin<Record<string, never>, ServerContext> = {
  onRequestParse({ serverContext, setRequestParser }) {
    const { multipart } = serverContext;
    if (multipart) setRequestParser(() => multipart.operation);
  },
};

/** Puts the request id into each error, and logs unexpected errors under that id. */
function stampErrors(services: Services): Plugin<Record<string, never>, ServerContext> {
  return {
    onResultProcess({ result, serverContext }) {
      const { hono } = serverContext;
      const requestId = hono.get("requestId");
      for (const error of "errors" in result ? (result.errors ?? []) : []) {
        error.extensions["requestId"] = requestId;
        explainComplaint(error, services.config.introspection === "open");
        noteRequest(hono.env.incoming, { code: String(error.extensions["code"]) });
        if (error.extensions["code"] !== "internal_error") continue;
        services.log.error({ err: error.originalError, requestId }, "unexpected failure in a resolver");
      }
    },
  };
}

/** Adds the cost and the index's progress to each answer. */
const stampFreshness: Plugin<Record<string, never>, ServerContext> = {
  onResultProcess({ result, serverContext }) {
    if (!("data" in result) || result.data == null) return;
    const { hono, freshness } = serverContext;
    const cost = hono.get("graphqlCost");
    Object.assign(result, { extensions: { ...result.extensions, ...(cost ? { cost } : {}), freshness } });
  },
};

/** The GraphQL API: yoga without its own multipart support, with coded errors. */
export function createGraphQLHandler(
  services: Services,
  front: PrecompiledOperations,
  streams: EventStreams,
): (c: Context<AppEnv>) => Promise<Response> {
  const schema = createSchema();
  const documentCache = new DocumentCache<DocumentNode>();
  const errorCache = new DocumentCache<Error>();
  const isKnown = (text: string) => documentCache.get(text) !== undefined || errorCache.get(text) !== undefined;
  const yoga = createYoga<ServerContext, GraphQLContext>({
    schema,
    graphqlEndpoint: "/graphql",
    multipart: false,
    batching: false,
    parserAndValidationCache: { documentCache, errorCache },
    // Enough for the largest presale list.
    maxRequestBodySize: Math.min(services.config.limits.jsonBodyBytes, 2_000_000),
    // The app sets CORS headers on every path; yoga's would allow credentials.
    cors: false,
    landingPage: false,
    logging: false,
    maskedErrors: { maskError },
    graphiql: {
      title: "Mintyard",
      // Never a real key: any page in the same browser can read this page.
      headers: JSON.stringify({ Authorization: "<your API key>" }),
      defaultTabs: samples.map((query) => ({ query, variables: sampleVariables(query, services.chains) })),
    },
    // A self-contained page. It is five megabytes, so it is loaded on first use.
    renderGraphiQL: async (options) => (await import("@graphql-yoga/render-graphiql")).renderGraphiQL(options),
    context: ({ hono, caller }) => ({
      services,
      requestId: hono.get("requestId"),
      caller,
      session: caller,
      address: clientAddress(hono.env.incoming, services.config.trustedProxies),
      refused: (code) => noteRequest(hono.env.incoming, { code }),
    }),
    plugins: [
      multipartParser,
      front.persisted.plugin,
      documentAdmission(services, new DocumentBudget(services.config.rateLimits), isKnown, maskError),
      documentLimits,
      admission(services),
      timeLimit(services.config.readLimits),
      takeEvents(maskError),
      boundAnswer(maskError),
      stampErrors(services),
      stampFreshness,
      rawTexts,
    ],
  });
  // Applied to every answer, and to every event of a stream.
  const finishers = [boundAnswer(maskError), stampErrors(services), rawTexts] as const;
  return async (c) => {
    const requestId = c.get("requestId");
    let known: Promise<Session> | undefined;
    const caller = () => {
      const address = clientAddress(c.env.incoming, services.config.trustedProxies);
      known ??= authenticate(services, rawHeaderValues(c.env.incoming, "authorization"), requestId, address).then(
        (session) => {
          noteRequest(c.env.incoming, { accountId: session.accountId, keyId: session.keyId });
          return session;
        },
      );
      return known;
    };
    refuseLargeWithoutKey(c.env.incoming);
    const minBlock = c.env.incoming.headers["x-min-block"];
    if (typeof minBlock === "string") {
      await caller();
      await waitForBlock(services, minBlock);
    }
    const freshness = await readFreshness(services);
    const context: ServerContext = { hono: c, caller, multipart: null, freshness, stream: { events: null } };
    if (isMultipart(c)) return await withDrainedBody(c, () => answerMultipart(c, context));
    if (!isPlainPost(c.env.incoming)) {
      const response = await answer(c.req.raw, context);
      if (response.headers.get("content-type")?.startsWith("text/html"))
        response.headers.set("Content-Security-Policy", pagePolicy);
      return response;
    }
    const body = requestState(c.env.incoming).body ?? (await c.req.text());
    const operation = front.read(body);
    const request = new Request(c.req.raw.url, { method: "POST", headers: c.req.raw.headers, body });
    const response = await answer(request, context);
    if (!operation || response.status !== 200 || context.stream.events) return response;
    const text = await response.text();
    const cost = c.get("graphqlCost");
    if (cost && text.startsWith('{"data":')) {
      const [accept, type] = [c.env.incoming.headers.accept ?? "", response.headers.get("content-type") ?? ""];
      front.learn(schema, accept, operation, {
        contentType: type,
        cost,
        name: notesOf(c.env.incoming).operation ?? null,
      });
    }
    return new Response(text, { status: 200, headers: response.headers });
  };

  /** For a subscription the response is empty; its events are written separately. */
  async function answer(request: Request, context: ServerContext): Promise<Response> {
    const response = await yoga.handleRequest(request, context);
    const { hono, stream } = context;
    const { events } = stream;
    if (!events) return response;
    const finish = (result: ExecutionResult) => {
      for (const { onResultProcess } of finishers)
        (onResultProcess as (payload: object) => void)({ result, serverContext: context });
    };
    return answerSubscription(hono, { services, streams, events, finish, toError: maskError });
  }

  async function answerMultipart(c: Context<AppEnv>, context: ServerContext): Promise<Response> {
    const multipart = await readMultipartRequest(c, services, context.caller);
    try {
      return await answer(emptyPost(c.req.raw), { ...context, multipart });
    } finally {
      await multipart.close();
    }
  }
}

/**
 * GraphiQL's page contains its code and styles, and its editor starts workers from its own text. Nothing may be loaded
 * from, or sent to, any other server: users type a key into it.
 */
const pagePolicy =
  "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; worker-src 'self' blob:; " +
  "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Whether the request's body is one small JSON text. */
export function isPlainPost({ method, headers }: IncomingMessage): boolean {
  const length = Number(headers["content-length"] ?? Number.NaN);
  return method === "POST" && /^application\/json\b/i.test(headers["content-type"] ?? "") && length <= maxPlainBody;
}

/** Keyless operations are short: parsing two megabytes of JSON would cost more than the answer. */
function refuseLargeWithoutKey({ method, headers }: IncomingMessage): void {
  if (method !== "POST" || headers.authorization !== undefined) return;
  const length = Number(headers["content-length"] ?? Number.POSITIVE_INFINITY);
  if (length > maxPlainBody)
    throw new ServiceError(
      "authorization_missing",
      `a body over ${maxPlainBody} bytes, or of no told length, needs a key`,
    );
}

/** The multipart request as yoga sees it, without a body: it was read already. */
function emptyPost(request: Request): Request {
  const headers = new Headers(request.headers);
  headers.set("content-type", "application/json");
  headers.delete("content-length");
  return new Request(request.url, { method: "POST", headers, body: "{}" });
}

/**
 * What clients see of an error: the code and message of failures raised on purpose, GraphQL's own errors about the
 * document as they are, and anything else without its message.
 */
function maskError(error: unknown): GraphQLError {
  const thrown = error instanceof GraphQLError ? error.originalError : error;
  const original = asUnavailable(thrown) ?? thrown;
  // Raised before any field ran, so the answer has no `data`.
  const whole = !(error instanceof GraphQLError);
  const place = error instanceof GraphQLError ? { nodes: error.nodes ?? null, path: error.path ?? null } : {};
  if (original instanceof ServiceError) {
    const { code, field, details, status, retryAfterSeconds } = original;
    const statuses = [401, 403, 429, 503];
    const headers = retryAfterSeconds === undefined ? {} : { headers: { "Retry-After": String(retryAfterSeconds) } };
    const http = whole || statuses.includes(status) ? { http: { status, ...headers } } : {};
    return new GraphQLError(original.message, {
      ...place,
      originalError: original,
      extensions: {
        code,
        ...guideOf(code),
        fix: fixFor(original),
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
