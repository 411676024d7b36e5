import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { deployCollection } from "../src/collections/deploy-collection.ts";
import { runDetection } from "../src/collections/detect-deployments.ts";
import { runWebhooks } from "../src/events/run-webhooks.ts";
import { runMetadata } from "../src/metadata/schedule/run-metadata.ts";
import { wakeRounds } from "../src/outbox/wake-rounds.ts";
import { Rounds } from "../src/rounds.ts";
import type { Services } from "../src/services.ts";
import { runRelay } from "../src/transactions/track/run-relay.ts";
import { createIndexedDatabase } from "./setup/database.ts";
import { patient } from "./setup/wait.ts";
import { launch, RelayHarness } from "./transactions/harness.ts";

/** A loop that has nothing to do looks again in an hour. */
const long = { restMs: 3_600_000, growth: 1_000_000 };
const listenerName = "rounds-listener";

let h: RelayHarness;
let api: Services;
let worker: Services;
let stop: AbortController;
let running: Promise<unknown> = Promise.resolve();

beforeAll(async () => {
  h = await RelayHarness.start(async () => (await createIndexedDatabase([31337])).database);
  api = h.process();
  worker = h.process();
});
afterEach(async () => {
  stop.abort();
  await running;
});
afterAll(() => h?.stop());

/** Runs a worker's loops, with a listener that connects to `database`. */
function start(pauses = {}, database = h.database.url): void {
  stop = new AbortController();
  const rounds = new Rounds(stop.signal, pauses);
  const connection = { connectionString: database, application_name: listenerName };
  const loops = [runRelay, runMetadata, runDetection, runWebhooks].map((run) => run(worker, rounds));
  running = Promise.all([wakeRounds(worker, connection, rounds), ...loops]);
}

const ask = async (text: string, values: unknown[] = []) => (await h.database.pool.query(text, values)).rows;
const listeners = () =>
  ask(
    "SELECT pid, query_start FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1 AND query LIKE '%LISTEN%'",
    [listenerName],
  );

/** Until the listener hears, and a look that was under way has ended: no call in some seconds. */
async function untilAtRest(mostCalls = 0): Promise<void> {
  await expect.poll(listeners, patient).toHaveLength(1);
  const callsInAWhile = async () => {
    const calls = h.proxy.seen.length;
    await wait(4_000);
    return h.proxy.seen.length - calls;
  };
  await expect.poll(callsInAWhile, patient).toBeLessThanOrEqual(mostCalls);
}

/** A request of each kind that a worker carries out, and that each was. */
async function expectWork(): Promise<void> {
  const contract = Buffer.alloc(20, 7);
  await ask("INSERT INTO service.contract_metadata (chain_id, address) VALUES (31337, $1) ON CONFLICT DO NOTHING", [
    contract,
  ]);
  await ask(
    "UPDATE service.contract_metadata SET refresh_requested_at = clock_timestamp(), refresh_applied_at = NULL WHERE address = $1",
    [contract],
  );
  const applied = "SELECT refresh_applied_at IS NOT NULL AS applied FROM service.contract_metadata WHERE address = $1";
  await expect.poll(() => ask(applied, [contract]), patient).toEqual([{ applied: true }]);
  await ask(`INSERT INTO service.webhook (url, types, chains, contracts, accounts, token_ids, finality, secret, signing_key, since)
    VALUES ('http://127.0.0.1:9', '{mint}', '{}', '{}', '{}', '{}', 'latest', '', '', 0)`);
  await ask("SELECT service.record_event('chain.finalized', $1, NULL, false, 31337, NULL, NULL, '{}')", [
    String(Math.random()),
  ]);
  const unmatched = `SELECT FROM service.event_new
    UNION ALL SELECT FROM service.webhook_head h, service.event_head e WHERE h.sequence < e.sequence`;
  await expect.poll(() => ask(unmatched), patient).toEqual([]);
  await ask("DELETE FROM service.webhook");
  const { deployment } = await deployCollection(api, await h.caller(), launch());
  await h.untilState(deployment.id, ["confirmed", "finalized"]);
}

test("a worker at rest sends few statements and calls", async () => {
  // What this process sends: the server's own counters include the housekeeping of its database.
  const statements = vi.spyOn(pg.Client.prototype, "query");
  start();
  await untilAtRest(4);
  const sentInAWhile = async () => {
    const before = { calls: h.proxy.seen.length, statements: statements.mock.calls.length };
    await wait(30_000);
    const sent = {
      calls: h.proxy.seen.length - before.calls,
      statements: statements.mock.calls.length - before.statements,
    };
    return sent.calls < 40 && sent.statements < 400 ? "few" : sent;
  };
  await expect.poll(sentInAWhile, patient).toBe("few");
  expect(statements.mock.calls.length).toBeGreaterThan(10);
});

test("work is begun when it is told of, however long the pauses are", async () => {
  start(long);
  await untilAtRest();
  await expectWork();
});

test("work is done by a worker whose listener was cut off, and it listens again", async () => {
  start(long);
  await untilAtRest();
  const [first] = await listeners();
  await ask("SELECT pg_terminate_backend($1)", [first?.pid]);
  await expectWork();
  await expect.poll(async () => (await listeners()).filter(({ pid }) => pid !== first?.pid), patient).toHaveLength(1);
});

test("work is done by a worker that no notification reaches", async () => {
  // Notifications stay within a database: as behind a pooler, the connection is there and hears nothing.
  start(long, h.database.url.replace(/[^/]*$/, "postgres"));
  await expectWork();
});
