import { AsyncResource } from "node:async_hooks";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { documentOwner } from "../accounts/document-budget.ts";
import { FailureThrottle } from "../accounts/failure-throttle.ts";
import { guideOf } from "../errors/error-guide.ts";
import { type ErrorCode, errorTable } from "../errors/errors.ts";
import { clientAddress } from "../http/client-address.ts";
import { corsHeaders } from "../http/common-headers.ts";
import { rawHeaderValues } from "../http/headers.ts";
import { newRequestId } from "../http/request-id.ts";
import { noteRequest } from "../http/request-notes.ts";
import type { Services } from "../services.ts";

/** Paths of the APIs: their requests are counted by rate limits, or slowed down here. */
export const ofApis = /^\/(graphql|v0|v1|auth)\b/;

const counted = new WeakSet<IncomingMessage>();

const paces = new WeakMap<Services, FailureThrottle>();

/** This process's throttle. */
export function throttleOf(services: Services): FailureThrottle {
  const pace = paces.get(services) ?? new FailureThrottle();
  paces.set(services, pace);
  return pace;
}

/** Records that an account's or address's rate counted the request, or its document's processor time paid for it. */
export function recordCounted(request: IncomingMessage): void {
  counted.add(request);
}

/**
 * Puts `FailureThrottle` before the handlers of the APIs; everything else pays for its time (`pay-for-work.ts`).
 * Fast-path reads are counted and answered before this (`fast-path.ts`), so clients that share an account or address
 * with a throttled one keep them.
 */
export function throttleFailures(
  services: Services,
  pace: FailureThrottle,
  ordinary: RequestListener,
): RequestListener {
  const { rateLimits, trustedProxies } = services.config;
  if (!rateLimits) return ordinary;
  return (request, response) => {
    const { method, url = "" } = request;
    if (method === "OPTIONS" || !ofApis.test(url)) return ordinary(request, response);
    const address = clientAddress(request, trustedProxies);
    if (address === null) return ordinary(request, response);
    const owner = ownerOf(services, request, address);
    const start = () => {
      // The client may have left while it waited.
      if (response.destroyed) return;
      response.once("close", () => {
        if (!counted.has(request)) pace.charge(owner);
      });
      ordinary(request, response);
    };
    if (!pace.begin(owner, AsyncResource.bind(start)))
      refuseEarly(request, response, "rate_limit_exceeded", message, 2);
  };
}

const message =
  "too many requests that failed, or that nothing counts; wait 2 s, and send them one after the other from then on";

/** The owner whose time a request takes; see `documentOwner`. */
export function ownerOf(services: Services, request: IncomingMessage, address: string | null): string {
  if (request.headers.authorization === undefined) return `address ${address ?? ""}`;
  return documentOwner(services, rawHeaderValues(request, "authorization"), address);
}

/** Refuses a request cheaply, before an API sees it, and closes the connection, so that the sender needs a new one. */
export function refuseEarly(
  request: IncomingMessage,
  response: ServerResponse,
  code: ErrorCode,
  message: string,
  retryAfterSeconds?: number,
): void {
  const { url = "" } = request;
  const requestId = newRequestId();
  noteRequest(request, { requestId, code });
  const { status } = errorTable[code];
  const guide = guideOf(code);
  const docs = `/docs/errors/${code}`;
  const body = url.startsWith("/graphql")
    ? { errors: [{ message, extensions: { code, ...guide, docs, retryAfterSeconds, requestId } }] }
    : { response: "NOK", error: { status_code: status, code, message, request_id: requestId, fix: guide.fix, docs } };
  const text = JSON.stringify(body);
  response.writeHead(status, {
    ...corsHeaders,
    ...{ "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text) },
    ...(retryAfterSeconds === undefined ? {} : { "Retry-After": String(retryAfterSeconds) }),
    ...{ "X-Request-Id": requestId, Connection: "close" },
  });
  response.end(text);
}
