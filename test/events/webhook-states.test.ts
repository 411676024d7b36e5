import { Webhook as StandardWebhook } from "standardwebhooks";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { defaultPlans } from "../../src/auth/plans.ts";
import { hostRates } from "../../src/events/host-rates.ts";
import { challengePauses, challengesOfEndpoint } from "../../src/events/retry-schedule.ts";
import { keepEvents } from "../../src/events/run-webhooks.ts";
import { takeUnverified } from "../../src/events/verify-webhooks.ts";
import type { Webhook } from "../../src/events/webhook-record.ts";
import { recordResults } from "../../src/events/webhook-results.ts";
import {
  createWebhook,
  deleteWebhook,
  listWebhooks,
  renewInterests,
  verifyWebhook,
} from "../../src/events/webhooks.ts";
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

/** Whether an event that was compared with it waits for an endpoint. */
const waits = async (id: string) =>
  (
    await api.database.pool.query(
      `SELECT FROM service.webhook, service.webhook_head h, service.event_head e
       WHERE id = $1 AND wanted > cursor AND h.sequence = e.sequence AND NOT EXISTS (SELECT FROM service.event_new)`,
      [id],
    )
  ).rowCount;

/** An endpoint as REST shows it. */
const shown = async (id: string, as = key) => (await api.send("GET", `/v1/webhooks/${id}`, as)).body.webhook;
const post = async (id: string, action: string, body = {}, as = key) =>
  await api.send("POST", `/v1/webhooks/${id}/${action}`, as, body);

test("a new endpoint is sent a signed challenge and nothing else until it has answered it, and then what came since", async () => {
  receiver.consent = () => ({ status: 204 });
  const { id, secret } = await make({ types: ["burn"] });
  await until(async () => (await shown(id)).verificationTry !== null);
  const [message] = receiver.challenged;
  const { type, data } = new StandardWebhook(secret).verify(message?.body ?? "", {
    ...Object.fromEntries(
      ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => [name, headerOf(message, name)]),
    ),
  }) as { type: string; data: { id: string; webhook: string; challenge: string } };
  expect([type, data]).toEqual([
    "webhook.verification",
    { id: headerOf(message, "webhook-id"), webhook: id, challenge: expect.stringMatching(/^[\w-]{43}$/) },
  ]);
  expect(await shown(id)).toMatchObject({
    ...{ state: "unverified", verifiedAt: null, waiting: "verification", failingSince: null },
    verificationTry: { attempt: 1, status: 204, fault: "no_challenge", answer: "" },
  });
  await write("burn.queued");
  await until(async () => await waits(id));
  const { eventId } = (await post(id, "test")).body;
  expect(receiver.received).toEqual([]);
  receiver.consent = (challenge) => ({ status: 200, body: JSON.stringify({ challenge }, null, 2) });
  expect((await post(id, "verify")).body.webhook).toMatchObject({ state: "unverified" });
  await until(() => receiver.received.length === 2);
  expect(receiver.received.map(({ body }) => JSON.parse(body).type).sort()).toEqual(["burn.queued", "webhook.test"]);
  expect(receiver.received.map((one) => headerOf(one, "webhook-id"))).toContain(eventId);
  expect(receiver.challenged.map(({ body }) => JSON.parse(body).data.challenge === data.challenge)).toEqual([
    ...[true, false],
  ]);
  const verified = await shown(id);
  expect(verified).toMatchObject({ state: "enabled", waiting: null, verificationAt: null });
  expect(verified.verifiedAt).not.toBeNull();
  // Nobody is asked twice.
  expect((await post(id, "verify")).body.webhook).toEqual(verified);
});

test("what is no answer is asked for again after growing pauses, then no more until its owner wants it", async () => {
  const answers = [
    // A server that sends back what came has not read it.
    (_challenge: string, message: { body: string }) => ({ status: 200, body: message.body }),
    (challenge: string) => ({ status: 500, body: challenge }),
    (challenge: string) => ({ status: 302, headers: { location: "/elsewhere" }, body: challenge }),
    (challenge: string) => ({ status: 200, body: `<p>${challenge}</p>` }),
    () => "reset" as const,
  ];
  receiver.consent = (challenge, message) =>
    answers[receiver.challenged.length - 1]?.(challenge, message) ?? { status: 200, body: ` ${challenge}\n` };
  const { id } = await make({ types: ["burn"] });
  await write("burn.queued");
  for (const [tried, pause] of [...challengePauses, null].entries()) {
    await until(async () => (await shown(id)).verificationTry?.attempt === tried + 1);
    const { verificationAt, state } = await shown(id);
    expect([tried, state]).toEqual([tried, "unverified"]);
    if (pause === null) expect(verificationAt).toBeNull();
    else expect((Date.parse(verificationAt) - Date.now()) / 1_000).toBeGreaterThan(pause - 5);
    await hurry();
  }
  expect((await shown(id)).verificationTry).toMatchObject({ status: null, fault: "failed" });
  // Neither the worker's next look nor an event wakes it.
  await write("burn.confirmed");
  await new Promise((done) => setTimeout(done, 1_500));
  expect([receiver.challenged.length, receiver.received.length]).toEqual([answers.length, 0]);
  for (const [action, body] of [["test", {}] as const, ["replay", { failed: true }] as const]) {
    const refused = await post(id, action, body);
    expect([refused.status, refused.body.error.code]).toEqual([409, "webhook_unverified"]);
  }
  await post(id, "verify");
  await until(() => receiver.received.length === 2);
  expect(receiver.received.map(({ body }) => JSON.parse(body).type)).toEqual(["burn.queued", "burn.confirmed"]);
});

test("another URL has to answer anew; a paused one is not asked; 410 ends the asking", async () => {
  const { id } = await make({ types: ["burn"] });
  await until(async () => (await shown(id)).state === "enabled");
  const change = async (input: object) =>
    (await api.send("PATCH", `/v1/webhooks/${id}`, key, input)).body.webhook as { state: string };
  expect(await change({ description: "the same" })).toMatchObject({ state: "enabled" });
  expect(await change({ url: `${receiver.url}/hook` })).toMatchObject({ state: "enabled" });
  receiver.consent = () => ({ status: 410 });
  await post(id, "pause");
  expect(await change({ url: `${receiver.url}/moved` })).toMatchObject({ state: "paused", verifiedAt: null });
  await write("burn.queued");
  await until(async () => await waits(id));
  await new Promise((done) => setTimeout(done, 1_200));
  expect(receiver.challenged.map(({ path }) => path)).toEqual(["/hook"]);
  expect((await post(id, "resume")).body.webhook.state).toBe("unverified");
  await until(async () => (await shown(id)).verificationTry?.status === 410);
  expect(await shown(id)).toMatchObject({ state: "unverified", verificationAt: null });
  receiver.consent = (challenge) => ({ status: 200, body: challenge });
  await post(id, "verify");
  await until(() => receiver.received.length === 1);
  expect(receiver.received[0]?.path).toBe("/moved");
});

test("an answer of the URL before does not verify the one that came in its place", async () => {
  let changed = () => {};
  const isChanged = new Promise<void>((done) => {
    changed = done;
  });
  receiver.consent = (challenge, { path }) =>
    path === "/hook" ? { status: 200, body: challenge, after: isChanged } : { status: 204 };
  const { id } = await make({ types: ["burn"] });
  await until(() => receiver.challenged.length === 1);
  await api.send("PATCH", `/v1/webhooks/${id}`, key, { url: `${receiver.url}/theirs` });
  changed();
  await until(async () => (await shown(id)).verificationTry?.status === 204);
  expect((await shown(id)).state).toBe("unverified");
});

test("a free account that makes, verifies and deletes endpoints reaches somebody's server as often as is written", async () => {
  const { key: free, id: accountId } = await api.account("free");
  const plan = defaultPlans.free;
  const most = (plan.maxWebhooks ?? Number.NaN) * challengesOfEndpoint;
  receiver.consent = () => ({ status: 200 });
  // Without the limits of requests, which come on top.
  const owner = { accountId, plan, actor: "an attacker" };
  const { config } = api.services;
  Object.assign(config, { rateLimits: true });
  const isAnswered = ({ verificationTry, waiting }: Webhook) => verificationTry !== null || waiting === "tries";
  try {
    for (let round = 0; round < 13; round += 1) {
      for (let endpoint = 0; endpoint < 5; endpoint += 1)
        await createWebhook(worker, owner, { url: `${receiver.url}/theirs/${round}/${endpoint}`, types: ["mint"] });
      await until(async () => (await listWebhooks(worker, owner)).every(isAnswered));
      for (const { id } of await listWebhooks(worker, owner)) {
        if (round % 4 === 0) await verifyWebhook(worker, owner, id);
        await deleteWebhook(worker, owner, id);
      }
    }
  } finally {
    Object.assign(config, { rateLimits: false });
  }
  const times = receiver.challenged.filter(({ path }) => path.startsWith("/theirs/")).map(({ at }) => at);
  expect(times.length).toBeLessThanOrEqual(most);
  expect(times.length).toBeGreaterThan(most - 5);
  const busiest = Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 1_000).length));
  expect(busiest).toBeLessThanOrEqual(2 * hostRates.ofAccount + 2);
  const { webhook_usage: usage } = (await api.send("GET", "/v0/me/settings", free)).body.webhook_usage_and_limits;
  expect(usage).toEqual({ webhooks: 0, tries_made_today: most });
});

test("the operator's endpoints are not asked, and no account's where the handshake is off", async () => {
  receiver.consent = () => ({ status: 404 });
  const { id } = await make({ types: ["burn"] });
  const owner = { accountId: null, actor: "test" };
  const own = await createWebhook(worker, owner, { url: `${receiver.url}/own` });
  expect(own.webhook.state).toBe("enabled");
  const { webhooks } = api.services.config;
  try {
    Object.assign(webhooks, { handshake: false });
    const other = await make({ types: ["burn"] });
    expect((await shown(other.id)).state).toBe("enabled");
    await takeUnverified(worker);
  } finally {
    Object.assign(webhooks, { handshake: true });
  }
  expect((await shown(id)).state).toBe("enabled");
  await write("burn.queued");
  await until(() => receiver.received.length === 2);
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

test("a paused endpoint gets what it missed when it goes on; a test event and replays come with their ids", async () => {
  const { id } = await make();
  await api.send("POST", `/v1/webhooks/${id}/pause`, key);
  await write("deployment.queued");
  await write("deployment.confirmed");
  await until(async () => await waits(id));
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
  const [event] = (await api.database.pool.query("SELECT * FROM service.event ORDER BY sequence DESC LIMIT 1")).rows;
  const item = { ...{ sequence: event.sequence, eventId: event.id, type: event.type, place: "x" }, body: null, event };
  const late = { attempt: 1, at: new Date(), delivered: false, gone: false, status: 500, fault: null };
  const result = { ...late, milliseconds: 1, answer: null, pauseSeconds: 5, askedSeconds: null };
  const results = [null, BigInt(delivery)].map((row) => ({ ...result, item: { ...item, id: row, attempts: 0 } }));
  const range = { cursor: 0n, ahead: [], upto: event.sequence };
  const main = { range, reached: event.sequence, found: [event.sequence] };
  const consequences = { pauseSeconds: 0, disabledAfterSeconds: 60, hold: null, taken: 0 };
  await recordResults(worker, rows[0], { main, replay: null }, results, consequences);
  const [shown, ...others] = await deliveries(id);
  expect(shown).toMatchObject({ state: "delivered", attempts: 1 });
  expect(others).toEqual([]);
  expect((await api.database.pool.query("SELECT * FROM service.webhook WHERE id = $1", [id])).rows).toEqual(rows);
});

test("an endpoint that was disabled gets what it missed when it goes on, in order and once", async () => {
  const { id } = await make({ types: ["burn", "nft.transfer"], contracts: [addressOf(0xaa)] });
  const { pool } = api.database;
  const hook = async () => (await api.send("GET", `/v1/webhooks/${id}`, key)).body.webhook;
  expect(await hook()).toMatchObject({ disabledAt: null });
  receiver.answer = () => ({ status: 410 });
  await write("burn.queued");
  await until(async () => (await hook()).disabledReason === "gone");
  receiver.received.length = 0;
  receiver.answer = () => ({ status: 204 });
  await write("burn.held");
  await write("deployment.confirmed");
  await write("burn.confirmed");
  await until(async () => (await pool.query("SELECT FROM service.event WHERE type = 'burn.confirmed'")).rowCount);
  const interests = async () =>
    (await pool.query("SELECT FROM service.event_interest WHERE expires_at > clock_timestamp() AND contract <> ''"))
      .rowCount;
  await pool.query("UPDATE service.event_interest SET expires_at = clock_timestamp() - interval '1 minute'");
  expect(await interests()).toBe(0);
  // While it can go on without a gap its movements are written, and no longer.
  await renewInterests(worker);
  expect(await interests()).toBe(2);
  await pool.query("UPDATE service.event_interest SET expires_at = clock_timestamp() - interval '1 minute'");
  await pool.query(
    "UPDATE service.webhook SET disabled_at = disabled_at - interval '8 days', failing_since = NULL WHERE id = $1",
    [id],
  );
  await renewInterests(worker);
  expect(await interests()).toBe(0);
  const { disabledAt } = await hook();
  expect((await api.send("POST", `/v1/webhooks/${id}/resume`, key)).body.webhook).toMatchObject({
    ...{ state: "enabled", disabledReason: null, disabledAt },
  });
  expect(await interests()).toBe(2);
  await hurry();
  await until(() => receiver.received.length === 3);
  expect(receiver.received.map(({ body }) => JSON.parse(body).type).sort()).toEqual([
    ...["burn.confirmed", "burn.held", "burn.queued"],
  ]);
  // It was away for longer than events are kept.
  await until(async () => (await deliveries(id, "?state=dead")).length === 1);
  expect((await deliveries(id, "?state=dead"))[0]).toMatchObject({ type: "events.expired", sequence: null });
});

test("events that are dropped while they wait leave a line that says which, and no gap without a word", async () => {
  const { id } = await make({ types: ["burn"] });
  await api.send("POST", `/v1/webhooks/${id}/pause`, key);
  await write("burn.queued");
  await until(async () => await waits(id));
  const { pool } = api.database;
  const { rows } = await pool.query("SELECT cursor, wanted FROM service.webhook WHERE id = $1", [id]);
  // As they lie after a restore: in no day of their own.
  const old = "UPDATE service.event SET at = at - interval '30 days' WHERE sequence > $1";
  await pool.query(old, [String(rows[0].cursor)]);
  await keepEvents({ ...api.services, pool });
  const [missed] = await deliveries(id);
  expect(missed).toMatchObject({ type: "events.expired", state: "dead" });
  expect(missed.tries[0].answer).toContain(`events ${rows[0].cursor + 1n} to ${rows[0].wanted} were dropped`);
  expect((await api.send("POST", `/v1/webhooks/${id}/replay`, key, { failed: true })).body.replayed).toBe(0);
  await api.send("POST", `/v1/webhooks/${id}/resume`, key);
  await write("burn.confirmed");
  await until(() => receiver.received.length === 1);
  expect(JSON.parse(receiver.received[0]?.body ?? "").type).toBe("burn.confirmed");
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
     SELECT $1, $2, 'evt_' || n, 'webhook.test', 'x' FROM generate_series(1, 1000) n`,
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

test("a free account has few endpoints, and names contracts for what happens on the chain", async () => {
  const { key: free } = await api.account("free");
  const ask = async (input: Record<string, unknown>) =>
    await api.send("POST", "/v1/webhooks", free, { url: `${receiver.url}/never`, ...input });
  for (const input of [{}, { types: ["nft"] }, { types: ["mint", "metadata.updated"] }, { types: ["chain.finalized"] }])
    expect((await ask(input)).body.error).toMatchObject({
      code: "plan_limit_exceeded",
      message: expect.stringContaining("give contracts"),
    });
  const { body } = await ask({ contracts: [addressOf(1)] });
  for (const types of [["mint"], ["deployment.confirmed"], ["burn"], ["transfer"]])
    expect([types, (await ask({ types })).status]).toEqual([types, 200]);
  expect((await ask({ types: ["mint"] })).body.error).toMatchObject({
    code: "plan_limit_exceeded",
    message: expect.stringContaining("your plan includes 5 endpoints"),
  });
  const widened = await api.send("PATCH", `/v1/webhooks/${body.webhook.id}`, free, { contracts: [] });
  expect(widened.body.error).toMatchObject({
    code: "plan_limit_exceeded",
    message: expect.stringContaining("give contracts"),
  });
  expect((await api.send("GET", "/v0/me/settings", free)).body.webhook_usage_and_limits).toEqual({
    // Each was asked whether it wants any.
    webhook_usage: { webhooks: 5, tries_made_today: expect.any(Number) },
    webhook_limits: { max_webhooks: 5, max_tries_per_day: 10_000 },
  });
});

test("a plan's messages of a day are counted, the rest waits for the next one and comes once and in order", async () => {
  const { id: owner, key: own } = await api.account("growth");
  const { pool } = api.database;
  await pool.query("UPDATE service.plan SET webhook_tries_per_day = 30 WHERE tier = 'growth'");
  const { id } = await make({ types: ["burn"], url: `${receiver.url}/counted` }, own);
  // Failures count as well.
  receiver.answer = () => ({ status: receiver.received.length === 1 ? 500 : 204 });
  for (let event = 0; event < 50; event += 1) await write("burn.queued", owner);
  const hook = async () => (await api.send("GET", `/v1/webhooks/${id}`, own)).body.webhook;
  await until(async () => {
    await hurry();
    return (await hook()).waiting === "tries";
  });
  const sent = receiver.received.length;
  // It was asked first whether it wants any.
  expect(sent).toBe(29);
  const query = "{ viewer { plan { webhookTriesPerDay } usage { webhooks webhookTriesToday } } }";
  await until(async () => (await api.graphql(own, query)).body.data.viewer.usage.webhookTriesToday === 30);
  await hurry();
  await new Promise((done) => setTimeout(done, 1_200));
  expect(receiver.received).toHaveLength(sent);
  await pool.query("UPDATE service.webhook_use SET day = day - 1 WHERE account_id = $1", [owner]);
  await pool.query("UPDATE service.plan SET webhook_tries_per_day = 200000 WHERE tier = 'growth'");
  await hurry();
  await until(() => receiver.received.length === 51);
  await until(async () => (await hook()).waiting === null);
  expect(new Set(receiver.received.map((message) => headerOf(message, "webhook-id"))).size).toBe(50);
});

test("a host gets no more in a second than it may, whose endpoints it stands behind; that is no failure", async () => {
  const ids = [(await make({ types: ["burn"] })).id, (await make({ types: ["burn"] })).id];
  const { config } = api.services;
  Object.assign(config, { rateLimits: true });
  try {
    for (let event = 0; event < 35; event += 1) await write("burn.queued");
    await until(() => receiver.received.length === 70);
  } finally {
    Object.assign(config, { rateLimits: false });
  }
  const times = receiver.received.map(({ at }) => at).sort((a, b) => a - b);
  const busiest = Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 1_000).length));
  // What was left of the second before, and what comes in this one.
  expect(busiest).toBeLessThanOrEqual(2 * hostRates.ofAccount + 2);
  for (const id of ids) {
    const { webhook } = (await api.send("GET", `/v1/webhooks/${id}`, key)).body;
    expect([webhook.failingSince, (await deliveries(id, "?state=pending")).length]).toEqual([null, 0]);
  }
  const sent = receiver.received.map((message) => headerOf(message, "webhook-id"));
  expect(new Set(sent).size).toBe(35);
});

test("while storage is nearly full accounts' endpoints wait, and lose nothing", async () => {
  const { id } = await make({ types: ["burn"] });
  const { disk } = api.services.config;
  const { minFreeBytes } = disk;
  const hook = async () => (await api.send("GET", `/v1/webhooks/${id}`, key)).body.webhook;
  try {
    Object.assign(disk, { minFreeBytes: Number.MAX_SAFE_INTEGER });
    await until(async () => (await api.services.disk.status()).full.length > 0);
    await write("burn.queued");
    await until(async () => (await hook()).waiting === "storage");
    expect(receiver.received).toEqual([]);
  } finally {
    Object.assign(disk, { minFreeBytes });
  }
  await until(() => receiver.received.length === 1);
  await until(async () => (await hook()).waiting === null);
});
