import { startClientSpan } from "./span.ts";

/** `fetch` to a node, traced with its methods and the node's host only: a path may contain a key. */
export async function tracedFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const url = input instanceof Request ? input.url : String(input);
  const end = startClientSpan("rpc", { "server.address": new URL(url).hostname, "rpc.method": methodsOf(init?.body) });
  if (!end) return await fetch(input, init);
  try {
    const response = await fetch(input, init);
    end();
    return response;
  } catch (error) {
    end(error);
    throw error;
  }
}

function methodsOf(body: unknown): string {
  if (typeof body !== "string") return "";
  return [...new Set([...body.matchAll(/"method":"(\w{1,60})"/g)].map(([, method]) => method))].slice(0, 10).join(",");
}
