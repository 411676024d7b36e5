import { afterAll, beforeAll, expect, test } from "vitest";
import { ApiServer } from "../setup/api-server.ts";
import { addressOf } from "../setup/nft-fixture.ts";

let api: ApiServer;
let key: string;
let account: string;
beforeAll(async () => {
  api = await ApiServer.start({ RATE_LIMITS: "off" });
  ({ key, id: account } = await api.account("enterprise"));
});
afterAll(() => api?.close());

const endpoint =
  "id url description types chains contracts accounts tokenIds finality state disabledReason publicKey verifiedAt verificationTry { status } verificationAt";

async function run(document: string, variables: Record<string, unknown> = {}, as = key) {
  const { body } = await api.graphql(as, document, variables);
  return body as { data: ReturnType<typeof JSON.parse>; errors?: { extensions: { code: string } }[] };
}

test("an endpoint made by GraphQL is the one that REST shows, and changes by either", async () => {
  const { data } = await run(
    `mutation ($filter: EventFilter) { createWebhook(url: "https://example.com/hook", description: "ours", filter: $filter) {
      webhook { ${endpoint} createdAt } secret userErrors { code } } }`,
    {
      filter: {
        ...{ types: ["nft.transfer", "burn"], contracts: [addressOf(0xaa)], tokenIds: ["7", 8], finality: "safe" },
      },
    },
  );
  const { webhook, secret, userErrors } = data.createWebhook;
  expect(userErrors).toEqual([]);
  expect(secret).toMatch(/^whsec_/);
  expect(webhook).toMatchObject({
    ...{ url: "https://example.com/hook", description: "ours", types: ["nft.transfer", "burn"], state: "unverified" },
    ...{ verifiedAt: null, verificationTry: null, verificationAt: expect.any(String) },
    ...{ contracts: [addressOf(0xaa)], tokenIds: ["7", "8"], finality: "safe", chains: [] },
  });
  const shown = await api.send("GET", `/v1/webhooks/${webhook.id}`, key);
  expect(shown.body.webhook).toMatchObject(webhook);
  await run(
    `mutation ($id: ID!) { changeWebhook(id: $id, filter: { types: [] }) { webhook { id } userErrors { code } } }`,
    {
      id: webhook.id,
    },
  );
  const changed = await api.send("GET", `/v1/webhooks/${webhook.id}`, key);
  expect(changed.body.webhook).toMatchObject({ types: [], tokenIds: ["7", "8"], finality: "safe" });
  for (const [name, state] of [
    ["pauseWebhook", "paused"],
    ["verifyWebhook", "paused"],
    ["resumeWebhook", "unverified"],
    ["verifyWebhook", "unverified"],
  ])
    expect(
      (await run(`mutation ($id: ID!) { ${name}(id: $id) { webhook { state } } }`, { id: webhook.id })).data[
        name ?? ""
      ],
    ).toEqual({ webhook: { state } });
  const rotated = await run(`mutation ($id: ID!) { rotateWebhookSecret(id: $id, overlapSeconds: 60) { secret } }`, {
    id: webhook.id,
  });
  expect(rotated.data.rotateWebhookSecret.secret).toMatch(/^whsec_/);
  expect(rotated.data.rotateWebhookSecret.secret).not.toBe(secret);
  const { data: listed } = await run(`{ viewer { webhooks { ${endpoint} } } }`);
  expect(listed.viewer.webhooks).toHaveLength(1);
  expect(
    (await run(`mutation ($id: ID!) { deleteWebhook(id: $id) { webhook { id } } }`, { id: webhook.id })).errors,
  ).toBe(undefined);
  expect((await run("{ viewer { webhooks { id } } }")).data.viewer.webhooks).toEqual([]);
});

test("test events and events again are deliveries, with how they were tried", async () => {
  const made = await run(`mutation { createWebhook(url: "https://example.com/") { webhook { id } } }`);
  const { id } = made.data.createWebhook.webhook;
  await api.database.pool.query("SELECT service.record_event('burn.confirmed', '1', $1, false, 31337, $2, 5, $3)", [
    account,
    Buffer.from(addressOf(0xaa).slice(2), "hex"),
    JSON.stringify({ object: "some-id", state: "confirmed" }),
  ]);
  await api.database.pool.query("SELECT service.number_events(1000)");
  // As a worker does when it has compared it with endpoints.
  await api.database.pool.query("UPDATE service.webhook_head SET sequence = (SELECT sequence FROM service.event_head)");
  const { rows } = await api.database.pool.query("SELECT id FROM service.event WHERE type = 'burn.confirmed'");
  const sent = await run(`mutation ($id: ID!) { sendTestEvent(webhook: $id, type: "mint.held") { eventId } }`, { id });
  const again = await run(
    `mutation ($id: ID!, $event: ID) { replayEvents(webhook: $id, events: { eventId: $event }) { replayed userErrors { code } } }`,
    { id, event: rows[0].id },
  );
  expect(again.data.replayEvents).toEqual({ replayed: 1, userErrors: [] });
  const { data } = await run(
    `query ($id: ID!) { viewer { webhookDeliveries(webhook: $id, state: "pending") { type eventId state attempts tries { status } } } }`,
    { id },
  );
  expect(data.viewer.webhookDeliveries).toEqual([
    { type: "burn.confirmed", eventId: rows[0].id, state: "pending", attempts: 0, tries: [] },
    { type: "mint.held", eventId: sent.data.sendTestEvent.eventId, state: "pending", attempts: 0, tries: [] },
  ]);
  // In order with what comes of the same object.
  const places = await api.database.pool.query("SELECT place FROM service.webhook_delivery WHERE event_id = $1", [
    rows[0].id,
  ]);
  expect(places.rows).toEqual([{ place: "burn:some-id" }]);
});

test("what is wrong is said in user errors, and nothing of it is for others or for keys without the scope", async () => {
  const bad = await run(
    `mutation { a: createWebhook(url: "ftp://x") { userErrors { code field } }
      b: createWebhook(url: "https://x.example/", filter: { types: ["nothing"] }) { userErrors { code field } }
      c: replayEvents(webhook: "wh_x", events: {}) { userErrors { code } }
      d: sendTestEvent(webhook: "wh_x") { userErrors { code } } }`,
  );
  expect(bad.data).toEqual({
    a: { userErrors: [{ code: "value_error", field: "url" }] },
    b: { userErrors: [{ code: "invalid_enumeration", field: "types" }] },
    c: { userErrors: [{ code: "not_found" }] },
    d: { userErrors: [{ code: "not_found" }] },
  });
  const { data } = await run(`mutation { createWebhook(url: "https://example.com/") { webhook { id } } }`);
  const { id } = data.createWebhook.webhook;
  const other = await api.account("enterprise");
  for (const name of ["pauseWebhook", "deleteWebhook", "changeWebhook", "rotateWebhookSecret"])
    expect(
      (await run(`mutation ($id: ID!) { ${name}(id: $id) { userErrors { code } } }`, { id }, other.key)).data[name],
    ).toEqual({ userErrors: [{ code: "not_found" }] });
  const type = await run(
    `mutation ($id: ID!) { sendTestEvent(webhook: $id, type: "mint.x") { userErrors { code field } } }`,
    {
      id,
    },
  );
  expect(type.data.sendTestEvent.userErrors).toEqual([{ code: "invalid_enumeration", field: "type" }]);
  const made = await run(`mutation { createKey(name: "reader", scopes: [READ, DEPLOY]) { key } }`);
  const refused = await run(
    `mutation { createWebhook(url: "https://example.com/") { webhook { id } } }`,
    {},
    made.data.createKey.key,
  );
  expect(refused.errors?.[0]?.extensions.code).toBe("scope_missing");
});
