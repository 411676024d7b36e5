import type { Context } from "hono";

/** JSON text that goes into an answer as it is: a stranger's metadata keeps its numbers and member order. */
export class RawJson {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** A list whose items are JSON text already. */
export function rawList(items: string): RawJson {
  return new RawJson(`[${items}]`);
}

/** A success body like `ok`, whose members may hold `RawJson`. */
export function okRaw(c: Context, members: Record<string, unknown>): Response {
  const text = toJson({ response: "OK", ...members, error: null });
  return c.body(text, 200, { "Content-Type": "application/json" });
}

/** JSON text of a value that may hold `RawJson`. */
export function toJson(value: unknown): string {
  if (value instanceof RawJson) return value.text;
  if (Array.isArray(value)) return `[${value.map(toJson).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${toJson(member)}`).join(",")}}`;
}
