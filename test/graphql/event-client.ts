import { type IncomingHttpHeaders, request } from "node:http";

/** An answer as it comes in, over a connection of its own. */
export interface EventClient {
  status: number;
  headers: IncomingHttpHeaders;
  /** All that came until now. */
  text(): string;
  /** The data of `next` events that came until now. */
  events(): Event[];
  /** "end": whole; "cut": the connection broke; null: open. */
  ended(): "end" | "cut" | null;
  /** Leaves without a word. */
  destroy(): void;
}

interface Event {
  data?: { deployment: { state: string; id: string } | null } | null;
  errors?: { message: string; extensions: { code: string; fix: string; requestId: string } }[];
  extensions?: { freshness: unknown };
}

const query = "subscription ($id: ID!) { deployment(id: $id) { id state } }";

/** Subscribes to a deployment; resolves with the headers of the answer. */
export async function subscribe(
  base: string,
  method: "GET" | "POST",
  key: string | null,
  id: string,
  accept = "text/event-stream",
): Promise<EventClient> {
  return await subscribeTo(base, method, key, { query, variables: { id } }, accept);
}

/** The same to anything. */
export async function subscribeTo(
  base: string,
  method: "GET" | "POST",
  key: string | null,
  operation: { query: string; variables: Record<string, unknown> },
  accept = "text/event-stream",
): Promise<EventClient> {
  const url = new URL("/graphql", base);
  if (method === "GET") {
    url.searchParams.set("query", operation.query);
    url.searchParams.set("variables", JSON.stringify(operation.variables));
  }
  const headers = {
    accept,
    ...(key === null ? {} : { authorization: key }),
    ...(method === "POST" ? { "content-type": "application/json" } : {}),
  };
  return await new Promise((done, failed) => {
    const asked = request(url, { method, headers, agent: false }, (response) => {
      let text = "";
      let ended: "end" | "cut" | null = null;
      response.setEncoding("utf8").on("data", (chunk: string) => {
        text += chunk;
      });
      response.once("error", () => undefined);
      response.once("close", () => {
        ended = response.complete ? "end" : "cut";
      });
      done({
        status: response.statusCode ?? 0,
        headers: response.headers,
        text: () => text,
        events: () =>
          [...text.matchAll(/^event: next\ndata: (.*)\n\n/gm)].map(([, data = ""]) => JSON.parse(data) as Event),
        ended: () => ended,
        destroy: () => response.socket.destroy(),
      });
    });
    asked.once("error", failed);
    if (method === "POST") asked.end(JSON.stringify(operation));
    else asked.end();
  });
}
