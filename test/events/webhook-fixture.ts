import { expect } from "vitest";
import { runWebhooks } from "../../src/events/run-webhooks.ts";
import { wakeRounds } from "../../src/outbox/wake-rounds.ts";
import { Rounds } from "../../src/rounds.ts";
import type { Services } from "../../src/services.ts";
import { ApiServer } from "../setup/api-server.ts";
import { addressOf } from "../setup/nft-fixture.ts";
import { wait } from "../setup/wait.ts";
import { type Received, WebhookReceiver } from "./receiver.ts";

interface Made {
  id: string;
  secret: string;
  publicKey: string;
}

/** An API with an account, a worker that sends its events, and a receiver for them. */
export class WebhookFixture {
  readonly api: ApiServer;
  readonly receiver: WebhookReceiver;
  readonly key: string;
  readonly account: string;
  /** Under the login that a worker has. */
  readonly worker: Services;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();

  private constructor(api: ApiServer, receiver: WebhookReceiver, { key, id }: { key: string; id: string }) {
    this.api = api;
    this.receiver = receiver;
    this.key = key;
    this.account = id;
    this.worker = { ...api.services, pool: api.database.pool, db: api.database.db };
  }

  static async start(): Promise<WebhookFixture> {
    const api = await ApiServer.start({ RATE_LIMITS: "off", WEBHOOKS_ALLOW_PRIVATE: "true" });
    const fixture = new WebhookFixture(api, await WebhookReceiver.start(), await api.account("enterprise"));
    // With an endpoint there, however little it wants, the worker listens and does not only look every other second.
    await fixture.make({ url: `${fixture.receiver.url}/never`, types: ["mint"] });
    const rounds = new Rounds(fixture.#stop.signal);
    const connection = { connectionString: fixture.api.database.url };
    const loops = [runWebhooks(fixture.worker, rounds), wakeRounds(fixture.worker, connection, rounds)];
    fixture.#running = Promise.all(loops).then(() => undefined);
    const isAsked = "SELECT count(*)::int AS count FROM service.webhook WHERE verified_at IS NULL";
    const left = async () => (await api.database.pool.query<{ count: number }>(isAsked)).rows[0]?.count;
    await wait("the endpoint to be verified", left, { until: (count) => count === 0 });
    await fixture.reset();
    return fixture;
  }

  /** Between two tests. */
  async reset(): Promise<void> {
    this.receiver.answer = () => ({ status: 204 });
    this.receiver.consent = (challenge) => ({ status: 200, body: challenge });
    this.receiver.received.length = 0;
    this.receiver.challenged.length = 0;
    await this.api.database.pool.query("DELETE FROM service.webhook WHERE url NOT LIKE '%/never'");
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await this.receiver.close();
    await this.api.close();
  }

  make = async (input: Record<string, unknown> = {}, as = this.key): Promise<Made> => {
    const url = `${this.receiver.url}/hook`;
    const { status, body } = await this.api.send("POST", "/v1/webhooks", as, { url, ...input });
    expect([status, body.error]).toEqual([200, null]);
    return { id: body.webhook.id, secret: body.secret, publicKey: body.webhook.publicKey };
  };

  /** Writes an event as a trigger does. */
  write = async (type = "deployment.confirmed", owner: string | null = this.account): Promise<void> => {
    await this.api.database.pool.query("SELECT service.record_event($1, $2, $3, false, 31337, $4, 5, $5)", [
      type,
      String(Math.random()),
      owner,
      Buffer.from(addressOf(0xaa).slice(2), "hex"),
      JSON.stringify({ object: "some-id", state: type.split(".")[1] }),
    ]);
  };

  deliveries = async (id: string, query = "") =>
    (await this.api.send("GET", `/v1/webhooks/${id}/deliveries${query}`, this.key)).body.deliveries;

  /** Has what failed tried again now. */
  hurry = async (): Promise<void> => {
    const { pool } = this.api.database;
    await pool.query("UPDATE service.webhook_delivery SET next_at = clock_timestamp() WHERE state = 'pending'");
    await pool.query("UPDATE service.webhook SET next_due = clock_timestamp() WHERE lease_until IS NULL");
    await pool.query("SELECT pg_notify('mintyard_events', '')");
  };
}

export const headerOf = (message: Received | undefined, name: string) => String(message?.headers[name]);
