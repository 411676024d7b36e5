import type { Context } from "hono";
import { etagOf, matchesEtag, revalidated } from "../http/etag.ts";
import { JsonText } from "../json/json-text.ts";

/** JSON text that goes into an answer as it is: third parties' metadata keeps its numbers and member order. */
export class RawJson {
  readonly text: string | JsonText;
  constructor(text: string | JsonText) {
    this.text = text;
  }
}

/** A list whose items are JSON text already. */
export function rawList(items: JsonText): RawJson {
  return new RawJson(new JsonText().add("[").add(items).add("]"));
}

/** A success body like `ok`, whose members may hold `RawJson`. */
export function okRaw(c: Context, members: Record<string, unknown>): Response {
  return c.body(bodyText(members).toString(), 200, { "Content-Type": "application/json" });
}

/** The same for a read: it has a name by which it is asked for again, and is not sent to who has it. */
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

/** The text of a success body, what PostgreSQL wrote in it untouched. */
export function bodyText(members: Record<string, unknown>): JsonText {
  const text = new JsonText().add('{"response":"OK"');
  for (const [name, member] of Object.entries(members)) {
    if (member === undefined) continue;
    text.add(`,"${name}":`).add(member instanceof RawJson ? member.text : toJson(member));
  }
  return text.add(',"error":null}');
}
