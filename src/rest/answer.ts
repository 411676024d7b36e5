import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import { fixFor } from "../errors/error-guide.ts";
import type { ServiceError } from "../errors/errors.ts";
import { etagOf, matchesEtag, revalidated } from "../http/etag.ts";
import { noteRequest } from "../http/request-notes.ts";
import { JsonText } from "../json/json-text.ts";
import { pageOfOperation } from "./openapi.ts";
import { legacyRateCode } from "./openapi-parts.ts";

/** A success body: `response` first and `error: null` last, because clients of the original service check both. */
export function ok(c: Context, members: Record<string, unknown>): Response {
  return c.json({ response: "OK", ...members, error: null }, 200);
}

/** A failure body. @param status if another specification requires its own. */
export function nok(c: Context, error: ServiceError, requestId: string, status: number = error.status): Response {
  if (error.retryAfterSeconds !== undefined) c.header("Retry-After", String(error.retryAfterSeconds));
  const { code, message } = error;
  const shownCode = code === "rate_limit_exceeded" ? legacyRateCode : code;
  noteRequest((c.env as Partial<HttpBindings> | undefined)?.incoming, { code: shownCode });
  const body = {
    response: "NOK",
    error: {
      status_code: status,
      code: shownCode,
      message,
      request_id: requestId,
      fix: fixOf(c, error),
      docs: `/docs/errors/${code}`,
    },
    ...(status === 422 || status === 413 ? detailOf(error) : {}),
  };
  return c.json(body, status as 400);
}

/** For several faults, names the members; for a wrong type, links to the operation's page, which lists the types. */
function fixOf(c: Context, error: ServiceError): string {
  const { code, fix } = error;
  const fields = [...new Set(problemsOf(error).flatMap(({ field }) => field || []))];
  if (code === "value_error" && fix === undefined && fields.length > 1)
    return `Change ${fields.join(", ")} as \`detail\` says of each, and send the request again.`;
  const page = code === "invalid_type" ? pageOfOperation(c.req.method, c.req.path) : null;
  return page === null ? fixFor(error) : `${fixFor(error)} ${page} describes the operation.`;
}

interface Problem {
  code: string;
  field?: string;
  message: string;
}

function problemsOf({ details }: ServiceError): Problem[] {
  const problems = details?.["problems"];
  return Array.isArray(problems) ? (problems as Problem[]) : [];
}

/** Every problem of the request, in the format that frameworks used when the old clients were written. */
function detailOf(error: ServiceError): Record<string, unknown> {
  const { code, field, message, details } = error;
  const all = problemsOf(error);
  if (all.length > 0) {
    const warnings = details?.["warnings"];
    return {
      detail: all.map((item) => ({ loc: item.field ? [item.field] : [], msg: item.message, type: item.code })),
      ...(Array.isArray(warnings) ? { warnings } : {}),
    };
  }
  return field ? { detail: [{ loc: [field], msg: message, type: code }] } : {};
}

/** JSON text that goes into an answer verbatim, so that third-party metadata keeps its numbers and member order. */
export class RawJson {
  readonly text: string | JsonText;
  constructor(text: string | JsonText) {
    this.text = text;
  }
}

/** A list whose items are already JSON text. */
export function rawList(items: JsonText): RawJson {
  return new RawJson(new JsonText().add("[").add(items).add("]"));
}

/** A success body like `ok`, whose members may hold `RawJson`. */
export function okRaw(c: Context, members: Record<string, unknown>): Response {
  return c.body(bodyText(members).toString(), 200, { "Content-Type": "application/json" });
}

/** `okRaw` for reads: with an ETag, and 304 for clients that have the answer. */
export function okRead(c: Context, members: Record<string, unknown>): Response {
  const text = bodyText(members);
  const etag = etagOf(text);
  c.header("Cache-Control", revalidated);
  c.header("ETag", etag);
  if (matchesEtag(c.req.header("if-none-match"), etag)) return c.body(null, 304);
  return c.body(text.toString(), 200, { "Content-Type": "application/json" });
}

/** JSON text of a value that may hold `RawJson`. */
export function toJson(value: unknown): string {
  if (value instanceof RawJson) return String(value.text);
  if (Array.isArray(value)) return `[${value.map(toJson).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${toJson(member)}`).join(",")}}`;
}

/** A success body as text; PostgreSQL's output in it is not changed. */
export function bodyText(members: Record<string, unknown>): JsonText {
  const text = new JsonText().add('{"response":"OK"');
  for (const [name, member] of Object.entries(members)) {
    if (member === undefined) continue;
    text.add(`,"${name}":`).add(member instanceof RawJson ? member.text : toJson(member));
  }
  return text.add(',"error":null}');
}
