import { codeOfStatus, MintyardError } from "./error.ts";
import type { components } from "./generated/openapi.ts";

export interface ClientOptions {
  /** The server's base URL, such as `https://nft.example.com`, without `/v0`. */
  url: string;
  /** API key, sent in the header `Authorization`. A key in a web page is public: give it the scope `read` only. */
  key?: string | undefined;
  /** Replaces the global `fetch`. */
  fetch?: typeof globalThis.fetch | undefined;
}

export interface RequestOptions {
  signal?: AbortSignal | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  /** Requests with the same key are one request, for ever: a repetition has no second effect. */
  idempotencyKey?: string | undefined;
}

export interface Answered {
  status: number;
  headers: Headers;
  body: unknown;
}

export type Send = (method: string, path: string, body: unknown, options?: RequestOptions) => Promise<Answered>;

/** Sends a request. @returns the response once its headers have arrived; its body is unread. */
export type Open = (method: string, path: string, body: unknown, options?: RequestOptions) => Promise<Response>;

/**
 * @returns a function that sends a request: forms as they are, everything else as JSON. It throws a `MintyardError`
 * when there is no answer (`no_answer`), and the signal's reason.
 * @throws TypeError for an invalid URL.
 */
export function createTransport({ url, key, fetch = globalThis.fetch }: ClientOptions): Open {
  const base = new URL(url).href.replace(/\/+$/, "");
  return async (method, path, body, { signal, headers, idempotencyKey } = {}) => {
    const isForm = body instanceof FormData;
    const request = {
      method: method.toUpperCase(),
      headers: {
        ...(key ? { Authorization: key } : {}),
        ...(body === undefined || isForm ? {} : { "Content-Type": "application/json" }),
        ...(idempotencyKey ? { "Idempotency-Key": idempotencyKey } : {}),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    };
    return await asAnswer(base, signal, fetch(base + path, request));
  };
}

/** @returns a function that sends a request and reads its JSON; throws as `open`, and a `MintyardError` for no JSON. */
export function createSend(open: Open): Send {
  return async (...request) => await readAnswer(await open(...request), request[3]?.signal);
}

/** Reads a response's JSON. @throws MintyardError `no_answer` when the response breaks off. */
export async function readAnswer(response: Response, signal?: AbortSignal): Promise<Answered> {
  const text = await asAnswer(originOf(response), signal, response.text());
  return { status: response.status, headers: response.headers, body: jsonOf(response, text) };
}

/** For error messages; a response made by a test has no URL. */
export function originOf({ url }: Response): string {
  return url === "" ? "the server" : new URL(url).origin;
}

/** @throws MintyardError `no_answer` when the answer fails to arrive, unless the caller aborted it. */
export async function asAnswer<T>(from: string, signal: AbortSignal | undefined, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    if (signal?.aborted) throw cause;
    const fix = "Check the address of the server and the connection to it; the request may have arrived all the same.";
    throw new MintyardError(`${from} did not answer`, { status: 0, code: "no_answer", fix, cause });
  }
}

function jsonOf({ status, headers }: Response, text: string): unknown {
  // An unchanged answer (304) has no body.
  if (text === "") return null;
  try {
    return JSON.parse(text);
  } catch {
    throw new MintyardError(`the server answered ${status}, and no JSON: ${text.slice(0, 200)}`, {
      ...{ status, code: codeOfStatus(status), fix: "Check the address of the server, and the proxy in front of it." },
      ...{ requestId: headers.get("X-Request-Id") ?? undefined, retryAfterMs: retryAfterOf(headers) },
    });
  }
}

/** @returns milliseconds; undefined if the header is absent or a date. */
export function retryAfterOf(headers: Headers): number | undefined {
  const seconds = headers.get("Retry-After");
  return seconds !== null && /^\d+$/.test(seconds) ? 1_000 * Number(seconds) : undefined;
}

/** The error in a REST answer. */
export function errorOfAnswer({ status, headers, body }: Answered): MintyardError {
  const { error, detail } = (body ?? {}) as Partial<components["schemas"]["Error"]>;
  return new MintyardError(error?.message ?? `the server answered ${status}`, {
    ...{ status, code: error?.code ?? codeOfStatus(status), fix: error?.fix, retryAfterMs: retryAfterOf(headers) },
    requestId: error?.request_id ?? headers.get("X-Request-Id") ?? undefined,
    problems: detail?.map(({ loc, msg }) => ({ field: loc.join("."), message: msg })),
  });
}
