import type { Context } from "hono";
import { guideOf } from "../errors/error-guide.ts";
import type { ServiceError } from "../errors/errors.ts";

/** A success body: `response` first and `error: null` last, as clients of the original service check both. */
export function ok(c: Context, members: Record<string, unknown>): Response {
  return c.json({ response: "OK", ...members, error: null }, 200);
}

/** What clients of the original service switch on after a 429. */
export const legacyRateCode = "too_many_requests";

/** A failure body: `NOK` with the HTTP status, a code that clients switch on, and a text for people. */
export function nok(c: Context, error: ServiceError, requestId: string): Response {
  if (error.retryAfterSeconds !== undefined) c.header("Retry-After", String(error.retryAfterSeconds));
  const { status, code, message } = error;
  const body = {
    response: "NOK",
    error: {
      status_code: status,
      code: code === "rate_limit_exceeded" ? legacyRateCode : code,
      message,
      request_id: requestId,
      fix: guideOf(code).fix,
      docs: `/docs/errors/${code}`,
    },
    ...(error.status === 422 || error.status === 413 ? detailOf(error) : {}),
  };
  return c.json(body, status as 400);
}

/** Every problem of the request, as the frameworks of old clients' time listed them. */
function detailOf({ code, field, message, details }: ServiceError): Record<string, unknown> {
  const problems = details?.["problems"];
  if (Array.isArray(problems) && problems.length > 0) {
    const all = problems as { code: string; field?: string; message: string }[];
    const warnings = details?.["warnings"];
    return {
      detail: all.map((item) => ({ loc: item.field ? [item.field] : [], msg: item.message, type: item.code })),
      ...(Array.isArray(warnings) ? { warnings } : {}),
    };
  }
  return field ? { detail: [{ loc: [field], msg: message, type: code }] } : {};
}
