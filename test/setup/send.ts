import { setTimeout as sleep } from "node:timers/promises";
import { checkAnswer } from "./openapi-check.ts";
import { patient } from "./wait.ts";

/** What an API answered; a body that is not JSON is its text. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  // What a test expects of a body is said by its assertions.
  body: ReturnType<typeof JSON.parse>;
}

export interface Request {
  method?: string;
  key?: string | null | undefined;
  /** An object is sent as JSON; text and forms as they are, text as JSON too unless a header says otherwise. */
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** Whether it does nothing more when it is sent again; guessed from method, headers and document where it is not said. */
  repeatable?: boolean;
}

const mostTries = 5;

/**
 * The tests' one client of the APIs. Every answer of `/v0` and `/v1` is checked by the OpenAPI document.
 *
 * A request that may be repeated is sent again when a busy machine is all that was in its way: its body came so late that the
 * server answered 408, or the connection was refused or reset before any answer; or no worker signed its transaction in time.
 */
export async function send(url: string, request: Request = {}): Promise<Answer> {
  const { method = request.body === undefined ? "GET" : "POST", key, body, signal } = request;
  const sent = body === undefined || typeof body === "string" || body instanceof FormData ? body : JSON.stringify(body);
  const init = {
    method,
    headers: {
      ...(key ? { Authorization: key } : {}),
      ...(typeof sent === "string" ? { "Content-Type": "application/json" } : {}),
      ...request.headers,
    },
    ...(sent === undefined ? {} : { body: sent }),
    ...(signal ? { signal } : {}),
  };
  const tries = (request.repeatable ?? isRepeatable(method, sent, init.headers)) ? mostTries : 1;
  const { response, text } = await fetchSigned(url, init, tries);
  const json = response.headers.get("content-type")?.includes("json") === true;
  const answer = { status: response.status, headers: response.headers, text, body: json ? JSON.parse(text) : text };
  const { pathname, search } = new URL(url);
  checkAnswer(method, pathname + search, answer.status, answer.body);
  return answer;
}

/** A request that is on disk, and that no worker had time to sign yet, is asked for again, as its answer says. */
async function fetchSigned(
  url: string,
  init: RequestInit,
  tries: number,
): Promise<{ response: Response; text: string }> {
  for (const end = performance.now() + patient.timeout; ; ) {
    const response = await fetchAgain(url, init, tries);
    const text = await response.text();
    const waits = response.status === 503 && text.includes("no worker has signed it yet");
    if (!waits || performance.now() > end) return { response, text };
  }
}

async function fetchAgain(url: string, init: RequestInit, tries: number): Promise<Response> {
  for (let left = tries - 1; ; left -= 1) {
    try {
      const response = await fetch(url, init);
      if (response.status !== 408 || left === 0) return response;
      await response.body?.cancel();
    } catch (error) {
      if (left === 0 || !isUnanswered(error)) throw error;
    }
    await sleep(100 * (tries - left));
  }
}

/** Whether the connection was refused, or ended before any answer. */
function isUnanswered(error: unknown): boolean {
  const { code } = ((error as Error).cause ?? {}) as { code?: string };
  return ["ECONNREFUSED", "ECONNRESET", "EPIPE", "UND_ERR_SOCKET"].includes(code ?? "");
}

function isRepeatable(method: string, body: FormData | string | undefined, headers: Record<string, string>): boolean {
  if (method === "GET" || method === "HEAD") return true;
  if (Object.keys(headers).some((name) => name.toLowerCase() === "idempotency-key")) return true;
  return typeof body === "string" && /^\{"query":"\s*(\{|query\b)/.test(body);
}
