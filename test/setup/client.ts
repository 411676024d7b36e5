import type { ReadyInfo } from "../../src/embedded/ready-info.ts";
import { type Answer, type Request, send } from "./send.ts";
import { wait } from "./wait.ts";

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

  /** @param repeatable it does nothing more when it is sent again, as what is refused. */
  async form(
    path: string,
    parts: readonly [name: string, value: Blob | string, fileName?: string][],
    repeatable = false,
  ): Promise<Answer> {
    const form = new FormData();
    for (const [name, value, fileName] of parts) {
      if (typeof value === "string") form.append(name, value);
      else form.append(name, value, fileName ?? "blob");
    }
    return await this.#send(path, { method: "POST", body: form, repeatable });
  }

  /** Repeats a GET until `done` likes the answer. */
  async until(path: string, done: (answer: Answer) => boolean): Promise<Answer> {
    return await wait(`GET ${path}`, () => this.get(path), { until: done });
  }

  /** A GraphQL operation: data and errors as they came. */
  async graphql(query: string, variables: Record<string, unknown> = {}): Promise<Answer> {
    return await send(this.#ready.graphql, { key: this.#key, body: { query, variables } });
  }

  async #send(path: string, request: Request): Promise<Answer> {
    return await send(`${this.#ready.rest}${path}`, { key: this.#key, ...request });
  }
}
