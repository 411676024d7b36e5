import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { defaultPlans } from "../../src/auth/plans.ts";
import { keepEvents } from "../../src/events/run-webhooks.ts";
import { measuredSlowness, wait } from "../setup/wait.ts";
import { WebhookFixture } from "./webhook-fixture.ts";

// What webhooks can be made to cost, by making them do it. Figures are printed; docs/measurements/events.md has them.

let fixture: WebhookFixture;
let api: WebhookFixture["api"];
let receiver: WebhookFixture["receiver"];
beforeAll(async () => {
  fixture = await WebhookFixture.start();
  ({ api, receiver } = fixture);
});
afterEach(async () => await fixture.reset());
afterAll(async () => await fixture?.stop());

const one = async (text: string, values: unknown[] = []) => (await api.database.pool.query(text, values)).rows[0];
const hexOf = (contract: number) => contract.toString(16).padStart(40, "0");

/** Events of a contract that everybody gets, as one transaction of it makes them. */
async function happen(contract: number, count: number): Promise<void> {
  await one(
    `SELECT count(service.record_event('metadata.updated', gen_random_uuid()::text, NULL, false, 31337, $1, n, '{}'))
     FROM generate_series(1, $2) n`,
    [Buffer.from(hexOf(contract), "hex"), count],
  );
}

/** Endpoints of accounts that answered quickly until now, made without the API: it would take minutes. */
async function endpoints(accounts: readonly string[], each: number, pathOf: string, contractOf: string): Promise<void> {
  await one(
    `INSERT INTO service.webhook (account_id, url, types, chains, contracts, accounts, token_ids, finality, secret, signing_key, since, proven)
     SELECT a.id, $1 || ${pathOf}, '{metadata}', '{}', ARRAY[decode(lpad(to_hex(${contractOf}), 40, '0'), 'hex')], '{}', '{}', 'latest',
       w.secret, w.signing_key, 0, true
     FROM unnest($2::uuid[]) WITH ORDINALITY AS a (id, n) CROSS JOIN generate_series(1, ${each}) e
     CROSS JOIN (SELECT secret, signing_key FROM service.webhook WHERE url LIKE '%/never' LIMIT 1) w`,
    [receiver.url, accounts],
  );
}

const owners = async (count: number) => {
  const made: string[] = [];
  while (made.length < count) made.push((await api.account("enterprise")).id);
  return made;
};

/** Rows and bytes of what waits or was sent, with its indexes. */
async function stored(): Promise<{ rows: number; bytes: number }> {
  const { rows, bytes } = await one(
    `SELECT (SELECT count(*)::int FROM service.webhook_delivery) + (SELECT count(*)::int FROM service.webhook_try) AS rows,
       pg_total_relation_size('service.webhook_delivery')::int + pg_total_relation_size('service.webhook_try')::int AS bytes`,
  );
  return { rows, bytes };
}

async function empty(): Promise<void> {
  await one("TRUNCATE service.webhook_delivery CASCADE");
}

async function untilMatched(): Promise<void> {
  const left = `SELECT (SELECT count(*)::int FROM service.event_new) + (SELECT e.sequence - h.sequence
    FROM service.event_head e, service.webhook_head h)::int AS count`;
  await wait("all events to be compared", async () => (await one(left)).count, { until: (count) => count === 0 });
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

test("a free account has so many messages a day sent, whatever happens to its contracts, and few rows for them", async () => {
  const { id: account, key } = await api.account("free");
  const { maxWebhooks, webhookTriesPerDay } = defaultPlans.free;
  for (let made = 0; made < 5; made += 1) await fixture.make({ contracts: [`0x${hexOf(0xaa)}`] }, key);
  await empty();
  const before = process.cpuUsage();
  const began = performance.now();
  for (let batches = 0; batches < 6; batches += 1) await happen(0xaa, 500);
  const used = async () =>
    (
      await one("SELECT coalesce(sum(tries), 0)::int AS tries FROM service.webhook_use WHERE account_id = $1", [
        account,
      ])
    ).tries;
  await wait("the day's messages to be used", used, { until: (tries) => tries >= 10_000, withinMs: 600_000 });
  await sleep(3_000);
  const sent = await used();
  const { user, system } = process.cpuUsage(before);
  const figures = { sent, seconds: (performance.now() - began) / 1_000, processor: (user + system) / 1e6 };
  console.info("a free account's day:", JSON.stringify({ ...figures, ...(await stored()) }));
  expect(maxWebhooks).toBe(5);
  expect(sent).toBe(webhookTriesPerDay);
  expect(receiver.received.length).toBeLessThanOrEqual(sent);
  const { rows, bytes } = await stored();
  expect(rows).toBeLessThanOrEqual(5 * 200);
  expect(bytes).toBeLessThan(5_000_000);
});

test("endpoints that do not answer make no row for each event, whatever is waiting", async () => {
  const accounts = await owners(1);
  await endpoints(accounts, 50, "'/dead'", "187");
  await empty();
  receiver.answer = () => "reset";
  const began = performance.now();
  for (let batches = 0; batches < 20; batches += 1) await happen(187, 500);
  await untilMatched();
  await sleep(8_000);
  const { rows, bytes } = await stored();
  console.info("10,000 events for 50 dead endpoints:", JSON.stringify({ rows, bytes, ms: performance.now() - began }));
  expect(rows).toBeLessThan(50 * 20);
  expect(bytes).toBeLessThan(5_000_000);
  const { waiting } = await one("SELECT count(*)::int AS waiting FROM service.webhook WHERE wanted > cursor");
  expect(waiting).toBe(50);
  await keepEvents({ ...api.services, pool: api.database.pool });
  expect((await one("SELECT count(*)::int AS count FROM service.webhook WHERE state = 'disabled'")).count).toBe(0);
});

/** Delays in milliseconds of events that happen to a contract alone, one after another. */
async function delaysOf(path: string, contract: number, events: number, pauseMs: number): Promise<number[]> {
  const delays: number[] = [];
  for (let event = 0; event < events; event += 1) {
    const at = performance.now();
    const seen = receiver.received.length;
    await happen(contract, 1);
    await wait("an event", () => receiver.received.slice(seen).find((message) => message.path === path));
    delays.push((receiver.received.slice(seen).find((message) => message.path === path)?.at ?? Number.NaN) - at);
    await sleep(pauseMs);
  }
  return delays;
}

test("200 endpoints that were quick, and answer after twelve seconds from now on, delay a quick one by a second at most", async () => {
  await endpoints(await owners(4), 50, "'/slow'", "187");
  await endpoints(await owners(1), 1, "'/quick'", "188");
  receiver.answer = ({ path }) => ({ status: 204, afterMs: path === "/slow" ? 12_000 : 0 });
  const alone = await delaysOf("/quick", 188, 40, 100);
  const slow = setInterval(() => void happen(187, 5).catch(() => undefined), 500);
  const beside = await delaysOf("/quick", 188, 150, 100);
  clearInterval(slow);
  const figures = [alone, beside].map((delays) => [0.5, 0.99, 1].map((share) => Math.round(quantile(delays, share))));
  console.info("a quick endpoint alone and beside 200 slow ones, ms (median, 99 %, most):", JSON.stringify(figures));
  // How much is printed: with other work beside it is several times what a quiet machine takes. Without lanes it was half a minute.
  expect(quantile(beside, 0.99) - quantile(alone, 0.99)).toBeLessThan(5_000 * measuredSlowness);
});

test("of 10,000 endpoints a fifth is slow, dead or hostile: the others are sent to at once, each event once", async () => {
  const accounts = await owners(200);
  // Of each account a contract; of each contract fifty endpoints, ten of which are bad.
  const path = `CASE WHEN e > 10 THEN '/quick/' || a.n || '/' || e ELSE (ARRAY['/slow', '/dead', '/hang', '/flood', '/error'])[1 + e % 5] END`;
  await endpoints(accounts, 50, path, "1000 + a.n");
  await endpoints(await owners(1), 1, "'/quick'", "188");
  await empty();
  const flood = "x".repeat(5_000_000);
  receiver.answer = ({ path: at }) => {
    if (at === "/slow") return { status: 200, afterMs: 12_000 };
    if (at === "/dead") return "reset";
    if (at === "/hang") return "hang";
    if (at === "/flood") return { status: 200, body: flood };
    return { status: at === "/error" ? 500 : 204 };
  };
  const before = process.cpuUsage();
  let events = 0;
  const crowd = setInterval(() => {
    void happen(1_001 + (events++ % 200), 1).catch(() => undefined);
  }, 500 * measuredSlowness);
  const delays = await delaysOf("/quick", 188, 200, 100);
  clearInterval(crowd);
  const quick = () => receiver.received.filter((message) => message.path.startsWith("/quick/"));
  await wait("all quick ones", () => quick().length, { until: (count) => count >= events * 40 });
  const { user, system } = process.cpuUsage(before);
  const [median, p99] = [quantile(delays, 0.5), quantile(delays, 0.99)].map(Math.round);
  const { rows, bytes } = await stored();
  const messages = receiver.received.length;
  console.info(
    "10,000 endpoints:",
    JSON.stringify({ events, messages, median, p99, rows, bytes, processor: (user + system) / 1e6 }),
  );
  const sent = quick().map((message) => `${message.path} ${message.headers["webhook-id"]}`);
  expect(new Set(sent).size).toBe(events * 40);
  expect(p99).toBeLessThan(5_000 * measuredSlowness);
});
