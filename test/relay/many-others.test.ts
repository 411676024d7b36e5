import { randomBytes } from "node:crypto";
import type { Address, Hash } from "viem";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Caller } from "../../src/auth/caller.ts";
import { acceptDeployment } from "../../src/collections/accept-deployment.ts";
import { checkDeployment } from "../../src/collections/check-deployment.ts";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import type { IntentState } from "../../src/db/tables/relay.ts";
import { toBytes } from "../../src/relay/bytes.ts";
import { cancelIntent } from "../../src/relay/cancel-intent.ts";
import { listWaiting } from "../../src/relay/list-waiting.ts";
import { createRelayMemory } from "../../src/relay/round-steps.ts";
import { runRelay } from "../../src/relay/run-relay.ts";
import { listAttempts } from "../../src/relay/slots.ts";
import type { Services } from "../../src/services.ts";
import { goerli, launch, RelayHarness, randomAddress } from "./harness.ts";
import { relayRound } from "./round.ts";

let h: RelayHarness;
let api: Services;
let worker: Services;
let caller: Caller;
const toInFlight = ["assigned", "signed", "in_flight"] as const;
const toMined = [...toInFlight, "mined"] as const;
const toConfirmed = [...toMined, "confirmed"] as const;

beforeEach(async () => {
  h = await RelayHarness.start();
  api = h.process();
  worker = h.process();
  caller = await h.caller();
  const { deployment } = await deployCollection(api, caller, launch());
  await h.until(worker, deployment.id, ["finalized"]);
});
afterEach(() => h?.stop());

/** Other requests, as rows that are copies of the first one's. */
async function addQueued(count: number): Promise<string[]> {
  const { rows } = await h.database.pool.query<{ id: string }>(
    `INSERT INTO service.intent (id, root_id, tenant_id, idem_key, req_hash, chain_id, kind, payload, factory, template,
       owner, init_data, salt, predicted_addr)
     SELECT n.id, n.id, o.tenant_id, 'other ' || n.id, o.req_hash, o.chain_id, o.kind, o.payload, o.factory, o.template,
       o.owner, o.init_data, o.salt, substr(o.salt, 1, 20)
     FROM (SELECT * FROM service.intent ORDER BY seq LIMIT 1) o,
       (SELECT gen_random_uuid() AS id FROM generate_series(1, $1)) n
     RETURNING id`,
    [count],
  );
  return rows.map(({ id }) => id);
}

async function move(ids: readonly string[], state: IntentState): Promise<void> {
  await h.database.pool.query("UPDATE service.intent SET state = $2, version = version + 1 WHERE id = ANY ($1)", [
    ids,
    state,
  ]);
}

/**
 * More requests than a round takes of any kind, which went from state to state by the legal edges, at a wallet's next
 * nonces. Nothing was ever sent for them, and the blocks of those that are mined lie ahead of the chain: no node
 * decides about them.
 */
async function addCrowd(path: readonly IntentState[], wallet: Address, count = 1_200): Promise<void> {
  const { pool } = h.database;
  const place = [goerli(api).id, toBytes(wallet)];
  const ids = await addQueued(count);
  await pool.query(
    `INSERT INTO service.lane (chain_id, addr, genesis_hash, next_nonce)
     SELECT chain_id, $2, genesis_hash, 0 FROM service.lane WHERE chain_id = $1 LIMIT 1 ON CONFLICT DO NOTHING`,
    place,
  );
  await pool.query(
    `WITH lane AS (
       UPDATE service.lane SET next_nonce = next_nonce + $3 WHERE (chain_id, addr) = ($1, $2) RETURNING next_nonce)
     INSERT INTO service.slot (chain_id, addr, nonce, intent_id, kind)
     SELECT $1, $2, lane.next_nonce - n.place, n.id, 'deploy'
     FROM lane, unnest($4::uuid[]) WITH ORDINALITY AS n (id, place)`,
    [...place, count, ids],
  );
  for (const state of path) await move(ids, state);
  if (path.includes("mined"))
    await pool.query(
      `UPDATE service.slot SET state = 'mined', mined_block = 1000000, mined_block_hash = $2, mined_attempt = $2
       WHERE intent_id = ANY ($1)`,
      [ids, randomBytes(32)],
    );
}

/** A deployment that a node took, and forgot. */
async function deployAndForget(): Promise<{ id: string; hash: Hash }> {
  await h.chain.setAutomine(false);
  const { deployment } = await deployCollection(api, caller, launch());
  const hash = deployment.transactionHash;
  await forget(hash);
  return { id: deployment.id, hash };
}

async function forget(hash: Hash): Promise<void> {
  await expect.poll(() => isKnown(hash)).toBe(true);
  await h.chain.dropTransaction({ hash });
  expect(await isKnown(hash)).toBe(false);
}

async function isKnown(hash: Hash): Promise<boolean> {
  return await h.chain.getTransaction({ hash }).then(
    () => true,
    () => false,
  );
}

test.each([
  ["in flight from the same wallet", toInFlight, () => h.relayer],
  ["in flight from another wallet", toInFlight, randomAddress],
  ["confirmed and not final yet", toConfirmed, randomAddress],
])("what a node forgot is sent again while a thousand others are %s", async (_, path, wallet) => {
  const forgotten = await deployAndForget();
  await addCrowd(path, wallet());
  const memory = createRelayMemory();
  const look = async () => {
    await relayRound(worker, goerli(worker), memory);
    return await isKnown(forgotten.hash);
  };
  await expect.poll(look, { timeout: 20_000, interval: 100 }).toBe(true);
  await h.chain.setAutomine(true);
  await h.chain.mine({ blocks: 1 });
  await h.until(worker, forgotten.id, ["finalized"]);
});

test("of thousands that are mined and confirmed, the first and the last become final", async () => {
  const first = await deployCollection(api, caller, launch());
  await addCrowd(toMined, randomAddress());
  await addCrowd(toConfirmed, randomAddress());
  const last = await deployCollection(api, caller, launch());
  for (const { deployment } of [first, last]) await h.until(worker, deployment.id, ["finalized"]);
});

test("cancelled behind hundreds of open nonces: its own is to be filled with nothing at once", async () => {
  await h.chain.setAutomine(false);
  await addCrowd(toInFlight, h.relayer, 400);
  const { deployment } = await deployCollection(api, caller, launch());
  await cancelIntent(api, caller.accountId, deployment.id);
  await relayRound(worker, goerli(worker), createRelayMemory());
  expect((await listAttempts(api.db, deployment.id)).map(({ kind }) => kind)).toEqual(["noop", "deploy"]);
});

test("what is in flight is sent again while slow simulations keep forty others waiting for a nonce", async () => {
  await h.chain.setAutomine(false);
  const { deployment } = await deployCollection(api, caller, launch());
  for (let count = 0; count < 40; count += 1)
    await acceptDeployment(api, caller, null, await checkDeployment(api, caller, launch()));
  h.proxy.delay("eth_estimateGas", 500);
  const before = simulations();
  const stop = new AbortController();
  const working = runRelay(worker, stop.signal);
  try {
    await expect.poll(simulations, { timeout: 10_000 }).toBeGreaterThan(before + 1);
    await forget(deployment.transactionHash);
    await expect.poll(() => isKnown(deployment.transactionHash), { timeout: 8_000 }).toBe(true);
    expect(simulations() - before).toBeLessThan(40);
  } finally {
    stop.abort();
    h.proxy.heal();
    await working;
  }

  function simulations(): number {
    return h.proxy.seen.filter((method) => method === "eth_estimateGas").length;
  }
});

test("a hundred held requests do not keep the others from being tried", async () => {
  const held = await addQueued(130);
  await move(held, "held");
  const untried = new Set(held);
  for (let round = 0; round < 2; round += 1) {
    await letTimePass("6 s");
    const tried = (await listWaiting(worker, goerli(worker))).map(({ id }) => id);
    expect(tried.length).toBeGreaterThan(0);
    for (const id of tried) untried.delete(id);
    await h.database.pool.query("UPDATE service.intent SET version = version + 1 WHERE id = ANY ($1)", [tried]);
  }
  expect(untried).toEqual(new Set());
});

/** The database's clock cannot be set; the rows are made older instead, past the trigger that keeps their times. */
async function letTimePass(interval: string): Promise<void> {
  await h.database.pool.query(
    `BEGIN; SET LOCAL session_replication_role = replica;
     UPDATE service.intent SET updated_at = updated_at - interval '${interval}' WHERE state = 'held'; COMMIT`,
  );
}
