import type { Context } from "hono";
import type { ErrorCode } from "../errors/errors.ts";

const codes = {
  400: "value_error",
  404: "not_found",
  405: "method_not_allowed",
  406: "value_error",
  416: "value_error",
} as const satisfies Record<number, ErrorCode>;

/** An answer without content: a line of text, or the body that the other APIs give to those who ask for JSON. */
export function refuse(c: Context, status: keyof typeof codes, message: string): Response {
  c.header("Cache-Control", "no-store");
  if (!/\bjson\b/i.test(c.req.header("accept") ?? "")) {
    c.header("Content-Type", "text/plain; charset=utf-8");
    return c.body(`${message}\n`, status);
  }
  const details = { status_code: status, code: codes[status], message, request_id: c.get("requestId") };
  return c.json({ response: "NOK", error: details }, status);
}
