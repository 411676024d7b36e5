import type { IncomingMessage } from "node:http";

/** Every value of a header as the client sent it. Node joins or drops repeats, which would hide a second key. */
export function rawHeaderValues(request: IncomingMessage, name: string): string[] {
  const values: string[] = [];
  for (let index = 0; index + 1 < request.rawHeaders.length; index += 2) {
    const given = request.rawHeaders[index] ?? "";
    if (given.length === name.length && given.toLowerCase() === name) values.push(request.rawHeaders[index + 1] ?? "");
  }
  return values;
}
