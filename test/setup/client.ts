import type { ReadyInfo } from "../../src/embedded/ready-info.ts";
import { patient } from "./poll-timeout.ts";
import { type Answer, type Request, send } from "./send.ts";

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
    return await this.#send(path, { method: "POST", body, headers });
  }

  async put(path: string, body: unknown): Promise<Answer> {
    return await this.#send(path, { method: "PUT", body });
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
    return await send(this.#ready.graphql, { key: this.#key, body: { query, variables } });
  }

  async #send(path: string, request: Request): Promise<Answer> {
    return await send(`${this.#ready.rest}${path}`, { key: this.#key, ...request });
  }
}
