import type { ReadyInfo } from "../../src/embedded/ready-info.ts";
import { checkAnswer } from "./openapi-check.ts";
import { patient } from "./poll-timeout.ts";

export interface Answer {
  status: number;
  body: Record<string, unknown>;
  headers: Headers;
}

/** A plain HTTP client of a running stack, for both APIs. */
export class Client {
  readonly #ready: ReadyInfo;
  readonly #key: string;

  constructor(ready: ReadyInfo, key = ready.apiKey) {
    this.#ready = ready;
    this.#key = key;
  }

  async get(path: string): Promise<Answer> {
    return await this.#send(path, {});
  }

  async json(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    return await this.#send(path, {
      method: "POST",
      body: text,
      headers: { "Content-Type": "application/json", ...headers },
    });
  }

  async put(path: string, body: unknown): Promise<Answer> {
    return await this.#send(path, {
      method: "PUT",
      body: JSON.stringify(body),
      headers: { "Content-Type": "application/json" },
    });
  }

  async form(path: string, parts: readonly [name: string, value: Blob | string, fileName?: string][]): Promise<Answer> {
    const form = new FormData();
    for (const [name, value, fileName] of parts) {
      if (typeof value === "string") form.append(name, value);
      else form.append(name, value, fileName ?? "blob");
    }
    return await this.#send(path, { method: "POST", body: form });
  }

  /** Repeats a GET until `done` likes the answer. */
  async until(path: string, done: (answer: Answer) => boolean, withinMs = patient.timeout): Promise<Answer> {
    for (const end = Date.now() + withinMs; ; ) {
      const answer = await this.get(path);
      if (done(answer)) return answer;
      if (Date.now() > end) throw new Error(`${path} is still ${answer.status} ${JSON.stringify(answer.body)}`);
      await new Promise((wait) => setTimeout(wait, 100));
    }
  }

  /** A GraphQL operation: data and errors as they came. */
  async graphql(query: string, variables: Record<string, unknown> = {}): Promise<Answer> {
    const response = await fetch(this.#ready.graphql, {
      method: "POST",
      headers: { Authorization: this.#key, "Content-Type": "application/json" },
      body: JSON.stringify({ query, variables }),
    });
    return {
      status: response.status,
      body: (await response.json()) as Record<string, unknown>,
      headers: response.headers,
    };
  }

  async #send(path: string, init: RequestInit): Promise<Answer> {
    const headers = { ...(this.#key ? { Authorization: this.#key } : {}), ...(init.headers as Record<string, string>) };
    const response = await fetch(`${this.#ready.rest}${path}`, { ...init, headers });
    const body = (await response.json()) as Record<string, unknown>;
    checkAnswer(init.method ?? "GET", `/v0${path}`, response.status, body);
    return { status: response.status, body, headers: response.headers };
  }
}
