import type { IncomingMessage } from "node:http";
import * as z from "zod";
import { Input, parseIsoDate } from "./input.ts";
import { parsePlainObject, readBody } from "./json-body.ts";

/*
 * Bodies of requests that the original service did not have. They are parsed by the schemas that the OpenAPI document
 * shows. Legacy bodies are read by `Input`, which is as loose as old clients are.
 */

const bodyBytes = 16_384;

const scopes = z.array(z.enum(["read", "upload", "deploy", "admin"]));
const instant = z.string().transform((text, context) => {
  const date = parseIsoDate(text);
  if (date) return date;
  const message = "an ISO 8601 date is wanted, 2022-07-12T11:30:48+00:00";
  context.addIssue({ code: "custom", message, params: { code: "invalid_date" } });
  return z.NEVER;
});

const oneLine = "1 to 100 characters on one line";

export const signUpBody = z.object({
  name: z.string().describe(`Name of the account, ${oneLine}.`),
  email: z.string().describe("E-mail address, 254 characters at most; it may be left out.").optional(),
});
export const createKeyBody = z.object({
  name: z.string().describe(`Name by which you recognise the key, ${oneLine}.`),
  scopes: scopes
    .describe("What the key may do, a part of what the calling key may; the default is `read` alone.")
    .optional(),
  expires_at: instant
    .describe("When the key ends, in ISO 8601 and in the future; without it the key does not end by itself.")
    .optional(),
});
export const rotateKeyBody = z.object({
  overlap_seconds: z
    .int()
    .min(0)
    .max(2_592_000)
    .default(86_400)
    .describe("Seconds that the old key works on, 0 to 2,592,000 (30 days); the default is a day."),
});

/**
 * Reads a request's body by its schema. Unknown members are ignored, and null counts as absent.
 *
 * @throws ServiceError of the gravest fault, with all of them in `details.problems`: `parameter_missing`, `invalid_type`,
 *   `invalid_enumeration`, `invalid_date` or `value_error`; `file_too_large` past 16 KB.
 */
export async function readOwnBody<T extends z.ZodType>(
  request: IncomingMessage,
  schema: T,
  options: { mayBeEmpty?: boolean } = {},
): Promise<z.output<T>> {
  const text = await readBody(request, bodyBytes);
  const sent = options.mayBeEmpty && text.trim() === "" ? {} : parsePlainObject(text);
  const body = Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== null));
  const { success, data, error } = schema.safeParse(body);
  if (success) return data;
  const input = Input.fromBody(body);
  for (const issue of error.issues) {
    const [member, ...rest] = issue.path.map(String);
    const field = [member, ...rest.map((part) => `[${part}]`)].join("");
    const isMissing = issue.code === "invalid_type" && rest.length === 0 && !Object.hasOwn(body, member ?? "");
    const message = isMissing ? `${field} is missing` : `${field}: ${issue.message}`;
    if (isMissing) input.fail("parameter_missing", field, message);
    else input.fail(codeOf(issue), field, message, fixOf(issue, field));
  }
  input.check();
  throw error;
}

const typeNames: Record<string, string> = { string: "a string", array: "an array", int: "a whole number" };

function fixOf(issue: z.core.$ZodIssue, field: string): string | undefined {
  if (issue.code !== "invalid_type") return undefined;
  return `Send ${field} as ${typeNames[issue.expected] ?? `a ${issue.expected}`}.`;
}

function codeOf(issue: z.core.$ZodIssue): Parameters<Input["fail"]>[0] {
  switch (issue.code) {
    case "invalid_type":
      return "invalid_type";
    case "invalid_value":
      return "invalid_enumeration";
    case "custom":
      return issue.params?.["code"] === "invalid_date" ? "invalid_date" : "value_error";
    default:
      return "value_error";
  }
}
