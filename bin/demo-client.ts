import type { ReadyInfo } from "../src/embedded/ready-info.ts";

type Json = Record<string, unknown>;

/** The two APIs of a running service as a client sees them: over plain HTTP, without code of ours. */
export class DemoClient {
  readonly #ready: ReadyInfo;

  constructor(ready: ReadyInfo) {
    this.#ready = ready;
  }

  /** A `/v0` call. @throws Error with the service's own code and text when it answers NOK. */
  async rest<T extends Json>(path: string, init: { method?: string; body?: FormData | Json } = {}): Promise<T> {
    const answer = await this.#rest(path, init);
    if (answer.status !== 200) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
    return answer.body as T;
  }

  /** Repeats a GET until it answers 200 and `done` accepts the body. */
  async restUntil<T extends Json>(path: string, done: (body: T) => boolean = () => true): Promise<T> {
    for (const end = Date.now() + 60_000; ; ) {
      const { status, body } = await this.#rest(path, {});
      if (status === 200 && done(body as T)) return body as T;
      if (Date.now() > end) throw new Error(`${path}: still ${status} ${JSON.stringify(body)} after a minute`);
      await new Promise((wait) => setTimeout(wait, 100));
    }
  }

  async graphql<T>(query: string, variables: Json): Promise<T> {
    const response = await fetch(this.#ready.graphql, {
      method: "POST",
      headers: { Authorization: this.#ready.apiKey, "Content-Type": "application/json" },
      body: JSON.stringify({ query, variables }),
    });
    const { data, errors } = (await response.json()) as { data?: T; errors?: unknown };
    if (errors || !data) throw new Error(`GraphQL: ${JSON.stringify(errors)}`);
    return data;
  }

  async #rest(path: string, { method = "GET", body }: { method?: string; body?: FormData | Json }) {
    const form = body instanceof FormData;
    const response = await fetch(`${this.#ready.rest}${path}`, {
      method,
      headers: { Authorization: this.#ready.apiKey, ...(body && !form ? { "Content-Type": "application/json" } : {}) },
      ...(body ? { body: form ? body : JSON.stringify(body) } : {}),
    });
    return { status: response.status, body: (await response.json()) as Json };
  }
}
