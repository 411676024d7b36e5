import { Readable } from "node:stream";
import type { ReadableStream as NodeStream } from "node:stream/web";
import { expect } from "vitest";
import type { HttpApi } from "./http-api.ts";

/** Reads server-sent events of a subscription with one argument, `id`, until `enough` or the end; then leaves. */
export async function listenStates(
  api: HttpApi,
  field: "deployment" | "mintRequest",
  id: string,
  enough: (states: string[]) => boolean = () => false,
): Promise<string[]> {
  const leaving = new AbortController();
  const response = await fetch(`${api.base}/graphql`, {
    method: "POST",
    headers: { Authorization: api.key, "Content-Type": "application/json", Accept: "text/event-stream" },
    body: JSON.stringify({ query: `subscription ($id: ID!) { ${field}(id: $id) { state } }`, variables: { id } }),
    signal: leaving.signal,
  });
  expect(response.headers.get("content-type")).toContain("text/event-stream");
  const states: string[] = [];
  let text = "";
  if (!response.body) throw new Error("no body");
  for await (const chunk of Readable.fromWeb(response.body as NodeStream)) {
    text += Buffer.from(chunk).toString("utf8");
    for (const [, data = ""] of text.matchAll(/^data: ?(\{.*\})$/gm)) {
      const { data: payload, errors } = JSON.parse(data);
      states.push(payload?.[field]?.state ?? errors?.[0]?.extensions?.code);
    }
    text = text.slice(text.lastIndexOf("\n\n") + 1);
    if (enough(states)) break;
  }
  leaving.abort();
  return states;
}
