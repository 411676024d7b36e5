import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { Drain } from "../../src/http/drain.ts";
import { EventStreams } from "../../src/http/event-streams.ts";
import { createHttpServer } from "../../src/server/http-server.ts";
import { ApiServer } from "../setup/api-server.ts";
import { patient } from "../setup/wait.ts";
import { furnish, type Tenant } from "../tenants/tenant.ts";
import { type EventClient, subscribe as open } from "./event-client.ts";

// Row-level security is on, and every client has a socket of its own.
let api: ApiServer;
let alice: Tenant;
let mallory: Tenant;
const servers: Server[] = [];
const clients: EventClient[] = [];

beforeAll(async () => {
  api = await ApiServer.start({ RATE_LIMITS: "off" });
  alice = await furnish(api, "alice");
  mallory = await furnish(api, "mallory");
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  await expect.poll(openStreams, patient).toBe(0);
});
afterAll(async () => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
  await api?.close();
});

const subscribe: typeof open = async (...args) => {
  const client = await open(...args);
  clients.push(client);
  return client;
};
const states = (client: EventClient) => client.events().map(({ data }) => data?.deployment?.state);
const codes = (client: EventClient) => client.events().map(({ errors }) => errors?.[0]?.extensions.code);
const firstEvent = (client: EventClient) => expect.poll(() => client.events().length, patient).toBe(1);

/** What a scraper reads. */
async function openStreams(): Promise<number> {
  const { body } = await api.send("GET", "/metrics", null);
  return Number(/^mintyard_open_streams(?:\{.*\})? (\d+)$/m.exec(body)?.[1]);
}

/** As the relay does it; the chain may take back what is not final, so there is no end to changes. */
async function move(tenant: Tenant, state: string): Promise<void> {
  await api.database.pool.query("UPDATE service.intent SET state = $2, version = version + 1 WHERE id = $1", [
    tenant.ids.intent,
    state,
  ]);
}

/** A server of the same process that pings and checks often. */
async function quickServer(drain = new Drain()): Promise<{ base: string; server: Server }> {
  const streams = new EventStreams({ pingMs: 100, checkMs: 100 });
  const server = createHttpServer(api.services, { drain, streams });
  servers.push(server);
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  return { base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server };
}

test.each(["POST", "GET"] as const)(
  "by %s each event comes when it happens, with the account's data",
  async (method) => {
    const client = await subscribe(api.url, method, alice.key, alice.ids.intent);
    expect([client.status, client.headers["content-type"]]).toEqual([200, "text/event-stream; charset=utf-8"]);
    expect(client.headers["x-request-id"]).toMatch(/^req_/);
    expect(client.headers["access-control-allow-origin"]).toBe("*");
    const seen = ["CONFIRMED"];
    await expect.poll(() => states(client), patient).toEqual(seen);
    // The next change is made only when the last was reported.
    for (const state of ["in_flight", "mined", "confirmed", "in_flight", "mined", "confirmed"]) {
      await move(alice, state);
      seen.push(state.toUpperCase());
      await expect.poll(() => states(client), patient).toEqual(seen);
    }
    for (const { data, errors, extensions } of client.events()) {
      expect([data?.deployment?.id, errors]).toEqual([alice.ids.intent, undefined]);
      expect(extensions).toHaveProperty("freshness");
    }
  },
);

test("a stream that has nothing more to tell is completed", async () => {
  const tenant = await furnish(api, "finished");
  await move(tenant, "finalized");
  const client = await subscribe(api.url, "POST", tenant.key, tenant.ids.intent);
  await expect.poll(client.ended, patient).toBe("end");
  expect(states(client)).toEqual(["FINALIZED"]);
  expect(client.text().endsWith("event: complete\ndata:\n\n")).toBe(true);
});

test.each(["POST", "GET"] as const)("by %s another account, or nobody, sees no event", async (method) => {
  const other = await subscribe(api.url, method, mallory.key, alice.ids.intent);
  const nobody = await subscribe(api.url, method, null, alice.ids.intent);
  await move(alice, "in_flight");
  await move(alice, "mined");
  await move(alice, "confirmed");
  await expect.poll(() => [other.ended(), nobody.ended()], patient).toEqual(["end", "end"]);
  expect(codes(other)).toEqual(["not_found"]);
  expect(other.text()).not.toContain(alice.ids.intent);
  expect([nobody.status, codes(nobody)]).toEqual([401, ["authorization_missing"]]);
});

test("streams of two accounts side by side never mix", async () => {
  const [hers, his] = await Promise.all(
    [alice, mallory].map((tenant) => subscribe(api.url, "GET", tenant.key, tenant.ids.intent)),
  );
  if (!hers || !his) throw new Error("no streams");
  for (const state of ["in_flight", "mined", "confirmed"]) {
    await Promise.all([move(alice, state), move(mallory, state)]);
    await expect
      .poll(() => [states(hers).at(-1), states(his).at(-1)], patient)
      .toEqual(Array(2).fill(state.toUpperCase()));
  }
  const ids = (client: EventClient) => new Set(client.events().map(({ data }) => data?.deployment?.id));
  expect([ids(hers), ids(his)]).toEqual([new Set([alice.ids.intent]), new Set([mallory.ids.intent])]);
});

test("a client that leaves takes its stream along: nothing is polled any more, and the gauge falls", async () => {
  const left = await Promise.all(
    (["POST", "GET", "POST"] as const).map((method) => subscribe(api.url, method, alice.key, alice.ids.intent)),
  );
  for (const client of left) await firstEvent(client);
  expect(await openStreams()).toBe(3);
  for (const client of left) client.destroy();
  await expect.poll(openStreams, patient).toBe(0);
  let asked = 0;
  const count = () => {
    asked += 1;
  };
  api.services.pool.on("acquire", count);
  try {
    // Three streams ask ten times in a second.
    const quiet = async () => {
      asked = 0;
      await sleep(1_000);
      return asked;
    };
    await expect.poll(quiet, patient).toBe(0);
  } finally {
    api.services.pool.off("acquire", count);
  }
});

test("an account has 20 streams at most; the next is refused with what to do", async () => {
  const full = await Promise.all(
    Array.from({ length: 20 }, () => subscribe(api.url, "POST", alice.key, alice.ids.intent)),
  );
  for (const client of full) await firstEvent(client);
  expect(await openStreams()).toBe(20);
  for (const method of ["POST", "GET"] as const) {
    const refused = await subscribe(api.url, method, alice.key, alice.ids.intent);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
    await expect.poll(refused.ended, patient).toBe("end");
    const [event] = refused.events();
    expect(event?.errors?.[0]?.extensions).toMatchObject({
      code: "rate_limit_exceeded",
      details: { open: 20, limit: 20 },
    });
    expect(event?.errors?.[0]?.extensions.fix).toContain("close a stream");
  }
  await firstEvent(await subscribe(api.url, "POST", mallory.key, mallory.ids.intent));
  full[0]?.destroy();
  // The one of the other account is among them.
  await expect.poll(openStreams, patient).toBe(20);
  await firstEvent(await subscribe(api.url, "POST", alice.key, alice.ids.intent));
});

test("requests that come together do not pass the bound together", async () => {
  const all = await Promise.all(
    Array.from({ length: 30 }, () => subscribe(api.url, "POST", alice.key, alice.ids.intent)),
  );
  expect(all.filter(({ status }) => status === 200)).toHaveLength(20);
  expect(all.filter(({ status }) => status === 429)).toHaveLength(10);
});

test("a revoked key ends its streams with the reason, with or without a further event", async () => {
  const { base } = await quickServer();
  const key = async () => {
    const { body } = await api.send("POST", "/v0/me/keys", alice.key, { name: "streams", scopes: ["read"] });
    return { key: body.api_key as string, id: body.key.id as string };
  };
  const [idle, busy] = [await key(), await key()];
  const quiet = await subscribe(base, "POST", idle.key, alice.ids.intent);
  // On the server that checks seldom: the event itself is what asks.
  const reported = await subscribe(api.url, "GET", busy.key, alice.ids.intent);
  const stays = await subscribe(base, "POST", alice.key, alice.ids.intent);
  for (const client of [quiet, reported, stays]) await firstEvent(client);
  for (const { id } of [idle, busy])
    expect((await api.send("DELETE", `/v0/me/keys/${id}`, alice.key)).status).toBe(200);
  await expect.poll(quiet.ended, patient).toBe("end");
  // A process believes what it knew of a key for 0.8 seconds.
  await sleep(1_000);
  for (const state of ["in_flight", "mined", "confirmed"]) await move(alice, state);
  await move(alice, "in_flight");
  await expect.poll(reported.ended, patient).toBe("end");
  for (const client of [quiet, reported]) {
    expect(codes(client)).toEqual([undefined, "invalid_credentials"]);
    expect(client.events()[1]?.errors?.[0]?.extensions.requestId).toMatch(/^req_/);
    expect(client.text().endsWith("event: complete\ndata:\n\n")).toBe(true);
  }
  await expect.poll(() => states(stays).at(-1), patient).toBe("IN_FLIGHT");
  await move(alice, "mined");
  await move(alice, "confirmed");
});

test("a suspended account's stream ends", async () => {
  const { base } = await quickServer();
  const tenant = await furnish(api, "suspended");
  const client = await subscribe(base, "GET", tenant.key, tenant.ids.intent);
  await firstEvent(client);
  await api.database.pool.query("UPDATE service.account SET suspended = true WHERE id = $1", [tenant.ids.account]);
  await expect.poll(client.ended, patient).toBe("end");
  expect(codes(client)).toEqual([undefined, "account_suspended"]);
});

test("a stream without events has a comment line from time to time", async () => {
  const { base } = await quickServer();
  const client = await subscribe(base, "POST", alice.key, alice.ids.intent);
  await firstEvent(client);
  await expect
    .poll(
      () =>
        client
          .text()
          .split("\n\n")
          .filter((part) => part === ":").length,
      patient,
    )
    .toBeGreaterThan(3);
  expect(client.events()).toHaveLength(1);
});

test("a server that is stopped ends its streams properly, and cuts none", async () => {
  const drain = new Drain();
  const { base, server } = await quickServer(drain);
  const open = await Promise.all(
    (["POST", "GET"] as const).map((method) => subscribe(base, method, alice.key, alice.ids.intent)),
  );
  for (const client of open) await firstEvent(client);
  // Longer than the test may take: the streams end by themselves.
  await drain.close(server, { delayMs: 0, graceMs: 2 * patient.timeout });
  for (const client of open) {
    await expect.poll(client.ended, patient).toBe("end");
    expect(codes(client)).toEqual([undefined, "service_unavailable"]);
    expect(client.text().endsWith("event: complete\ndata:\n\n")).toBe(true);
  }
});

test("a client that takes no stream is told so, and keeps no place", async () => {
  const client = await subscribe(api.url, "POST", alice.key, alice.ids.intent, "application/json");
  await expect.poll(client.ended, patient).toBe("end");
  expect(client.status).toBe(406);
  expect(client.text()).toContain("text/event-stream");
  expect(await openStreams()).toBe(0);
});

test.each(["text/event-stream", "application/json", "*/*", "application/graphql-response+json"])(
  "what is not there, or is somebody else's, is no fault of the server for who takes %s",
  async (accept) => {
    const nothing = "00000000-0000-4000-8000-000000000000";
    for (const [field, id] of [
      ["deployment", alice.ids.intent],
      ["deployment", nothing],
      ["deployment", "no id"],
      ["mintRequest", alice.ids.intent],
      ["mintRequest", nothing],
    ] as const) {
      const answer = await fetch(`${api.url}/graphql`, {
        method: "POST",
        headers: { Accept: accept, "Content-Type": "application/json", Authorization: mallory.key },
        body: JSON.stringify({ query: `subscription { ${field}(id: "${id}") { id } }` }),
      });
      const text = await answer.text();
      expect([field, id, answer.status < 500], text).toEqual([field, id, true]);
      expect(text).toContain('"not_found"');
    }
    const collection = `subscription { collection(chain: "goerli", collection: "0x${"7".repeat(40)}") { name } }`;
    const { status } = await fetch(`${api.url}/graphql`, {
      method: "POST",
      headers: { Accept: accept, "Content-Type": "application/json" },
      body: JSON.stringify({ query: collection }),
    });
    expect([200, 404, 503]).toContain(status);
  },
);
