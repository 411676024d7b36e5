import { createHmac, createPublicKey, timingSafeEqual, verify } from "node:crypto";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { latePlaces, webhookPlaces } from "../../src/events/deliver-webhooks.ts";
import { webhookLock } from "../../src/events/match-webhooks.ts";
import { watchWebhooks } from "../../src/events/webhook-figures.ts";
import { slowMs } from "../../src/events/webhook-results.ts";
import { createMetrics } from "../../src/telemetry/metrics.ts";
import { ApiServer } from "../setup/api-server.ts";
import { addressOf } from "../setup/nft-fixture.ts";
import { patient } from "../setup/wait.ts";
import type { Received } from "./receiver.ts";
import { headerOf, WebhookFixture } from "./webhook-fixture.ts";

let fixture: WebhookFixture;
let api: WebhookFixture["api"];
let receiver: WebhookFixture["receiver"];
let key: string;
let worker: WebhookFixture["worker"];
let make: WebhookFixture["make"];
let write: WebhookFixture["write"];
let deliveries: WebhookFixture["deliveries"];
let hurry: WebhookFixture["hurry"];
beforeAll(async () => {
  fixture = await WebhookFixture.start();
  ({ api, receiver, key, worker, make, write, deliveries, hurry } = fixture);
});
afterEach(async () => await fixture.reset());
afterAll(async () => await fixture?.stop());

const until = async (condition: () => unknown) =>
  await vi.waitFor(async () => expect(await condition()).toBeTruthy(), patient);

/** What came to a path, each event once: one whose answer was late on a busy machine is sent again. */
const eventsAt = (path: string) => [
  ...new Map(
    receiver.received
      .filter((message) => message.path === path)
      .map((message) => [headerOf(message, "webhook-id"), message]),
  ).values(),
];

/** The convention as its text says it, without its library. */
function verifyByHand(message: Received, secret: string): boolean {
  const content = `${headerOf(message, "webhook-id")}.${headerOf(message, "webhook-timestamp")}.${message.body}`;
  const own = createHmac("sha256", Buffer.from(secret.replace("whsec_", ""), "base64"))
    .update(content)
    .digest();
  return headerOf(message, "webhook-signature")
    .split(" ")
    .filter((part) => part.startsWith("v1,"))
    .some((part) => timingSafeEqual(Buffer.from(part.slice(3), "base64"), own));
}

test("an event is sent, signed by the convention: its library and two implementations of ours agree", async () => {
  const { secret, publicKey } = await make({ types: ["deployment"] });
  await write();
  await until(() => eventsAt("/hook").length === 1);
  const [message] = receiver.received;
  if (!message) throw new Error("nothing came");
  const headers = Object.fromEntries(
    ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => [name, headerOf(message, name)]),
  );
  const verified = new StandardWebhook(secret).verify(message.body, headers) as { type: string; data: { id: string } };
  expect(verified).toMatchObject({ type: "deployment.confirmed", data: { object: "some-id", state: "confirmed" } });
  expect(headers["webhook-id"]).toBe(verified.data.id);
  expect(verifyByHand(message, secret)).toBe(true);
  expect(() => new StandardWebhook(secret).verify(message.body.replace("confirmed", "held"), headers)).toThrow();
  const raw = Buffer.from(publicKey.replace("whpk_", ""), "base64");
  const spki = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), raw]);
  const signature =
    headers["webhook-signature"]
      ?.split(" ")
      .find((part) => part.startsWith("v1a,"))
      ?.slice(4) ?? "";
  const content = Buffer.from(`${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${message.body}`);
  const ownKey = createPublicKey({ key: spki, format: "der", type: "spki" });
  expect(verify(null, content, ownKey, Buffer.from(signature, "base64"))).toBe(true);
});

test("what fails is tried again with the same id and bytes, and its answers are shown; then it is given up", async () => {
  const { id } = await make();
  receiver.answer = () => ({ status: 500, body: `broken\0${"x".repeat(5_000)}` });
  await write();
  for (let attempt = 1; attempt <= 10; attempt += 1) {
    await until(async () => (await deliveries(id))[0]?.attempts === attempt);
    await hurry();
  }
  const [given] = await deliveries(id);
  expect(given).toMatchObject({ state: "dead", attempts: 10, nextAt: null });
  expect(given.tries).toHaveLength(10);
  expect(given.tries[0]).toMatchObject({ status: 500, fault: null, attempt: 1 });
  expect(given.tries[0].answer).toHaveLength(1_023);
  expect(new Set(receiver.received.map(({ body, headers }) => `${headers["webhook-id"]} ${body}`)).size).toBe(1);
  expect((await api.send("GET", `/v1/webhooks/${id}`, key)).body.webhook.failingSince).not.toBeNull();
  receiver.answer = () => ({ status: 200 });
  expect((await api.send("POST", `/v1/webhooks/${id}/replay`, key, { failed: true })).body.replayed).toBe(1);
  await hurry();
  await until(async () => (await deliveries(id))[0]?.state === "delivered");
  expect((await api.send("GET", `/v1/webhooks/${id}`, key)).body.webhook.failingSince).toBeNull();
});

test("a worker's metrics count tries by what they came to, with their time", async () => {
  const metrics = createMetrics("worker");
  watchWebhooks(metrics, worker);
  const count = async (outcome: string) =>
    Number(new RegExp(`tries_total\\{outcome="${outcome}".*\\} (\\d+)`).exec(await metrics.registry.metrics())?.[1]);
  const before = [await count("delivered"), await count("failed")] as [number, number];
  await make({ types: ["burn"] });
  await write("burn.held");
  await until(async () => (await count("delivered")) === before[0] + 1);
  receiver.answer = () => ({ status: 500 });
  await write("burn.confirmed");
  await until(async () => (await count("failed")) > before[1]);
  expect(await metrics.registry.metrics()).toMatch(/mintyard_webhook_try_seconds_count\{.*\} [2-9]/);
});

test("a redirect is a failure and is not followed; a pause that is asked for is kept to; 410 disables", async () => {
  const { id } = await make();
  receiver.answer = ({ path }) =>
    path === "/hook" ? { status: 302, headers: { location: "/other", "retry-after": "7200" } } : { status: 200 };
  await write();
  await until(async () => (await deliveries(id))[0]?.attempts === 1);
  const [waiting] = await deliveries(id);
  expect(waiting.state).toBe("pending");
  expect(Date.parse(waiting.nextAt) - Date.now()).toBeGreaterThan(7_000_000);
  expect(receiver.received.map(({ path }) => path)).toEqual(["/hook"]);
  receiver.answer = () => ({ status: 410 });
  await hurry();
  await until(async () => (await api.send("GET", `/v1/webhooks/${id}`, key)).body.webhook.state === "disabled");
  expect((await api.send("GET", `/v1/webhooks/${id}`, key)).body.webhook.disabledReason).toBe("gone");
  receiver.answer = () => ({ status: 204 });
  await api.send("POST", `/v1/webhooks/${id}/resume`, key);
  await hurry();
  await until(async () => (await deliveries(id))[0]?.state === "delivered");
});

test("both secrets are valid while one is rotated", async () => {
  const { id, secret } = await make();
  const rotated = (await api.send("POST", `/v1/webhooks/${id}/rotate`, key, { overlapSeconds: 600 })).body.secret;
  expect(rotated).not.toBe(secret);
  await write();
  await until(() => eventsAt("/hook").length === 1);
  for (const one of [secret, rotated]) expect(verifyByHand(eventsAt("/hook")[0] as Received, one)).toBe(true);
  await api.send("POST", `/v1/webhooks/${id}/rotate`, key, { overlapSeconds: 0 });
  await write();
  await until(() => eventsAt("/hook").length === 2);
  for (const one of [secret, rotated]) expect(verifyByHand(eventsAt("/hook")[1] as Received, one)).toBe(false);
});

test("a server that asks for a pause is sent nothing else meanwhile", async () => {
  const { id } = await make({ types: ["burn"] });
  receiver.answer = () => ({ status: 429, headers: { "retry-after": "3600" } });
  await write("burn.queued");
  await write("burn.confirmed");
  await until(async () => (await deliveries(id)).some(({ attempts }: { attempts: number }) => attempts === 1));
  await until(async () => {
    const { rows } = await api.database.pool.query(
      "SELECT next_due > clock_timestamp() + interval '50 minutes' AS later FROM service.webhook WHERE id = $1 AND lease_id IS NULL",
      [id],
    );
    return rows[0]?.later;
  });
  expect(eventsAt("/hook")).toHaveLength(1);
});

test("an endpoint is made between two rounds of matching, and a change is found whenever it was committed", async () => {
  const { id } = await make();
  await write();
  await until(async () => (await deliveries(id)).length === 1);
  const matching = await api.database.pool.connect();
  await matching.query("BEGIN");
  await matching.query("SELECT pg_advisory_xact_lock($1)", [webhookLock]);
  let isMade = false;
  const making = make({ url: `${receiver.url}/later` }).finally(() => {
    isMade = true;
  });
  const waits = "SELECT count(*)::int AS count FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
  await until(async () => (await api.database.pool.query(waits)).rows[0].count > 0);
  expect(isMade).toBe(false);
  await matching.query("COMMIT");
  matching.release();
  const later = await making;
  await write();
  await until(async () => (await deliveries(later.id)).length === 1);
  // A change that began before the newest one, and was committed after it.
  await api.database.pool.query("UPDATE service.webhook SET types = '{mint}' WHERE id = $1", [later.id]);
  const older =
    "UPDATE service.webhook SET types = '{chain}', changed_at = changed_at - interval '1 minute' WHERE id = $1";
  await api.database.pool.query(older, [later.id]);
  await write("chain.finalized", null);
  await until(async () => (await deliveries(later.id)).length === 2);
});

test("an account's events are sent to it alone, also by a replay, and its endpoints are seen by nobody else", async () => {
  const other = await api.account("free", "other");
  const own = await make();
  const foreign = await make({ url: `${receiver.url}/foreign`, contracts: [addressOf(0xaa)] }, other.key);
  await write();
  await write("chain.finalized", null);
  await until(() => eventsAt("/foreign").length === 1);
  await until(() => eventsAt("/hook").length === 2);
  expect(eventsAt("/foreign").map(({ body }) => JSON.parse(body).type)).toEqual(["chain.finalized"]);
  const eventId = receiver.received.find(({ body }) => body.includes("deployment.confirmed"))?.headers["webhook-id"];
  expect((await api.send("POST", `/v1/webhooks/${foreign.id}/replay`, other.key, { eventId })).body.replayed).toBe(0);
  for (const [method, path] of [
    ["GET", ""],
    ["PATCH", ""],
    ["DELETE", ""],
    ["POST", "/pause"],
    ["POST", "/rotate"],
    ["POST", "/test"],
    ["GET", "/deliveries"],
    ["POST", "/replay"],
  ] as const)
    expect([
      path,
      (await api.send(method, `/v1/webhooks/${own.id}${path}`, other.key, method === "GET" ? undefined : {})).status,
    ]).toEqual([path, 404]);
  expect((await api.send("GET", "/v1/webhooks", other.key)).body.webhooks.map(({ id }: { id: string }) => id)).toEqual([
    foreign.id,
  ]);
});

test.each(["matching", "a replay"])("what %s makes while an endpoint is just being given back is sent", async (how) => {
  const { id } = await make({ types: ["burn"] });
  await write("burn.queued");
  await until(() => eventsAt("/hook").length === 1);
  const { pool } = api.database;
  await until(
    async () => (await pool.query("SELECT FROM service.webhook WHERE id = $1 AND lease_id IS NULL", [id])).rowCount,
  );
  const giving = await pool.connect();
  try {
    await pool.query(
      "UPDATE service.webhook SET lease_id = gen_random_uuid(), lease_until = clock_timestamp() + interval '1 hour' WHERE id = $1",
      [id],
    );
    // What recordResults does: locks the row, sees that nothing is due, and gives it back.
    await giving.query("BEGIN");
    await giving.query("SELECT FROM service.webhook WHERE id = $1 FOR NO KEY UPDATE", [id]);
    const waits = async () =>
      (await pool.query("SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"))
        .rowCount;
    const making = how === "matching" ? write("burn.confirmed") : api.send("POST", `/v1/webhooks/${id}/test`, key);
    await until(waits);
    await giving.query(
      "UPDATE service.webhook SET lease_id = NULL, lease_until = NULL, next_due = NULL WHERE id = $1",
      [id],
    );
    await giving.query("COMMIT");
    await making;
  } finally {
    giving.release();
  }
  await until(() => eventsAt("/hook").length === 2);
});

test("one endpoint that hangs delays no other", async () => {
  const slow = await make({ url: `${receiver.url}/slow` });
  await make();
  receiver.answer = ({ path }) => (path === "/slow" ? "hang" : { status: 200 });
  for (let round = 0; round < 5; round += 1) await write();
  await until(() => eventsAt("/hook").length === 5);
  expect((await deliveries(slow.id)).every(({ state }: { state: string }) => state === "pending")).toBe(true);
});

test("accounts with many endpoints that answer slowly leave the places of the others to them", async () => {
  const owners = await Promise.all(Array.from({ length: 4 }, () => api.account("enterprise")));
  // More than all places for those that answer at once.
  for (const owner of owners)
    for (let made = 0; made < 26; made += 1)
      await make({ url: `${receiver.url}/slow`, types: ["metadata"] }, owner.key);
  const { id } = await make({ url: `${receiver.url}/quick`, types: ["metadata"] });
  receiver.answer = ({ path }) => ({ status: 200, afterMs: path === "/slow" ? slowMs + 100 : 0 });
  await write("metadata.updated", null);
  const { pool } = api.database;
  const slow = async () => (await pool.query("SELECT FROM service.webhook WHERE slow AND url LIKE '%/slow'")).rowCount;
  await expect.poll(slow, patient).toBe(104);
  receiver.received.length = 0;
  receiver.answer = ({ path }) => (path === "/slow" ? "hang" : { status: 200 });
  const begun = performance.now();
  await write("metadata.updated", null);
  const sent = () => receiver.received.filter(({ path }) => path === "/slow").length;
  await until(() => receiver.received.some(({ path }) => path === "/quick"));
  // One that hangs gives its place to another after half a second, which a busy machine may take for all of this.
  const turns = () => 1 + Math.floor((performance.now() - begun) / latePlaces.afterMs);
  expect(sent()).toBeLessThanOrEqual(webhookPlaces.slow.all * turns());
  // One account does not take the places of the other slow ones.
  const { rows } = await pool.query(
    "SELECT count(*)::int FROM service.webhook WHERE lease_until > clock_timestamp() GROUP BY account_id ORDER BY 1 DESC",
  );
  expect(rows[0].count).toBeLessThanOrEqual(webhookPlaces.slow.ofAccount * turns());
  // On a machine that is busy itself no answer is quick at once.
  await until(async () => {
    await write("metadata.updated", null);
    return (await pool.query("SELECT FROM service.webhook WHERE id = $1 AND NOT slow", [id])).rowCount;
  });
});

test("a key without the right, an address that is not public, and misspelt members are refused", async () => {
  const reader = await api.send("POST", "/v0/me/keys", key, { name: "r", scopes: ["read"] });
  expect((await api.send("POST", "/v1/webhooks", reader.body.api_key, { url: receiver.url })).body.error.code).toBe(
    "scope_missing",
  );
  expect((await api.send("POST", "/v1/webhooks", key, { url: receiver.url, type: ["x"] })).status).toBe(422);
  expect((await api.send("POST", "/v1/webhooks", key, { url: "ftp://example.com" })).status).toBe(422);
  const closed = await ApiServer.start({ RATE_LIMITS: "off" });
  try {
    const { key: own } = await closed.account("free");
    for (const url of [
      "http://127.0.0.1/",
      "http://[::1]/",
      "http://10.1.2.3/",
      "http://169.254.169.254/latest",
      "http://0x7f000001/",
      "https://user@example.com/",
      "http://localhost/",
      "http://example.com:22/",
    ])
      expect([url, (await closed.send("POST", "/v1/webhooks", own, { url, types: ["mint"] })).status]).toEqual([
        url,
        422,
      ]);
  } finally {
    await closed.close();
  }
});
