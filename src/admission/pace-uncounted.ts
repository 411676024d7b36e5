import { AsyncResource } from "node:async_hooks";
import type { IncomingMessage, ServerResponse } from "node:http";
import { documentOwner } from "../accounts/document-budget.ts";
import { UncountedPace } from "../accounts/uncounted-pace.ts";
import { guideOf } from "../errors/error-guide.ts";
import { clientAddress } from "../http/client-address.ts";
import { corsHeaders } from "../http/common-headers.ts";
import { rawHeaderValues } from "../http/headers.ts";
import { newRequestId } from "../http/request-id.ts";
import type { Services } from "../services.ts";

type Listener = (request: IncomingMessage, response: ServerResponse) => void;

/** The APIs: their requests are counted by rates, or paced here. */
export const ofApis = /^\/(graphql|v0|v1|auth)\b/;

const counted = new WeakSet<IncomingMessage>();

const paces = new WeakMap<Services, UncountedPace>();

/** The pace of this process. */
export function paceOf(services: Services): UncountedPace {
  const pace = paces.get(services) ?? new UncountedPace();
  paces.set(services, pace);
  return pace;
}

/** Says that an account's or an address's rate has counted a request, or that its document is paid for in time. */
export function recordCounted(request: IncomingMessage): void {
  counted.add(request);
}

/**
 * Puts `UncountedPace` before the handlers of the APIs; everything else pays for its time (`pay-for-work.ts`). Fast-path reads
 * do not come here: they are counted and answered before (`fast-path.ts`), so a client that shares an account or address
 * with one that is slowed down keeps them.
 */
export function paceUncounted(services: Services, pace: UncountedPace, ordinary: Listener): Listener {
  const { rateLimits, trustedProxies } = services.config;
  if (!rateLimits) return ordinary;
  return (request, response) => {
    const { method, url = "" } = request;
    if (method === "OPTIONS" || !ofApis.test(url)) return ordinary(request, response);
    const address = clientAddress(request, trustedProxies);
    if (address === null) return ordinary(request, response);
    const owner = documentOwner(services, rawHeaderValues(request, "authorization"), address);
    const start = () => {
      // The client may have left while it waited.
      if (response.destroyed) return;
      response.once("close", () => {
        if (!counted.has(request)) pace.charge(owner);
      });
      ordinary(request, response);
    };
    if (!pace.begin(owner, AsyncResource.bind(start))) refuse(request, response, message);
  };
}

const message =
  "too many requests that failed, or that nothing counts; wait 2 s, and send them one after the other from then on";

/** In few steps, and the connection ends: the next request costs its sender a new one. */
export function refuse({ url = "" }: IncomingMessage, response: ServerResponse, message: string): void {
  const requestId = newRequestId();
  const code = "rate_limit_exceeded";
  const docs = `/docs/errors/${code}`;
  const guide = guideOf(code);
  const body = url.startsWith("/graphql")
    ? { errors: [{ message, extensions: { code, ...guide, docs, retryAfterSeconds: 2, requestId } }] }
    : {
        response: "NOK",
        error: { status_code: 429, code, message, request_id: requestId, fix: guide.fix, docs },
      };
  const text = JSON.stringify(body);
  response.writeHead(429, {
    ...corsHeaders,
    ...{ "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text) },
    ...{ "Retry-After": "2", "X-Request-Id": requestId, Connection: "close" },
  });
  response.end(text);
}
