import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { slowMs } from "../../src/events/deliver-webhooks.ts";
import { keepEvents } from "../../src/events/keep-events.ts";
import { recordResults } from "../../src/events/webhook-results.ts";
import { addressOf } from "../setup/nft-fixture.ts";
import { patient } from "../setup/wait.ts";
import { headerOf, WebhookFixture } from "./webhook-fixture.ts";

let fixture: WebhookFixture;
let api: WebhookFixture["api"];
let receiver: WebhookFixture["receiver"];
let key: string;
let account: string;
let worker: WebhookFixture["worker"];
let make: WebhookFixture["make"];
let write: WebhookFixture["write"];
let deliveries: WebhookFixture["deliveries"];
let hurry: WebhookFixture["hurry"];
beforeAll(async () => {
  fixture = await WebhookFixture.start();
  ({ api, receiver, key, account, worker, make, write, deliveries, hurry } = fixture);
});
afterEach(async () => await fixture.reset());
afterAll(async () => await fixture?.stop());

const until = async (condition: () => unknown) =>
  await vi.waitFor(async () => expect(await condition()).toBeTruthy(), patient);

test("an endpoint that failed for five days is disabled; one that is reset or hangs is tried again", async () => {
  const { id } = await make();
  receiver.answer = () => "reset";
  await write();
  await until(async () => (await deliveries(id))[0]?.tries[0]?.fault === "failed");
  await api.database.pool.query("UPDATE service.webhook SET failing_since = clock_timestamp() - interval '6 days'");
  await hurry();
  await until(async () => (await api.send("GET", `/v1/webhooks/${id}`, key)).body.webhook.disabledReason === "failing");
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
    // What woke the loop is sent in that time, if anything is.
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
  // The worker looks once a second for what is due.
  await new Promise((done) => setTimeout(done, 1_500));
  expect(receiver.received.map(({ body }) => JSON.parse(body).type)).toEqual(["deployment.confirmed"]);
  await suspend(false);
  await until(() => receiver.received.length === 2);
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
