import { createClient, MintyardError, type RepeatOptions } from "../../client/src/client.ts";
import { createSend, createTransport, errorOfAnswer } from "../../client/src/transport.ts";

/** How this browser identifies itself to the server. */
export type Identity =
  | { kind: "key"; key: string }
  | { kind: "session"; csrfToken: string; wallet: string; accountId: string };

let identity: Identity | null = null;

export function setIdentity(now: Identity | null): void {
  identity = now;
}

const options = {
  url: location.origin,
  fetch: (input: RequestInfo | URL, init?: RequestInit) => {
    const headers = new Headers(init?.headers);
    if (identity?.kind === "key") headers.set("Authorization", identity.key);
    if (identity?.kind === "session") headers.set("X-CSRF-Token", identity.csrfToken);
    return fetch(input, { ...init, headers });
  },
};

/** The service's typed client. Each request carries this browser's key or session. */
export const api = createClient(options);
const send = createSend(createTransport(options));

/** Calls a route that only pages use, so no reference documents it. @throws MintyardError */
export async function ask<T>(path: string, method = "get", body?: unknown): Promise<T> {
  const answered = await send(method, path, body);
  if (answered.status > 299) throw errorOfAnswer(answered);
  return answered.body as T;
}

/** Retries for an hour while the server says "later" or is away; any other refusal is thrown. */
export const patiently = (signal: AbortSignal, waiting: (why: string) => void = () => undefined): RepeatOptions => ({
  signal,
  timeoutMs: 3_600_000,
  onWait: ({ code, message }) => waiting(code === "no_answer" ? "The server does not answer; trying again." : message),
});

/** Something that is not indexed yet is not an error of the page. */
export const isUnknown = (error: unknown) => error instanceof MintyardError && error.code === "not_found";

/** Whether the request may have been accepted all the same: no answer came, or none by the service's rules. */
export const mayHaveArrived = (error: unknown) =>
  !(error instanceof MintyardError) || error.status === 0 || error.status >= 500;
