import { Webhook as StandardWebhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, expectTypeOf, test } from "vitest";
import { verifyWebhook, type WebhookEvent, WebhookVerificationError } from "../../client/src/webhooks.ts";
import { newSecret, newSigningKey, publicKeyText, secretText, signedHeaders } from "../../src/outbox/sign-webhook.ts";
import { WebhookFixture } from "../events/webhook-fixture.ts";
import { wait } from "../setup/wait.ts";

let fixture: WebhookFixture;
beforeAll(async () => {
  fixture = await WebhookFixture.start();
});
afterAll(async () => await fixture?.stop());

test("what the worker sends verifies by the secret and by the public key, and has the type of its event", async () => {
  const { secret, publicKey } = await fixture.make({ types: ["deployment"] });
  await fixture.write("deployment.confirmed");
  const message = await wait("the message", () => fixture.receiver.received.find(({ path }) => path === "/hook"));
  if (!message) throw new Error("nothing came");
  for (const key of [secret, publicKey, [secretText(newSecret()), secret]]) {
    const event = await verifyWebhook(message.body, message.headers, key);
    if (event.type !== "deployment.confirmed") throw new Error(`it is ${event.type}`);
    expect(event.data).toMatchObject({ object: "some-id", state: "confirmed" });
    expectTypeOf(event.data.holdReason).toEqualTypeOf<string | null>();
  }
  const bytes = new TextEncoder().encode(message.body);
  const headers = new Headers(message.headers as Record<string, string>);
  expect((await verifyWebhook(bytes, headers, secret)).type).toBe("deployment.confirmed");
});

test("a challenge verifies, too", async () => {
  const { id, secret } = await fixture.make({ types: ["mint"] });
  const message = await wait("the challenge", () => fixture.receiver.challenged.find(({ body }) => body.includes(id)));
  if (!message) throw new Error("nothing came");
  const event = await verifyWebhook(message.body, message.headers, secret);
  expect(event.type === "webhook.verification" && event.data.challenge).toMatch(/^[\w-]{20,}$/);
});

/** The example that the convention's own libraries are tested with. */
const published = {
  secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  body: '{"test": 2432232314}',
  now: 1_614_265_330_000,
  headers: {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  },
};

test("the published example verifies, and what its library signs", async () => {
  const { body, headers, secret, now } = published;
  expect(await verifyWebhook(body, headers, secret, { now })).toEqual({ test: 2432232314 });
  const at = new Date();
  const signed = { "webhook-id": "evt_1", "webhook-timestamp": String(Math.floor(at.getTime() / 1_000)) };
  const text = '{"type":"webhook.test","text":"é"}';
  const signature = new StandardWebhook(secret).sign("evt_1", at, text);
  const all = { ...signed, "webhook-signature": `v1,AAAA v9,x ${signature}` };
  expect(await verifyWebhook(text, all, secret)).toMatchObject({ type: "webhook.test" });
});

test.each<
  [
    what: string,
    change: Partial<(typeof published)["headers"]>,
    body?: string | undefined,
    now?: number | undefined,
    fault?: RegExp,
  ]
>([
  ["another id", { "webhook-id": "msg_other" }],
  ["another time", { "webhook-timestamp": "1614265331" }],
  ["another body", {}, '{"test": 2432232315}'],
  ["a body that was parsed and written anew", {}, '{"test":2432232314}'],
  ["another signature", { "webhook-signature": "v1,AAAA" }],
  ["a signature that is no base64", { "webhook-signature": "v1,%%%" }],
  ["no signature of a known kind", { "webhook-signature": "v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" }],
  ["an empty header", { "webhook-signature": "" }, undefined, undefined, /webhook-signature is missing/],
  ["a time that is none", { "webhook-timestamp": "1e9" }, undefined, undefined, /no number of seconds/],
  ["an old message", {}, undefined, published.now + 301_000, /too old/],
  ["a message of the future", {}, undefined, published.now - 301_000, /clock/],
])("%s is refused", async (_what, change, body = published.body, now = published.now, fault = /no signature/) => {
  const refused = verifyWebhook(body, { ...published.headers, ...change }, published.secret, { now });
  await expect(refused).rejects.toThrow(WebhookVerificationError);
  await expect(refused).rejects.toThrow(fault);
});

test("keys of another kind do not verify, and what is no key is said to be none", async () => {
  const signingKey = newSigningKey();
  const body = JSON.stringify({ type: "webhook.test" } satisfies Pick<WebhookEvent, "type">);
  const seconds = Math.floor(Date.now() / 1_000);
  const headers = signedHeaders({ secrets: [newSecret(), newSecret()], signingKey }, { id: "evt_1", seconds, body });
  expect(await verifyWebhook(body, headers, publicKeyText(signingKey))).toEqual({ type: "webhook.test" });
  await expect(verifyWebhook(body, headers, publicKeyText(newSigningKey()))).rejects.toThrow("no signature");
  await expect(verifyWebhook(body, headers, "secret")).rejects.toThrow("begins with whsec_");
  await expect(verifyWebhook(body, {}, published.secret)).rejects.toThrow("webhook-id is missing");
});
