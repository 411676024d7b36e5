import type { Context } from "hono";
import { guideOf } from "../error-guide.ts";
import type { ServiceError } from "../errors.ts";

/** A success body: `response` first and `error: null` last, as clients of the original service check both. */
export function ok(c: Context, members: Record<string, unknown>): Response {
  return c.json({ response: "OK", ...members, error: null }, 200);
}

/** A failure body: `NOK` with the HTTP status, a code that clients switch on, and a text for people. */
export function nok(c: Context, error: ServiceError, requestId: string): Response {
  if (error.retryAfterSeconds !== undefined) c.header("Retry-After", String(error.retryAfterSeconds));
  const { status, code, message } = error;
  const body = {
    response: "NOK",
    error: {
      status_code: status,
      code,
      message,
      request_id: requestId,
      fix: guideOf(code).fix,
      docs: `/docs/errors/${code}`,
    },
    ...(error.status === 422 && error.field ? { detail: [{ loc: [error.field], msg: message, type: code }] } : {}),
  };
  return c.json(body, status as 400);
}
