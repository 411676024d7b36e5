import { randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { createAccount } from "../../src/auth/keys.ts";
import type { Tier } from "../../src/db/tables/accounts.ts";
import { createApp } from "../../src/server/app.ts";
import type { Services } from "../../src/services.ts";
import { send } from "../setup/send.ts";

/** Any member of an answer: tests compare it, or read on. */
export interface Json {
  [member: string]: Json | undefined;
}

/** The real HTTP APIs over a relay harness's services, with a key of an account of their own; answers are checked by the OpenAPI document. */
export class HttpApi {
  readonly base: string;
  readonly key: string;
  readonly services: Services;
  readonly #server: Server;

  private constructor(server: Server, services: Services, key: string) {
    this.#server = server;
    this.services = services;
    this.key = key;
    this.base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(services: Services, tier: Tier = "growth"): Promise<HttpApi> {
    const key = await newKey(services, tier);
    const server = createServer(getRequestListener(createApp(services).fetch));
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    return new HttpApi(server, services, key);
  }

  async send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const answer = await send(this.base + path, { method, key: this.key, body, headers });
    return { ...answer, body: answer.body as Json };
  }

  get = (path: string, headers: Record<string, string> = {}) => this.send("GET", path, undefined, headers);
  post = (path: string, body: unknown, headers: Record<string, string> = {}) => this.send("POST", path, body, headers);
  put = (path: string, body: unknown, headers: Record<string, string> = {}) => this.send("PUT", path, body, headers);

  async graphql(query: string, variables: Record<string, unknown> = {}, headers: Record<string, string> = {}) {
    const { body } = await this.post("/graphql", { query, variables }, headers);
    return body as unknown as {
      data: Json;
      errors?: { message: string; extensions: { code: string; details?: { deployment: string } } }[];
    };
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }
}

export async function newKey(services: Services, tier: Tier = "growth"): Promise<string> {
  const key = randomUUID();
  await createAccount(services.db, services.config.keyPepper, { name: "apis", tier, key });
  return key;
}
