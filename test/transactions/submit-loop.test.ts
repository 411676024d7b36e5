import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { readStatus } from "../../src/accounts/read-status.ts";
import type { Caller } from "../../src/auth/caller.ts";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import { loadConfig } from "../../src/config/config.ts";
import { connectionOptions } from "../../src/db/pool/pool.ts";
import { setTenant, withTenantScope } from "../../src/db/tenancy/tenant.ts";
import { ensureNftViews } from "../../src/indexing/nft-views.ts";
import { wakeRounds } from "../../src/outbox/wake-rounds.ts";
import { createServices } from "../../src/processes/create-services.ts";
import { Rounds } from "../../src/rounds.ts";
import type { Services } from "../../src/services.ts";
import { cancelIntent } from "../../src/transactions/accept/cancel-intent.ts";
import { runRelay } from "../../src/transactions/track/run-relay.ts";
import { patient, wait } from "../setup/wait.ts";
import { addQueued } from "./crowd.ts";
import { goerli, launch, RelayHarness } from "./harness.ts";

// Workers as src/processes/worker.ts has them, and a process that serves clients and has no signer.

let h: RelayHarness;
let api: Services;
let caller: Caller;
const ends: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  h = await RelayHarness.start();
  const { RELAYER_KEY_GOERLI: _key, ...env } = h.environment();
  const config = loadConfig({ ...env, RELAYER_ADDRESS_GOERLI: h.relayer });
  api = createServices(config, "test-api", { tenants: true, withoutSigner: true });
  caller = await h.caller("growth");
});
afterEach(async () => {
  await Promise.all(ends.splice(0).map((end) => end()));
});
afterAll(async () => {
  await api?.pool.end();
  await h?.stop();
});

/** @returns what ends it, as SIGTERM does. */
function startWorker(env: Record<string, string> = {}): () => Promise<void> {
  const services = createServices(loadConfig({ ...h.environment(), ...env }), "test-worker");
  const stop = new AbortController();
  const rounds = new Rounds(stop.signal);
  const listener = connectionOptions(h.database.url, "test-listener");
  const loops = [wakeRounds(services, listener, rounds), runRelay(services, rounds)];
  const end = async () => {
    stop.abort();
    await Promise.all(loops);
    if (!services.pool.ended) await services.pool.end();
  };
  ends.push(end);
  return end;
}

/** As a client does it: what no worker has signed in ten seconds, as on a busy machine, is asked for again. */
async function deploy(input = launch()) {
  for (;;) {
    try {
      return await deployOnce(input);
    } catch (error) {
      if ((error as { details?: { reason?: string } }).details?.reason !== unsigned) throw error;
    }
  }
}

const unsigned = "no worker has signed it yet";

/** As a request of the HTTP process: bound to its account. */
async function deployOnce(input = launch()) {
  return await withTenantScope(async () => {
    setTenant(caller.accountId);
    return await deployCollection(api, caller, input);
  });
}

test("a process without a signer knows the wallets, and signs nothing", async () => {
  const [wallet] = api.relay.signers(goerli(api));
  expect(wallet?.address).toBe(h.relayer);
  await expect(wallet?.sign({} as never)).rejects.toThrow("this process has no signer");
});

test("without a worker the chain has a trouble, which ends with the first one that signs", async () => {
  await ensureNftViews(h.database.url);
  const troubles = async () => (await readStatus(api)).chains.find(({ chain }) => chain === "goerli")?.troubles;
  await expect.poll(troubles, patient).toContain("worker_missing");
  startWorker();
  await expect.poll(troubles, patient).not.toContain("worker_missing");
});

test("without a worker a request is accepted and answered with its id, and the same request is the same when one is there", async () => {
  const input = launch();
  const refusal = await deployOnce(input).catch((error: unknown) => error);
  expect(refusal).toMatchObject({ code: "service_unavailable", details: { reason: unsigned } });
  startWorker();
  const { deployment } = await deploy(input);
  expect(deployment.id).toBe((refusal as { details: { deployment: string } }).details.deployment);
  await h.untilState(deployment.id, ["confirmed", "finalized"]);
});

test("two workers sign requests of one moment, each once; the second goes on when the first ends", async () => {
  const endFirst = startWorker();
  startWorker();
  const before = (await h.announced()).length;
  const first = await Promise.all(Array.from({ length: 12 }, () => deploy()));
  await endFirst();
  const second = await Promise.all(Array.from({ length: 12 }, () => deploy()));
  const ids = [...first, ...second].map(({ deployment }) => deployment.id);
  for (const id of ids) await h.untilState(id, ["confirmed", "finalized"]);
  expect(new Set(ids).size).toBe(24);
  expect((await h.announced()).length - before).toBe(24);
});

test("what one worker signs reaches the node in the order of the nonces", async () => {
  startWorker();
  // The node keeps no queue: it refuses a transaction whose predecessor it does not have. What is sent again after it was
  // mined is refused in other words. Behind a node that hangs for two seconds, as on a busy machine, the order is not kept.
  const deployMany = async () => {
    const answers = await Promise.all(Array.from({ length: 24 }, () => deploy()));
    const ids = answers.map(({ deployment }) => deployment.id);
    for (const id of ids) await h.untilState(id, ["confirmed", "finalized"]);
    const { rows } = await h.database.pool.query<{ outcome_code: string; detail: string | null }>(
      `SELECT DISTINCT e.outcome_code, e.detail FROM service.attempt_event e JOIN service.attempt a ON a.hash = e.attempt_hash
       JOIN service.nonce_reservation s USING (chain_id, addr, nonce) WHERE s.intent_id = ANY ($1)`,
      [ids],
    );
    expect(rows).toContainEqual({ outcome_code: "accepted", detail: null });
    return rows.flatMap(({ detail }) => (/too high/i.test(detail ?? "") ? [detail] : []));
  };
  let early = await deployMany();
  for (let more = 0; early.length > 0 && more < 4; more += 1) early = await deployMany();
  expect(early).toEqual([]);
});

test("requests that wait for a wallet with all it may have under way are not simulated meanwhile", async () => {
  const simulations = () => h.proxy.seen.filter((method) => method === "eth_estimateGas").length;
  const count =
    "SELECT (SELECT count(*) FROM service.intent)::int AS asked, (SELECT count(*) FROM service.attempt)::int AS signed";
  const rows = async () => (await h.database.pool.query<{ asked: number; signed: number }>(count)).rows[0];
  const before = await rows();
  await h.chain.setAutomine(false);
  startWorker({ MAX_PENDING_GOERLI: "4" });
  const asked = Array.from({ length: 12 }, () => deploy());
  const all = { asked: (before?.asked ?? 0) + 12, signed: (before?.signed ?? 0) + 4 };
  await expect.poll(rows, patient).toEqual(all);
  // Tries that were under way end, and then nothing is asked for a second.
  const isQuiet = async () => {
    const seen = simulations();
    await sleep(1_000);
    return simulations() === seen;
  };
  await expect.poll(isQuiet, patient).toBe(true);
  expect(await rows()).toEqual(all);
  await h.chain.setAutomine(true);
  await h.chain.mine({ blocks: 1 });
  for (const { deployment } of await Promise.all(asked)) await h.untilState(deployment.id, ["confirmed", "finalized"]);
});

test("a request that is held says why at once, and is tried again when its client asks again", async () => {
  startWorker();
  await h.pauseFactory(true);
  const input = launch();
  try {
    const held = await deploy(input).catch((error: unknown) => error);
    expect(held).toMatchObject({ code: "service_unavailable" });
    expect(String(held)).toContain("the contract would refuse it");
  } finally {
    await h.pauseFactory(false);
  }
  const { deployment } = await deploy(input);
  await h.untilState(deployment.id, ["confirmed", "finalized"]);
});

test("a wallet that has funds again is used, also while its client asks without a pause", async () => {
  const balance = await h.chain.getBalance({ address: h.relayer });
  await h.chain.setBalance({ address: h.relayer, value: 1n });
  startWorker();
  const input = launch();
  expect(String(await deploy(input).catch((error: unknown) => error))).toContain("has too little");
  await h.chain.setBalance({ address: h.relayer, value: balance });
  const answered = await wait("a hash", () => deploy(input).catch(() => null));
  await h.untilState(answered?.deployment.id ?? "", ["confirmed", "finalized"]);
});

test("a wallet that needs funds for a request that was cancelled pays for the others", async () => {
  const balance = await h.chain.getBalance({ address: h.relayer });
  await h.chain.setBalance({ address: h.relayer, value: 1n });
  startWorker();
  await deploy().catch(() => null);
  const { rows } = await h.database.pool.query<{ id: string }>(
    "SELECT id FROM service.intent WHERE hold_reason = 'balance'",
  );
  // What it asked for costs more than the wallet will ever have.
  await h.database.pool.query("UPDATE service.relayer_wallet SET needed_wei = 1e30");
  await h.chain.setBalance({ address: h.relayer, value: balance });
  const others = launch();
  expect(String(await deploy(others).catch((error: unknown) => error))).toContain("has too little");
  expect(rows.length).toBe(1);
  await withTenantScope(async () => {
    setTenant(caller.accountId);
    await cancelIntent(api, caller.accountId, rows[0]?.id ?? "");
  });
  const answered = await wait("a hash", () => deploy(others).catch(() => null));
  await h.untilState(answered?.deployment.id ?? "", ["confirmed", "finalized"]);
  const wallet = await h.database.pool.query("SELECT state, needed_wei, needed_for FROM service.relayer_wallet");
  expect(wallet.rows).toEqual([{ state: "open", needed_wei: null, needed_for: null }]);
});

test("two hundred requests that are held take nobody's place", async () => {
  await h.pauseFactory(true);
  const held = await addQueued(h, 200);
  startWorker();
  const refused = "SELECT FROM service.intent WHERE id = ANY ($1) AND state = 'held'";
  await expect.poll(async () => (await h.database.pool.query(refused, [held])).rowCount, patient).toBe(200);
  await h.pauseFactory(false);
  const { deployment } = await deploy();
  await h.untilState(deployment.id, ["confirmed", "finalized"]);
});

test("the HTTP process reads and writes nothing of these waits but through its two functions", async () => {
  const id = randomUUID();
  for (const statement of [
    `INSERT INTO service.signature_wait (intent_id, chain_id) VALUES ('${id}', 1)`,
    `INSERT INTO service.signing_worker VALUES (1, '${id}', 'infinity')`,
  ])
    await expect(api.pool.query(statement)).rejects.toThrow("row-level security");
  expect((await api.pool.query("SELECT FROM service.signature_wait")).rowCount).toBe(0);
  // Of what does not exist there is nothing to ask for.
  await api.pool.query("SELECT service.ask_signature($1)", [id]);
  expect((await api.pool.query("SELECT * FROM service.signing_of($1)", [[id]])).rows).toEqual([]);
});
