import { createHmac, createPublicKey, timingSafeEqual, verify } from "node:crypto";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { slowMs, webhookPlaces } from "../../src/events/deliver-webhooks.ts";
import { keepEvents } from "../../src/events/keep-events.ts";
import { runWebhooks } from "../../src/events/run-webhooks.ts";
import { watchWebhooks } from "../../src/events/webhook-figures.ts";
import { webhookLock } from "../../src/events/webhook-lock.ts";
import { recordResults } from "../../src/events/webhook-results.ts";
import type { Services } from "../../src/services.ts";
import { createMetrics } from "../../src/telemetry/metrics.ts";
import { ApiServer } from "../setup/api-server.ts";
import { addressOf } from "../setup/nft-fixture.ts";
import { patient } from "../setup/poll-timeout.ts";
import { type Received, WebhookReceiver } from "./receiver.ts";

let api: ApiServer;
let receiver: WebhookReceiver;
let key: string;
let account: string;
const stop = new AbortController();
let running: Promise<void>;
let worker: Services;
beforeAll(async () => {
  api = await ApiServer.start({ RATE_LIMITS: "off", WEBHOOKS_ALLOW_PRIVATE: "true" });
  receiver = await WebhookReceiver.start();
  ({ key, id: account } = await api.account("enterprise"));
  // The worker's loop, under the login that a worker has.
  // With an endpoint there, however little it wants, the worker listens and does not only look every other second.
  await make({ url: `${receiver.url}/never`, types: ["mint"] });
  worker = { ...api.services, pool: api.database.pool, db: api.database.db };
  running = runWebhooks(worker, stop.signal);
});
afterEach(async () => {
  receiver.answer = () => ({ status: 204 });
  receiver.received.length = 0;
  await api.database.pool.query("DELETE FROM service.webhook WHERE url NOT LIKE '%/never'");
});
afterAll(async () => {
  stop.abort();
  await running;
  await receiver?.close();
  await api?.close();
});

interface Made {
  id: string;
  secret: string;
  publicKey: string;
}

async function make(input: Record<string, unknown> = {}, as = key): Promise<Made> {
  const { status, body } = await api.send("POST", "/v1/webhooks", as, { url: `${receiver.url}/hook`, ...input });
  expect([status, body.error]).toEqual([200, null]);
  return { id: body.webhook.id, secret: body.secret, publicKey: body.webhook.publicKey };
}

async function write(type = "deployment.confirmed", owner: string | null = account): Promise<void> {
  await api.database.pool.query("SELECT service.record_event($1, $2, $3, false, 31337, $4, 5, $5)", [
    type,
    String(Math.random()),
    owner,
    Buffer.from(addressOf(0xaa).slice(2), "hex"),
    JSON.stringify({ object: "some-id", state: type.split(".")[1] }),
  ]);
}

async function deliveries(id: string, query = "") {
  return (await api.send("GET", `/v1/webhooks/${id}/deliveries${query}`, key)).body.deliveries;
}

/** Has what failed tried again now. */
async function hurry(): Promise<void> {
  await api.database.pool.query(
    "UPDATE service.webhook_delivery SET next_at = clock_timestamp() WHERE state = 'pending'",
  );
  await api.database.pool.query("UPDATE service.webhook SET next_due = clock_timestamp() WHERE lease_until IS NULL");
  await api.database.pool.query("SELECT pg_notify('mintyard_events', '')");
}

const until = async (condition: () => unknown) =>
  await vi.waitFor(async () => expect(await condition()).toBeTruthy(), patient);

const headerOf = (message: Received | undefined, name: string) => String(message?.headers[name]);

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
  await until(() => receiver.received.length === 1);
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

test("an endpoint that failed for five days is disabled; one that is reset or hangs is tried again", async () => {
  const { id } = await make();
  receiver.answer = () => "reset";
  await write();
  await until(async () => (await deliveries(id))[0]?.tries[0]?.fault === "failed");
  await api.database.pool.query("UPDATE service.webhook SET failing_since = clock_timestamp() - interval '6 days'");
  await hurry();
  await until(async () => (await api.send("GET", `/v1/webhooks/${id}`, key)).body.webhook.disabledReason === "failing");
});

test("both secrets are valid while one is rotated", async () => {
  const { id, secret } = await make();
  const rotated = (await api.send("POST", `/v1/webhooks/${id}/rotate`, key, { overlapSeconds: 600 })).body.secret;
  expect(rotated).not.toBe(secret);
  await write();
  await until(() => receiver.received.length === 1);
  for (const one of [secret, rotated]) expect(verifyByHand(receiver.received[0] as Received, one)).toBe(true);
  await api.send("POST", `/v1/webhooks/${id}/rotate`, key, { overlapSeconds: 0 });
  await write();
  await until(() => receiver.received.length === 2);
  for (const one of [secret, rotated]) expect(verifyByHand(receiver.received[1] as Received, one)).toBe(false);
});

test("a paused endpoint gets what it missed when it goes on; a test event and replays come with their ids", async () => {
  const { id } = await make();
  await api.send("POST", `/v1/webhooks/${id}/pause`, key);
  await write("deployment.queued");
  await write("deployment.confirmed");
  await until(async () => (await deliveries(id)).length === 2);
  expect(receiver.received).toEqual([]);
  await api.send("POST", `/v1/webhooks/${id}/resume`, key);
  await until(() => receiver.received.length === 2);
  expect(receiver.received.map(({ body }) => JSON.parse(body).type)).toEqual([
    "deployment.queued",
    "deployment.confirmed",
  ]);
  const { eventId } = (await api.send("POST", `/v1/webhooks/${id}/test`, key)).body;
  await until(() => receiver.received.length === 3);
  expect(headerOf(receiver.received[2], "webhook-id")).toBe(eventId);
  const first = headerOf(receiver.received[0], "webhook-id");
  expect((await api.send("POST", `/v1/webhooks/${id}/replay`, key, { eventId: first })).body.replayed).toBe(1);
  await until(() => receiver.received.length === 4);
  expect([headerOf(receiver.received[3], "webhook-id"), receiver.received[3]?.body]).toEqual([
    first,
    receiver.received[0]?.body,
  ]);
  expect((await api.send("POST", `/v1/webhooks/${id}/replay`, key, {})).status).toBe(422);
});

test("an endpoint that is resumed while something is being sent to it gets nothing twice, and in order", async () => {
  const { id } = await make({ types: ["burn"] });
  receiver.answer = () => ({ status: 204, afterMs: 2_000 });
  await write("burn.queued");
  await until(() => receiver.received.length === 1);
  await write("burn.confirmed");
  for (let again = 0; again < 5; again += 1) {
    await api.send("POST", `/v1/webhooks/${id}/pause`, key);
    await api.send("POST", `/v1/webhooks/${id}/resume`, key);
    await new Promise((done) => setTimeout(done, 100));
  }
  await until(async () => (await deliveries(id, "?state=delivered")).length === 2);
  expect(receiver.received.map(({ body }) => JSON.parse(body).type)).toEqual(["burn.queued", "burn.confirmed"]);
});

test("a result that comes late does not undo what a later claim has noted", async () => {
  const { id } = await make({ types: ["burn"] });
  await write("burn.queued");
  await until(async () => (await deliveries(id))[0]?.state === "delivered");
  const { rows } = await api.database.pool.query("SELECT * FROM service.webhook WHERE id = $1", [id]);
  const [{ id: delivery }] = await deliveries(id);
  const late = {
    id: BigInt(delivery),
    attempt: 1,
    at: new Date(),
    delivered: false,
    gone: false,
    status: 500,
    fault: null,
  };
  const result = { ...late, milliseconds: 1, answer: null, pauseSeconds: 5, askedSeconds: null };
  await recordResults(worker, rows[0], [result], { pauseSeconds: 0, disabledAfterSeconds: 60, slowMs });
  expect((await deliveries(id))[0]).toMatchObject({ state: "delivered", attempts: 1 });
});

test("an endpoint that was disabled goes on with what happens then, and a replay fills what it missed", async () => {
  const contract = `0x${addressOf(0xbb).slice(2)}`;
  const { id } = await make({ contracts: [contract], types: ["nft.transfer"] });
  const { pool } = api.database;
  const hook = async () => (await api.send("GET", `/v1/webhooks/${id}`, key)).body.webhook;
  expect(await hook()).toMatchObject({ disabledAt: null });
  await pool.query(
    `INSERT INTO service.webhook_delivery (webhook_id, account_id, event_id, type, place)
     SELECT $1, $2, 'evt_' || n, 'webhook.test', 'x' FROM generate_series(1, 100001) n`,
    [id, account],
  );
  await api.send("POST", `/v1/webhooks/${id}/pause`, key);
  await keepEvents({ ...api.services, pool });
  const disabled = await hook();
  expect(disabled).toMatchObject({ state: "disabled", disabledReason: "backlog", disabledAt: expect.any(String) });
  await pool.query("DELETE FROM service.webhook_delivery WHERE webhook_id = $1", [id]);
  const interests = async () =>
    (await pool.query("SELECT FROM service.event_interest WHERE expires_at > clock_timestamp() AND contract <> ''"))
      .rowCount;
  await pool.query("UPDATE service.event_interest SET expires_at = clock_timestamp() - interval '1 minute'");
  expect(await interests()).toBe(0);
  expect((await api.send("POST", `/v1/webhooks/${id}/resume`, key)).body.webhook).toMatchObject({
    ...{ state: "enabled", disabledReason: null, disabledAt: disabled.disabledAt },
  });
  // Of each chain.
  expect(await interests()).toBe(2);
  // One that takes what comes is not disabled by what had waited for it.
  await pool.query(
    "UPDATE service.webhook SET lease_until = clock_timestamp() + interval '1 hour', next_due = NULL WHERE id = $1",
    [id],
  );
  await pool.query(
    `INSERT INTO service.webhook_delivery (webhook_id, account_id, event_id, type, place)
     SELECT $1, $2, 'evt_' || n, 'webhook.test', 'x' FROM generate_series(1, 100001) n`,
    [id, account],
  );
  await keepEvents({ ...api.services, pool });
  expect(await hook()).toMatchObject({ state: "enabled" });
});

test("what waited until its event was dropped says so, and is sent by no replay", async () => {
  const { id } = await make({ types: ["burn"] });
  await api.send("POST", `/v1/webhooks/${id}/pause`, key);
  const { pool } = api.database;
  await pool.query(
    `INSERT INTO service.webhook_delivery (webhook_id, account_id, sequence, event_id, type, place, created_at)
     VALUES ($1, $2, 999999999, 'evt_old', 'burn.queued', 'x', clock_timestamp() - interval '30 days')`,
    [id, account],
  );
  await keepEvents({ ...api.services, pool });
  const [late] = await deliveries(id);
  expect(late).toMatchObject({ state: "dead", tries: [{ fault: "expired" }] });
  expect((await api.send("POST", `/v1/webhooks/${id}/replay`, key, { failed: true })).body.replayed).toBe(0);
});

test("a suspended account's endpoints are sent nothing until it is let in again", async () => {
  const other = await api.account("free", "suspended");
  await make({ types: ["burn"] }, other.key);
  const { pool } = api.database;
  const suspend = async (suspended: boolean) =>
    await pool.query("UPDATE service.account SET suspended = $1 WHERE id = $2", [suspended, other.id]);
  await suspend(true);
  await write("burn.queued", other.id);
  await make({ types: ["deployment"] });
  await write();
  await until(() => receiver.received.length === 1);
  await new Promise((done) => setTimeout(done, 1_500));
  expect(receiver.received.map(({ body }) => JSON.parse(body).type)).toEqual(["deployment.confirmed"]);
  await suspend(false);
  await until(() => receiver.received.length === 2);
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
  expect(receiver.received).toHaveLength(1);
});

test("a replay sends what does not wait already, and nothing while too much waits", async () => {
  const { id } = await make();
  await write();
  await until(async () => (await deliveries(id))[0]?.state === "delivered");
  await api.send("POST", `/v1/webhooks/${id}/pause`, key);
  const since = new Date(Date.now() - 60_000).toISOString();
  const replay = async () => await api.send("POST", `/v1/webhooks/${id}/replay`, key, { since });
  const first = (await replay()).body.replayed;
  expect(first).toBeGreaterThan(0);
  expect((await replay()).body.replayed).toBe(0);
  await api.database.pool.query(
    `INSERT INTO service.webhook_delivery (webhook_id, account_id, event_id, type, place)
     SELECT $1, $2, 'evt_' || n, 'webhook.test', 'x' FROM generate_series(1, 20000) n`,
    [id, account],
  );
  const refused = await replay();
  expect([refused.status, refused.body.error.code]).toEqual([403, "plan_limit_exceeded"]);
  // Its events are dropped after some days, so what waits for longer can never be sent.
  const old =
    "UPDATE service.webhook_delivery SET created_at = clock_timestamp() - interval '30 days' WHERE webhook_id = $1";
  await api.database.pool.query(old, [id]);
  await keepEvents({ ...api.services, pool: api.database.pool });
  expect(await deliveries(id, "?state=pending")).toEqual([]);
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
  const foreign = await make({ url: `${receiver.url}/foreign` }, other.key);
  await write();
  await write("chain.finalized", null);
  await until(() => receiver.received.filter(({ path }) => path === "/foreign").length === 1);
  await until(() => receiver.received.filter(({ path }) => path === "/hook").length === 2);
  expect(receiver.received.filter(({ path }) => path === "/foreign").map(({ body }) => JSON.parse(body).type)).toEqual([
    "chain.finalized",
  ]);
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
  await until(() => receiver.received.length === 1);
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
  await until(() => receiver.received.length === 2);
});

test("one endpoint that hangs delays no other", async () => {
  const slow = await make({ url: `${receiver.url}/slow` });
  await make();
  receiver.answer = ({ path }) => (path === "/slow" ? "hang" : { status: 200 });
  for (let round = 0; round < 5; round += 1) await write();
  await until(() => receiver.received.filter(({ path }) => path === "/hook").length === 5);
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
  await write("metadata.updated", null);
  const sent = () => receiver.received.filter(({ path }) => path === "/slow").length;
  await until(() => receiver.received.some(({ path }) => path === "/quick"));
  expect(sent()).toBeLessThanOrEqual(webhookPlaces.slow.all);
  // One account does not take the places of the other slow ones.
  const { rows } = await pool.query(
    "SELECT count(*)::int FROM service.webhook WHERE lease_until > clock_timestamp() GROUP BY account_id ORDER BY 1 DESC",
  );
  expect(rows[0].count).toBeLessThanOrEqual(webhookPlaces.slow.ofAccount);
  expect((await pool.query("SELECT slow FROM service.webhook WHERE id = $1", [id])).rows).toEqual([{ slow: false }]);
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
      expect([url, (await closed.send("POST", "/v1/webhooks", own, { url })).status]).toEqual([url, 422]);
  } finally {
    await closed.close();
  }
});
