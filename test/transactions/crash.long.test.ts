import { createWalletClient, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { Caller } from "../../src/auth/caller.ts";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import { type DeployCollectionInput, deployments } from "../../src/collections/deployment-input.ts";
import { findDeployedContract } from "../../src/collections/find-deployed-contract.ts";
import { toHash } from "../../src/db/bytes.ts";
import { getRequest } from "../../src/requests/requests.ts";
import { Rounds } from "../../src/rounds.ts";
import type { Services } from "../../src/services.ts";
import { verifyDeployment } from "../../src/transactions/chain/verify-deployment.ts";
import { getIntent, type Intent } from "../../src/transactions/store/intents.ts";
import { findReservation, listAttempts } from "../../src/transactions/store/nonces.ts";
import { reconcileNonces } from "../../src/transactions/submit/reconcile-nonces.ts";
import { submitIntent } from "../../src/transactions/submit/submit-intent.ts";
import { createRelayMemory } from "../../src/transactions/track/loop-steps.ts";
import { runRelay } from "../../src/transactions/track/run-relay.ts";
import { createTestDatabase } from "../setup/database.ts";
import { acceptDeployment } from "./accept.ts";
import { goerli, launch, RelayHarness } from "./harness.ts";
import { giveNonce } from "./older-nonce.ts";
import { relayRound } from "./round.ts";

let h: RelayHarness;
let api: Services;
let worker: Services;
let caller: Caller;
beforeAll(async () => {
  h = await RelayHarness.start();
  api = h.process();
  worker = h.process();
  caller = await h.caller();
});
afterAll(() => h?.stop());
afterEach(() => h.proxy.heal());

const done = ["confirmed", "finalized"];

async function accept(input: DeployCollectionInput = launch()): Promise<Intent> {
  return await acceptDeployment(api, caller, input);
}

async function announcedOf(intent: Intent): Promise<number> {
  const name = intent.root_id.replaceAll("-", "").padStart(64, "0");
  return (await h.announced()).filter(({ intentId }) => intentId === `0x${name}`).length;
}

test("killed after the request was stored: a worker deploys it", async () => {
  const intent = await accept();
  await h.until(worker, intent.id, done);
  expect(await announcedOf(intent)).toBe(1);
});

test("a nonce that an earlier version gave and did not sign is signed later, the same one", async () => {
  const intent = await accept();
  expect(await reconcileNonces(api, goerli(api), h.relayer)).toBeNull();
  await giveNonce(api, intent, h.relayer);
  const reservation = await findReservation(api.db, intent.id);
  await h.until(worker, intent.id, done);
  expect(await findReservation(api.db, intent.id)).toMatchObject({ nonce: reservation?.nonce, state: "mined" });
  expect(await announcedOf(intent)).toBe(1);
});

test("killed between storing the bytes and sending them: a worker sends the same bytes", async () => {
  const submission = await submitIntent(api, goerli(api), await accept());
  if (submission.kind !== "signed") throw new Error(submission.kind);
  const [attempt] = await listAttempts(api.db, submission.intent.id);
  const hash = toHash(attempt?.hash ?? Buffer.alloc(32));
  await expect(h.chain.getTransaction({ hash })).rejects.toThrow("could not be found");
  await h.until(worker, submission.intent.id, done);
  expect((await h.chain.getTransactionReceipt({ hash })).status).toBe("success");
  expect((await listAttempts(api.db, submission.intent.id)).length).toBe(1);
});

test("a node that is away: 503 with a retry, the request stays and is deployed when the node is back", async () => {
  await api.relay.factory(goerli(api));
  const input = launch({ idempotencyKey: "node-away" });
  h.proxy.goDown();
  const refused = await deployCollection(api, caller, input).catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: "service_unavailable", retryAfterSeconds: 10 });
  h.proxy.heal();
  const { rows } = await api.pool.query("SELECT id, state FROM service.intent WHERE idem_key = 'client:node-away'");
  expect(rows).toMatchObject([{ state: "queued" }]);
  await h.until(worker, rows[0].id, done);
  const { deployment } = await deployCollection(api, caller, input);
  expect(deployment).toMatchObject({ id: rows[0].id, confirmed: true });
});

test("an empty wallet: held, and deployed once there is money", async () => {
  const balance = await h.chain.getBalance({ address: h.relayer });
  await h.chain.setBalance({ address: h.relayer, value: 1n });
  const input = launch({ idempotencyKey: "no-money" });
  const refused = await deployCollection(api, caller, input).catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: "service_unavailable", message: expect.stringContaining("too little") });
  const { rows } = await api.pool.query(
    "SELECT id, state, hold_reason FROM service.intent WHERE idem_key = 'client:no-money'",
  );
  expect(rows).toMatchObject([{ state: "held", hold_reason: "balance" }]);
  await h.chain.setBalance({ address: h.relayer, value: balance });
  await h.until(worker, rows[0].id, done);
});

test("a deployment that the chain refuses is failed by its receipt, and its nonce is used up", async () => {
  const submission = await submitIntent(api, goerli(api), await accept());
  await h.pauseFactory(true);
  try {
    await h.until(worker, submission.intent.id, ["failed_onchain"]);
  } finally {
    await h.pauseFactory(false);
  }
  const { transactionHash } = await getRequest(api, caller, deployments, { id: submission.intent.id });
  const lookup = findDeployedContract(api, caller, { chain: "goerli", transactionHash: transactionHash ?? "" });
  await expect(lookup).rejects.toMatchObject({ code: "transaction_failed" });
  const { deployment } = await deployCollection(api, caller, launch());
  await h.until(worker, deployment.id, done);
});

test("a factory that is paused before the signature: held with the contract's reason, no nonce is spent", async () => {
  await h.pauseFactory(true);
  const input = launch({ idempotencyKey: "paused" });
  const refused = await deployCollection(api, caller, input).catch((error: unknown) => error);
  await h.pauseFactory(false);
  expect(refused).toMatchObject({
    code: "service_unavailable",
    message: expect.stringContaining("DeploymentsPaused"),
  });
  const { rows } = await api.pool.query("SELECT id FROM service.intent WHERE idem_key = 'client:paused'");
  expect(await findReservation(api.db, rows[0].id)).toBeUndefined();
  await h.until(worker, rows[0].id, done);
});

test("a reorganisation takes the block away: the stored bytes are sent again and give the same address", async () => {
  const slow = h.process({ CONFIRMATIONS_GOERLI: "3" });
  const snapshot = await h.chain.snapshot();
  const { deployment } = await deployCollection(slow, caller, launch());
  await h.until(slow, deployment.id, ["mined"]);
  const lookup = () =>
    findDeployedContract(slow, caller, { chain: "goerli", transactionHash: deployment.transactionHash });
  await expect(lookup()).rejects.toMatchObject({ code: "transaction_pending" });

  await h.chain.revert({ id: snapshot });
  await h.chain.mine({ blocks: 2 });
  await h.until(slow, deployment.id, ["in_flight"]);
  await h.until(slow, deployment.id, ["mined"]);
  await h.chain.mine({ blocks: 2 });
  await h.until(slow, deployment.id, done);
  expect((await lookup()).toLowerCase()).toBe(deployment.contract);
  const intent = await getIntent(slow.db, deployment.id);
  expect(await announcedOf(intent)).toBe(1);
});

test("what stands at the address is compared with the request: code, owner and every setting", async () => {
  const { deployment } = await deployCollection(api, caller, launch());
  await h.until(worker, deployment.id, done);
  const intent = await getIntent(api.db, deployment.id);
  const block = await h.chain.getBlockNumber();
  const check = (changes: Partial<Intent>) =>
    verifyDeployment(api.relay.nodes(goerli(api)), { ...intent, ...changes }, block, deployment.transactionHash);
  expect(await check({})).toBeNull();
  await expect(check({ predicted_addr: Buffer.alloc(20, 9) })).rejects.toThrow("has no code");
  expect(await check({ template: Buffer.alloc(20, 9) })).toContain("not a clone");
  expect(await check({ owner: Buffer.alloc(20, 9) })).toContain("owner");
  const other = await getIntent(api.db, (await deployCollection(api, caller, launch())).deployment.id);
  expect(await check({ init_data: other.init_data })).toContain("configuration");
});

test("the worker's loop outlives a node that goes away", async () => {
  const stop = new AbortController();
  const loop = runRelay(worker, new Rounds(stop.signal));
  const { deployment } = await deployCollection(api, caller, launch());
  h.proxy.goDown();
  // Some rounds of the loop fail.
  await new Promise((wait) => setTimeout(wait, 1_000));
  h.proxy.heal();
  await h.untilState(deployment.id, done);
  stop.abort();
  await loop;
});

test("a database restored from before the signature: the collection is imported, not deployed again", async () => {
  const intent = await accept();
  const restored = await createTestDatabase();
  try {
    const account = await api.pool.query("SELECT * FROM service.account WHERE id = $1", [caller.accountId]);
    const { id, name, tier } = account.rows[0];
    await restored.pool.query("INSERT INTO service.account (id, name, tier) VALUES ($1, $2, $3)", [id, name, tier]);
    const { payload, ...columns } = intent;
    await restored.db
      .insertInto("service.intent")
      .values({ ...columns, payload: JSON.stringify(payload), reserved_wei: 0n })
      .execute();
    await h.until(worker, intent.id, done);
    const { transactionHash } = await getRequest(api, caller, deployments, { id: intent.id });

    const later = h.process({ DATABASE_URL: restored.url });
    await h.until(later, intent.id, done, restored.pool);
    const imported = await getRequest(later, caller, deployments, { id: intent.id });
    expect(imported).toMatchObject({ transactionHash, confirmed: true });
    expect(await announcedOf(intent)).toBe(1);
    expect(await listAttempts(restored.db, intent.id)).toMatchObject([{ kind: "imported" }]);
    const next = await deployCollection(later, caller, launch());
    expect(next.deployment.transactionHash).toMatch(/^0x/);
    await later.pool.end();
  } finally {
    await restored.drop();
  }
});

// Last: the wallet stays closed until an operator has looked.
test("transactions of the paying wallet that are not ours close it", async () => {
  const wallet = createWalletClient({ account: privateKeyToAccount(h.relayerKey), transport: http(h.node.url) });
  const hash = await wallet.sendTransaction({ to: h.relayer, value: 1n, chain: null });
  await h.chain.waitForTransactionReceipt({ hash });
  await expect(deployCollection(api, caller, launch())).rejects.toMatchObject({
    code: "service_unavailable",
    message: expect.stringContaining("not ours"),
  });
  await new Promise((wait) => setTimeout(wait, 5_100));
  await relayRound(worker, goerli(worker), createRelayMemory());
  const { rows } = await api.pool.query("SELECT state FROM service.relayer_wallet");
  expect(rows).toEqual([{ state: "reconcile" }]);
});
