import { createWalletClient, http, parseEther, parseTransaction } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { Caller } from "../../src/auth/caller.ts";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import { deployments } from "../../src/collections/deployment-input.ts";
import { findDeployedContract } from "../../src/collections/find-deployed-contract.ts";
import { toHash, toHex } from "../../src/db/bytes.ts";
import { getRequest, listRequests } from "../../src/requests/requests.ts";
import type { Services } from "../../src/services.ts";
import { cancelIntent } from "../../src/transactions/accept/cancel-intent.ts";
import { explainIntent } from "../../src/transactions/accept/explain-intent.ts";
import { getIntent } from "../../src/transactions/store/intents.ts";
import { listAttempts } from "../../src/transactions/store/nonces.ts";
import { createRelayMemory } from "../../src/transactions/track/loop-steps.ts";
import { goerli, launch, RelayHarness } from "./harness.ts";
import { relayRound } from "./round.ts";

let h: RelayHarness;
let api: Services;
let worker: Services;
let caller: Caller;
const done = ["confirmed", "finalized"];

beforeAll(async () => {
  h = await RelayHarness.start();
  api = h.process();
  worker = h.process();
  caller = await h.caller();
});
afterAll(() => h?.stop());
afterEach(async () => {
  await h.chain.setAutomine(true);
});

/** Blocks of nothing: the pool's transactions are too cheap for them. */
async function mineEmpty(blocks: number): Promise<void> {
  for (let block = 0; block < blocks; block += 1) {
    await h.chain.setNextBlockBaseFeePerGas({ baseFeePerGas: parseEther("0.000001") });
    await h.chain.mine({ blocks: 1 });
  }
}

test("a transaction that has become too cheap is replaced, and every hash ever shown resolves", async () => {
  await h.chain.setAutomine(false);
  const { deployment } = await deployCollection(api, caller, launch());
  const memory = createRelayMemory();
  await relayRound(worker, goerli(worker), memory);
  for (let tries = 0; (await listAttempts(api.db, deployment.id)).length < 2; tries += 1) {
    if (tries > 20) throw new Error("never replaced");
    await mineEmpty(1);
    await relayRound(worker, goerli(worker), memory);
  }
  const [second, first] = (await listAttempts(api.db, deployment.id)).map((attempt) => ({
    ...parseTransaction(toHex(attempt.raw)),
    hash: toHash(attempt.hash),
  }));
  if (!first || !second) throw new Error("two attempts are wanted");
  expect(second).toMatchObject({ nonce: first.nonce, to: first.to, data: first.data, gas: first.gas });
  expect((second.maxFeePerGas ?? 0n) * 8n).toBeGreaterThanOrEqual((first.maxFeePerGas ?? 0n) * 9n);
  expect((second.maxPriorityFeePerGas ?? 0n) * 8n).toBeGreaterThanOrEqual((first.maxPriorityFeePerGas ?? 0n) * 9n);
  await h.chain.setAutomine(true);
  await h.chain.mine({ blocks: 1 });
  await h.until(worker, deployment.id, ["finalized"]);
  const story = (await explainIntent(api.db, first.hash))?.join("\n") ?? "";
  for (const words of [
    "finalized: done for good",
    first.hash,
    second.hash,
    "reported accepted",
    `nonce      ${first.nonce} of`,
  ])
    expect(story).toContain(words);
  expect(await explainIntent(api.db, deployment.contract)).toEqual(story.split("\n"));
  expect(await explainIntent(api.db, "nothing")).toBeNull();
  for (const transactionHash of [first.hash, second.hash]) {
    const address = await findDeployedContract(api, caller, { chain: "goerli", transactionHash });
    expect(address.toLowerCase()).toBe(deployment.contract);
  }
});

test("at the fee cap nothing is signed and nothing fails: it waits, says why, and lands when fees fall", async () => {
  await h.chain.setAutomine(false);
  const capped = h.process({ MAX_FEE_GWEI_GOERLI: "3" });
  await h.chain.setNextBlockBaseFeePerGas({ baseFeePerGas: 10n ** 9n });
  await h.chain.mine({ blocks: 1 });
  const { deployment } = await deployCollection(capped, caller, launch());
  const memory = createRelayMemory();
  for (let round = 0; (await getIntent(api.db, deployment.id)).hold_reason !== "fee"; round += 1) {
    if (round > 20) throw new Error("never at the cap");
    await mineEmpty(1);
    await relayRound(capped, goerli(capped), memory);
  }
  expect((await getIntent(api.db, deployment.id)).state).toBe("in_flight");
  for (const { max_fee } of await listAttempts(api.db, deployment.id))
    expect(BigInt(max_fee)).toBeLessThanOrEqual(3n * 10n ** 9n);
  await h.chain.setNextBlockBaseFeePerGas({ baseFeePerGas: 10n ** 8n });
  await h.chain.setAutomine(true);
  await h.chain.mine({ blocks: 1 });
  await h.until(capped, deployment.id, done);
});

test("cancelled in flight: a transaction that does nothing takes the nonce, and no collection is made", async () => {
  await h.chain.setAutomine(false);
  const before = (await h.announced()).length;
  const { deployment } = await deployCollection(api, caller, launch());
  expect((await cancelIntent(api, caller.accountId, deployment.id)).cancel_requested_at).not.toBeNull();
  const memory = createRelayMemory();
  for (let round = 0; (await listAttempts(api.db, deployment.id)).length < 2; round += 1) {
    if (round > 20) throw new Error("no empty transaction");
    await relayRound(worker, goerli(worker), memory);
  }
  await h.chain.setAutomine(true);
  await h.chain.mine({ blocks: 1 });
  await h.until(worker, deployment.id, ["cancelled"]);
  expect((await h.announced()).length).toBe(before);
  const next = await deployCollection(api, caller, launch());
  await h.until(worker, next.deployment.id, done);
});

test("what is reserved is within the limit, and the receipt gives back what it did not cost", async () => {
  const { deployment: usual } = await deployCollection(api, caller, launch());
  await h.until(worker, usual.id, done);
  // Room for four and a half of them.
  const budget = (Number((await getIntent(api.db, usual.id)).reserved_wei) * 4.5) / 1e18;
  const tight = h.process({ BUDGET_TENANT_DAY_GOERLI: budget.toFixed(18), MAX_FEE_GWEI_GOERLI: "300" });
  const poor = await h.caller();
  const answers = await Promise.allSettled(Array.from({ length: 12 }, () => deployCollection(tight, poor, launch())));
  const accepted = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value.deployment] : []));
  expect(accepted.length).toBeGreaterThan(0);
  expect(accepted.length).toBeLessThan(12);
  for (const answer of answers)
    if (answer.status === "rejected") expect(answer.reason).toMatchObject({ code: "rate_limit_exceeded" });
  for (const { id } of accepted) await h.until(tight, id, ["finalized"]);
  const { rows } = await api.pool.query("SELECT reserved, spent FROM service.budget WHERE scope LIKE $1", [
    `tenant:${poor.accountId}%`,
  ]);
  let cost = 0n;
  for (const { transactionHash } of accepted) {
    const receipt = await h.chain.getTransactionReceipt({ hash: transactionHash });
    cost += receipt.gasUsed * receipt.effectiveGasPrice;
  }
  expect(rows).toEqual([{ reserved: "0", spent: cost.toString() }]);
});

/** A deployment whose nonce somebody else uses, who has the wallet's key; its wallet is halted then. */
async function losesItsNonce(idempotencyKey: string) {
  await h.chain.setAutomine(false);
  const { deployment } = await deployCollection(api, caller, launch({ idempotencyKey }));
  const [attempt] = await listAttempts(api.db, deployment.id);
  const wallet = createWalletClient({ account: privateKeyToAccount(h.relayerKey), transport: http(h.node.url) });
  await wallet.sendTransaction({
    to: h.relayer,
    value: 1n,
    chain: null,
    nonce: Number(attempt?.nonce ?? 0n),
    maxFeePerGas: parseEther("0.0000001"),
    maxPriorityFeePerGas: parseEther("0.0000001"),
  });
  await h.chain.mine({ blocks: 1 });
  await h.chain.setAutomine(true);
  await h.until(worker, deployment.id, ["retried"]);
  const { rows } = await api.pool.query(
    "SELECT id, retry_number, state FROM service.intent WHERE root_id = $1 AND retry_number = 1",
    [deployment.id],
  );
  return { deployment, retryId: String(rows[0].id) };
}

// The last two: their wallet is halted.
test("a nonce used by somebody else: the wallet halts, and the request goes on under the same address", async () => {
  const { deployment, retryId } = await losesItsNonce("stolen");
  const states = await api.pool.query("SELECT state FROM service.relayer_wallet");
  expect(states.rows).toEqual([{ state: "halted" }]);
  // A person looked, and opens the wallet again.
  await api.pool.query("UPDATE service.relayer_wallet SET state = 'open'");
  await h.until(worker, retryId, done);
  expect(await h.chain.getCode({ address: deployment.contract })).toBeDefined();
  // Whoever holds the first answer finds the collection: by its hash, by its id, and once in the list.
  const lookUp = { chain: "goerli", transactionHash: deployment.transactionHash };
  expect((await findDeployedContract(api, caller, lookUp)).toLowerCase()).toBe(deployment.contract);
  const shown = await getRequest(api, caller, deployments, { id: deployment.id });
  expect(shown).toMatchObject({ id: retryId, contract: deployment.contract, confirmed: true });
  const { items } = await listRequests(api, caller, deployments, { first: 100 });
  const named = items.filter(({ node }) => node.contract === deployment.contract);
  expect(named.map(({ node }) => node.id)).toEqual([retryId]);
});

test("a retry that could not be sent in time is reported as failed to whoever has the first hash", async () => {
  const { deployment, retryId } = await losesItsNonce("stolen-late");
  const lookUp = { chain: "goerli", transactionHash: deployment.transactionHash };
  await expect(findDeployedContract(api, caller, lookUp)).rejects.toMatchObject({ code: "transaction_pending" });
  const past =
    "UPDATE service.intent SET expires_at = clock_timestamp() - interval '1 second', version = version + 1 WHERE id = $1";
  await api.pool.query(past, [retryId]);
  await h.until(worker, retryId, ["expired"]);
  const late = { code: "transaction_failed", message: expect.stringContaining("could not be sent in time") };
  await expect(findDeployedContract(api, caller, lookUp)).rejects.toMatchObject(late);
});
