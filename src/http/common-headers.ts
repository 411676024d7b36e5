import type { Context, MiddlewareHandler } from "hono";
import { cors } from "hono/cors";
import type { AppEnv } from "./app-env.ts";
import { newRequestId } from "./request-id.ts";
import { noteRequest } from "./request-notes.ts";

/** Response headers that scripts of other origins may read. */
export const exposed = [
  ...["X-Request-Id", "X-Indexed-Block", "X-Indexed-Hash", "X-Indexed-At", "X-Indexed-Lag-Seconds"],
  ...["Retry-After", "ETag", "Idempotency-Key"],
  ...["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "RateLimit-Bucket"],
];
/** CORS headers of every answer. */
export const corsHeaders = { "access-control-allow-origin": "*", "access-control-expose-headers": exposed.join(",") };
const preflight = cors({
  origin: "*",
  allowHeaders: [
    "Authorization",
    "Content-Type",
    "source",
    "Idempotency-Key",
    "x-graphql-yoga-csrf",
    "X-Min-Block",
    "If-None-Match",
    "If-Range",
    "Range",
    "Cache-Control",
    "X-Requested-With",
  ],
  allowMethods: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
  exposeHeaders: exposed,
  maxAge: 600,
});

/**
 * Sets the request id and the CORS headers of every answer. Hono's middleware is not used for this: it creates a
 * response object before the handler, and an answer that replaces it is copied through a stream, which costs as much as
 * the rest of a read.
 */
export function commonHeaders(): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const requestId = newRequestId();
    c.set("requestId", requestId);
    noteRequest(c.env?.incoming, { requestId });
    const headers = { "X-Request-Id": requestId, ...corsHeaders };
    if (c.req.method === "OPTIONS") {
      c.header("X-Request-Id", requestId);
      return await preflight(c, next);
    }
    for (const [name, value] of Object.entries(headers)) c.header(name, value);
    await next();
    // A response that a handler creates itself does not get the headers set before.
    if (c.res.headers.has("X-Request-Id")) return;
    for (const [name, value] of Object.entries({ ...headers, ...c.get("rateHeaders") })) c.header(name, value);
  };
}

/** Headers of a success that a handler may have set before it failed. */
const ofSuccess = [
  ...["ETag", "Last-Modified", "Accept-Ranges", "Content-Range", "Content-Length", "Content-Type"],
  ...["Content-Disposition", "Content-Encoding"],
];

/**
 * Removes the headers of a success, so that no cache stores an error as the content, and no client waits for bytes that
 * do not come.
 */
export function setErrorHeaders(c: Context): void {
  for (const name of ofSuccess) c.header(name, undefined);
  c.header("Cache-Control", "no-store");
}
