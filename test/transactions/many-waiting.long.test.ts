import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Caller } from "../../src/auth/caller.ts";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import { Rounds } from "../../src/rounds.ts";
import type { Services } from "../../src/services.ts";
import { untilSigned } from "../../src/transactions/accept/until-signed.ts";
import { getIntent, type Intent } from "../../src/transactions/store/intents.ts";
import { listAttempts } from "../../src/transactions/store/nonces.ts";
import { createRelayMemory } from "../../src/transactions/track/loop-steps.ts";
import { runRelay } from "../../src/transactions/track/run-relay.ts";
import { submitRound } from "../../src/transactions/track/submit-loop.ts";
import { measuredSlowness, patient } from "../setup/wait.ts";
import { acceptDeployment, acceptUpdate } from "./accept.ts";
import { addCrowd, addQueued, moveAll } from "./crowd.ts";
import { goerli, launch, RelayHarness, randomAddress } from "./harness.ts";
import { giveNonce } from "./older-nonce.ts";
import { relayRound } from "./round.ts";

let h: RelayHarness;
let api: Services;
let worker: Services;
let caller: Caller;
let contract: `0x${string}`;
const done = ["confirmed", "finalized"];

beforeEach(async () => {
  h = await RelayHarness.start();
  api = h.process();
  worker = h.process();
  caller = await h.caller();
  const { deployment } = await deployCollection(api, caller, launch());
  await h.until(worker, deployment.id, ["finalized"]);
  contract = deployment.contract;
});
afterEach(() => h?.stop());

async function accept(): Promise<Intent> {
  return await acceptDeployment(api, caller, launch());
}

async function acceptNth(n: number): Promise<Intent> {
  const changes = { royaltiesBps: BigInt(n + 1) };
  return await acceptUpdate(api, caller, { chain: goerli(api), contract, changes, idempotencyKey: `update-${n}` });
}

/** Nobody waits for them any more, so they have their turn from round to round. */
async function becomeDue(): Promise<void> {
  await h.database.pool.query(
    `BEGIN; SET LOCAL session_replication_role = replica;
     UPDATE service.intent SET created_at = created_at - interval '1 hour', updated_at = updated_at - interval '2 s'; COMMIT`,
  );
}

const simulations = () => h.proxy.seen.filter((method) => method === "eth_estimateGas").length;

/** Runs a worker until `work` is done; it has to stop soon: the slow simulations that are left would take twice as long. */
async function besideWorker(work: () => Promise<void>): Promise<void> {
  const stop = new AbortController();
  const working = runRelay(worker, new Rounds(stop.signal)).then(() => "stopped");
  try {
    await work();
  } finally {
    stop.abort();
    expect(await Promise.race([working, sleep(10_000 * measuredSlowness, "still at work")])).toBe("stopped");
    h.proxy.heal();
  }
}

test("what is in flight is sent again while slow simulations keep forty others waiting for a nonce", async () => {
  await h.chain.setAutomine(false);
  const { deployment } = await deployCollection(api, caller, launch());
  const hash = deployment.transactionHash;
  const isKnown = () =>
    h.chain.getTransaction({ hash }).then(
      () => true,
      () => false,
    );
  for (let count = 0; count < 40; count += 1) await accept();
  await becomeDue();
  h.proxy.delay("eth_estimateGas", 500);
  const before = simulations();
  await besideWorker(async () => {
    await expect.poll(simulations, patient).toBeGreaterThan(before + 1);
    await expect.poll(isKnown, patient).toBe(true);
    await h.chain.dropTransaction({ hash });
    await expect.poll(isKnown, patient).toBe(true);
    expect(simulations() - before).toBeLessThan(40);
  });
});

test("a hundred held requests do not keep the others from being tried", async () => {
  const held = await addQueued(h, 130);
  await moveAll(h, held, "held");
  await h.database.pool.query("UPDATE service.relayer_wallet SET state = 'halted'");
  const memory = createRelayMemory();
  const untried = async () =>
    (await h.database.pool.query("SELECT FROM service.intent WHERE state = 'held' AND version = 1")).rowCount;
  expect(await untried()).toBe(130);
  // Two rounds by their pages; more where a round's five seconds are over before its page. Those that were tried are held
  // for long enough again each time: if the rounds began with them, the last thirty would never have their turn.
  for (let round = 0; round < 20 && (await untried()) !== 0; round += 1) {
    await letTimePass("6 s");
    await submitRound(worker, goerli(worker), memory);
  }
  expect(await untried()).toBe(0);
});

/** The database's clock cannot be set; the rows are made older instead, past the trigger that keeps their times. */
async function letTimePass(interval: string, state = "held"): Promise<void> {
  await h.database.pool.query(
    `BEGIN; SET LOCAL session_replication_role = replica;
     UPDATE service.intent SET updated_at = updated_at - interval '${interval}' WHERE state = '${state}'; COMMIT`,
  );
}

test("a hundred updates of a collection wait for the first of them, and nobody else does", async () => {
  const balance = await h.chain.getBalance({ address: h.relayer });
  await h.chain.setBalance({ address: h.relayer, value: 1n });
  const first = await acceptNth(0);
  await expect(untilSigned(api, goerli(api), first)).rejects.toMatchObject({ code: "service_unavailable" });
  expect(await getIntent(api.db, first.id)).toMatchObject({ state: "held", hold_reason: "balance" });
  for (let n = 1; n <= 120; n += 1) await acceptNth(n);
  await h.chain.setBalance({ address: h.relayer, value: balance });
  const other = await accept();
  const second = await api.db
    .selectFrom("service.intent")
    .selectAll()
    .where("idem_key", "=", "client:update-1")
    .execute();
  await besideWorker(async () => {
    for (const id of [first.id, other.id, second[0]?.id ?? ""])
      await expect.poll(async () => (await getIntent(api.db, id)).state, patient).toBe("finalized");
  });
});

test("a hundred nonces of a wallet whose key is gone do not keep the others from being signed", async () => {
  await addCrowd(h, ["assigned"], randomAddress(), { count: 120 });
  const orphaned = await giveNonce(api, await accept(), h.relayer);
  const waiting = await accept();
  const memory = createRelayMemory();
  await becomeDue();
  // Two rounds by their pages.
  for (let round = 0; round < 2; round += 1) await submitRound(worker, goerli(worker), memory);
  for (const { id } of [orphaned, waiting]) expect((await getIntent(api.db, id)).state).toMatch(/signed|in_flight/);
});

test("a nonce that the contract keeps refusing is filled with nothing after a minute, for those behind it", async () => {
  const refused = await giveNonce(api, await accept(), h.relayer);
  await h.pauseFactory(true);
  const memory = createRelayMemory();
  await becomeDue();
  await relayRound(worker, goerli(worker), memory);
  const seen = await getIntent(api.db, refused.id);
  expect(seen).toMatchObject({ state: "assigned", hold_reason: "simulation" });
  // The same answer again is no news.
  await becomeDue();
  await relayRound(worker, goerli(worker), memory);
  expect((await getIntent(api.db, refused.id)).version).toBe(seen.version);
  expect(await listAttempts(api.db, refused.id)).toEqual([]);
  await letTimePass("61 s", "assigned");
  await relayRound(worker, goerli(worker), memory);
  expect((await listAttempts(api.db, refused.id)).map(({ kind }) => kind)).toEqual(["cancellation"]);
  await h.until(worker, refused.id, ["cancelled"]);
  await h.pauseFactory(false);
  const { deployment } = await deployCollection(api, caller, launch());
  await h.until(worker, deployment.id, done);
});
