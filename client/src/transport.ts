import { codeOfStatus, MintyardError } from "./error.ts";
import type { components } from "./generated/openapi.ts";

export interface ClientOptions {
  /** Address of the server, such as `https://nft.example.com`, without `/v0`. */
  url: string;
  /** API key, sent in the header `Authorization`. A key in a page is public: give that one the scope `read` alone. */
  key?: string | undefined;
  /** In place of the global `fetch`. */
  fetch?: typeof globalThis.fetch | undefined;
}

export interface RequestOptions {
  signal?: AbortSignal | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  /** A key makes a request one for ever: sent again under it, it has no second effect. */
  idempotencyKey?: string | undefined;
}

export interface Answered {
  status: number;
  headers: Headers;
  body: unknown;
}

export type Send = (method: string, path: string, body: unknown, options?: RequestOptions) => Promise<Answered>;

/**
 * @returns a function that sends a request and reads its JSON; forms are sent as they are, all else as JSON. It throws a
 *   `MintyardError` where nothing was answered (`no_answer`) or no JSON, and the reason of the signal.
 * @throws TypeError for an address that is none.
 */
export function createTransport({ url, key, fetch = globalThis.fetch }: ClientOptions): Send {
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
    try {
      const response = await fetch(base + path, request);
      return { status: response.status, headers: response.headers, body: jsonOf(response, await response.text()) };
    } catch (cause) {
      if (cause instanceof MintyardError || signal?.aborted) throw cause;
      const fix =
        "Check the address of the server and the connection to it; the request may have arrived all the same.";
      throw new MintyardError(`${base} did not answer`, { status: 0, code: "no_answer", fix, cause });
    }
  };
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

/** @returns milliseconds; undefined where the header is absent or a date. */
export function retryAfterOf(headers: Headers): number | undefined {
  const seconds = headers.get("Retry-After");
  return seconds !== null && /^\d+$/.test(seconds) ? 1_000 * Number(seconds) : undefined;
}

/** The failure that a REST answer tells. */
export function errorOfAnswer({ status, headers, body }: Answered): MintyardError {
  const { error, detail } = (body ?? {}) as Partial<components["schemas"]["Error"]>;
  return new MintyardError(error?.message ?? `the server answered ${status}`, {
    ...{ status, code: error?.code ?? codeOfStatus(status), fix: error?.fix, retryAfterMs: retryAfterOf(headers) },
    requestId: error?.request_id ?? headers.get("X-Request-Id") ?? undefined,
    problems: detail?.map(({ loc, msg }) => ({ field: loc.join("."), message: msg })),
  });
}
