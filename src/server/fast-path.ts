import { AsyncResource } from "node:async_hooks";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { type Admission, admit, admitRead } from "../accounts/admit.ts";
import { cachedSession } from "../accounts/authenticate.ts";
import { indexedHeaders, knownFreshness, readShownFreshness, type ShownFreshness } from "../accounts/freshness.ts";
import { costOfRoute, operationOfField, operationOfRoute } from "../accounts/operations.ts";
import { inReadScope } from "../accounts/request-scope.ts";
import { setRequestState } from "../admission/admit-once.ts";
import { rateHeadersOf } from "../admission/rate-headers.ts";
import { loadOf } from "../admission/shed-load.ts";
import type { Session } from "../auth/caller.ts";
import type { RequestLog } from "../auth/request-log.ts";
import { chainAliases } from "../chains.ts";
import { ServiceError } from "../errors/errors.ts";
import { maxAnswerBytes } from "../graphql/answer-text.ts";
import type { PrecompiledOperations } from "../graphql/fast-path/precompiled-operations.ts";
import { isPlainPost } from "../graphql/server.ts";
import { corsHeaders } from "../http/common-headers.ts";
import { etagOf, matchesEtag, revalidated } from "../http/etag.ts";
import { rawHeaderValues } from "../http/headers.ts";
import { newRequestId } from "../http/request-id.ts";
import type { OperationName } from "../http/request-notes.ts";
import { JsonText } from "../json/json-text.ts";
import { bodyText } from "../rest/answer.ts";
import { fastReadOf } from "../rest/fast-reads.ts";
import type { Services } from "../services.ts";
import { isRecording } from "../telemetry/span.ts";
import { logWhenAnswered } from "./log-requests.ts";

/** In bytes. */
const smallText = 16_384;

/** A read that the fast path can answer. */
interface FastAnswer {
  api: "v0" | "graphql";
  /** Requests that it takes from the rate. */
  cost: number;
  /** The request's body, if it was read. */
  body?: string;
  /** For GraphQL. */
  operation: OperationName | null;
  contentType: string;
  /** Headers of this API only. @param freshness read before the statement ran. */
  headers: (freshness: ShownFreshness) => Record<string, string>;
  text: (session: Session, freshness: ShownFreshness) => Promise<JsonText>;
}

/**
 * Answers the most frequent reads directly on Node's objects: half of such a request's time would go into the layers
 * around its one statement. It answers successes only. Unusual or failing requests take the ordinary path, which
 * continues from what was already done (`setRequestState`); test/http/fast-path.test.ts compares both paths byte for
 * byte.
 *
 * @param unlogged the ordinary path.
 * @param log of accounts' requests; null: nothing is logged.
 */
export function fastPath(
  services: Services,
  operations: PrecompiledOperations,
  unlogged: RequestListener,
  log: RequestLog | null = null,
): RequestListener {
  const load = loadOf(services);
  const ordinary = (request: IncomingMessage, response: ServerResponse, startedAt: number) => {
    if (log) logWhenAnswered(services, log, request, response, startedAt);
    unlogged(request, response);
  };
  return (request, response) => {
    const { method, url = "", headers } = request;
    const startedAt = performance.now();
    // The ordinary path refuses requests at the load limit, and handles waiting for a block.
    if (load.running >= services.config.maxRequestsInFlight || headers["x-min-block"] !== undefined) {
      return ordinary(request, response, startedAt);
    }
    if (method === "GET" && url.startsWith("/v0/")) {
      const fast = restRead(services, url);
      return fast ? void answer(request, response, fast, startedAt) : ordinary(request, response, startedAt);
    }
    if (url !== "/graphql" || !isPlainPost(request)) return ordinary(request, response, startedAt);
    readBody(request, (body) => {
      const fast = precompiledOperation(services, operations, headers.accept ?? "", body);
      if (fast) return void answer(request, response, fast, startedAt);
      setRequestState(request, { body });
      ordinary(request, response, startedAt);
    });
  };

  async function answer(
    request: IncomingMessage,
    response: ServerResponse,
    fast: FastAnswer,
    startedAt: number,
  ): Promise<void> {
    let caller: Session | null = null;
    let admission: { state: Admission; refusal: unknown } | undefined;
    load.running += 1;
    let text: JsonText | null = null;
    const headers: Record<string, string> = {};
    try {
      const requestId = newRequestId();
      // Most of these need no waiting, and each wait costs as much as a value of the answer.
      const found = cachedSession(services, rawHeaderValues(request, "authorization"), requestId);
      const session = found instanceof Promise ? await found : found;
      caller = session;
      if (session) {
        const operation =
          fast.api === "v0" ? operationOfRoute("GET", request.url ?? "") : operationOfField("query", "");
        let state: Admission = null;
        const report = (known: Admission) => {
          state = known;
        };
        try {
          if (!admitRead(services, session, operation, fast.cost, report))
            await admit(services, session, operation, fast.cost, report);
        } catch (refusal) {
          admission = { state, refusal };
          throw refusal;
        }
        admission = { state, refusal: null };
        const freshness = knownFreshness(services) ?? (await readShownFreshness(services));
        Object.assign(headers, rateHeadersOf(state), fast.headers(freshness), { "x-request-id": requestId });
        text = await inReadScope(session, response, () => fast.text(session, freshness));
        // The ordinary path reports the reason.
        if (fast.api === "graphql" && text.byteLength > maxAnswerBytes) text = null;
      }
    } catch (error) {
      text = null;
      // A read that timed out or got no connection is answered with its error: a second try would double its cost.
      if (admission && !admission.refusal && error instanceof ServiceError && [429, 503].includes(error.status))
        admission = { ...admission, refusal: error };
    }
    load.running -= 1;
    if (text === null) {
      setRequestState(request, {
        ...(fast.body === undefined ? {} : { body: fast.body }),
        ...(admission ? { admission } : {}),
      });
      return ordinary(request, response, startedAt);
    }
    const sent = text;
    const length = sent.byteLength;
    const type = { "content-type": fast.contentType };
    // In the order in which the ordinary path writes them.
    if (fast.api === "graphql") {
      response.writeHead(200, { ...corsHeaders, "content-length": length, ...type, ...headers });
    } else {
      const etag = etagOf(sent);
      const kept = { "cache-control": revalidated };
      if (matchesEtag(request.headers["if-none-match"], etag)) {
        response.writeHead(304, { ...corsHeaders, ...kept, etag, ...headers }).end();
        sent.release();
        if (caller) addToLog(caller, request, fast, 304, startedAt);
        return;
      }
      response.writeHead(200, { ...corsHeaders, ...kept, ...type, etag, ...headers, "Content-Length": length });
    }
    // A small text is sent in one write with its headers, which costs less than several writes.
    if (length <= smallText) {
      response.end(sent.latin1(), "latin1");
      sent.release();
    } else {
      for (const piece of sent.pieces) response.write(piece);
      response.end();
      // By then the bytes were handed to the system, or the connection is gone.
      response.once("close", () => sent.release());
    }
    if (caller) addToLog(caller, request, fast, 200, startedAt);
  }

  function addToLog(
    { accountId, keyId, requestId }: Session,
    { method = "", url = "" }: IncomingMessage,
    { operation }: FastAnswer,
    status: number,
    startedAt: number,
  ): void {
    const now = performance.now();
    if (!log?.takes(accountId, now)) return;
    const ms = now - startedAt;
    log.add({ accountId, keyId, requestId, method, url, operation, status, code: null, endedAt: Date.now(), ms });
  }
}

function restRead(services: Services, url: string): FastAnswer | null {
  const read = fastReadOf(services, url);
  if (!read) return null;
  const { chain, run } = read;
  return {
    api: "v0",
    cost: costOfRoute(url),
    operation: null,
    contentType: "application/json",
    headers: ({ freshness }) => (chain === null ? {} : indexedHeaders(freshness[chainAliases[chain] ?? chain])),
    text: async (session) => bodyText(await run(services, session)),
  };
}

function precompiledOperation(
  services: Services,
  operations: PrecompiledOperations,
  accept: string,
  body: string,
): FastAnswer | null {
  const operation = operations.read(body);
  const call = operation && operations.find(accept, operation);
  if (!call) return null;
  return {
    api: "graphql",
    cost: call.cost.requests,
    body,
    operation: call.name,
    contentType: call.contentType,
    headers: () => ({}),
    text: async (session, { text }) =>
      new JsonText()
        .add('{"data":')
        .add(await call.run(services, session))
        .add(`,"extensions":{"cost":${call.costText},"freshness":${text}}}`),
  };
}

const decoder = new TextDecoder();

/** Calls back with the whole body; Node handles a request that breaks off. */
function readBody(request: IncomingMessage, done: (body: string) => void): void {
  let first: Buffer | null = null;
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => {
    if (first) chunks.push(chunk);
    else first = chunk;
  });
  // The HTTP parser's events run outside the request's async context, so its span would be lost.
  const end = () => {
    const bytes =
      chunks.length === 0 ? (first ?? Buffer.alloc(0)) : Buffer.concat([first ?? Buffer.alloc(0), ...chunks]);
    done(decoder.decode(bytes));
  };
  request.on("end", isRecording() ? AsyncResource.bind(end) : end);
  request.on("error", () => undefined);
}
