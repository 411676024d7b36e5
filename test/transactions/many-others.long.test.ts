import type { Hash } from "viem";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Caller } from "../../src/auth/caller.ts";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import { Rounds } from "../../src/rounds.ts";
import type { Services } from "../../src/services.ts";
import { cancelIntent } from "../../src/transactions/accept/cancel-intent.ts";
import { listAttempts } from "../../src/transactions/store/nonces.ts";
import { createRelayMemory } from "../../src/transactions/track/loop-steps.ts";
import { runRelay } from "../../src/transactions/track/run-relay.ts";
import { patient } from "../setup/wait.ts";
import { addCrowd, toConfirmed, toInFlight, toMined } from "./crowd.ts";
import { goerli, launch, RelayHarness, randomAddress } from "./harness.ts";
import { relayRound } from "./round.ts";

let h: RelayHarness;
let api: Services;
let worker: Services;
let caller: Caller;

beforeEach(async () => {
  h = await RelayHarness.start();
  api = h.process();
  worker = h.process();
  caller = await h.caller();
  const { deployment } = await deployCollection(api, caller, launch());
  await h.until(worker, deployment.id, ["finalized"]);
});
afterEach(() => h?.stop());

/** A deployment that a node took, and forgot. */
async function deployAndForget(): Promise<{ id: string; hash: Hash }> {
  await h.chain.setAutomine(false);
  const { deployment } = await deployCollection(api, caller, launch());
  const hash = deployment.transactionHash;
  await forget(hash);
  return { id: deployment.id, hash };
}

async function forget(hash: Hash): Promise<void> {
  await expect.poll(() => isKnown(hash), patient).toBe(true);
  // A worker that is at work may have sent it again before the node could be asked.
  const dropped = await h.chain.request({ method: "hardhat_dropTransaction", params: [hash] } as never);
  expect(dropped).toBe(true);
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
  await addCrowd(h, path, wallet());
  const memory = createRelayMemory();
  const poll = async () => {
    await relayRound(worker, goerli(worker), memory);
    return await isKnown(forgotten.hash);
  };
  await expect.poll(poll, { ...patient, interval: 100 }).toBe(true);
  await h.chain.setAutomine(true);
  await h.chain.mine({ blocks: 1 });
  await h.until(worker, forgotten.id, ["finalized"]);
});

test("of thousands that are mined and confirmed, the first and the last become final", async () => {
  const first = await deployCollection(api, caller, launch());
  await addCrowd(h, toMined, randomAddress());
  await addCrowd(h, toConfirmed, randomAddress());
  const last = await deployCollection(api, caller, launch());
  for (const { deployment } of [first, last]) await h.until(worker, deployment.id, ["finalized"]);
});

test("cancelled behind hundreds of open nonces: its own is to be filled with nothing at once", async () => {
  await h.chain.setAutomine(false);
  await addCrowd(h, toInFlight, h.relayer, { count: 400 });
  const { deployment } = await deployCollection(api, caller, launch());
  await cancelIntent(api, caller.accountId, deployment.id);
  await relayRound(worker, goerli(worker), createRelayMemory());
  expect((await listAttempts(api.db, deployment.id)).map(({ kind }) => kind)).toEqual(["cancellation", "deploy"]);
});

test("what a node forgot is sent again while a slow node is asked about hundreds that are mined", async () => {
  const { number, hash } = await h.chain.getBlock();
  await addCrowd(h, toMined, randomAddress(), {
    count: 480,
    block: { number, hash: Buffer.from(hash.slice(2), "hex") },
  });
  await h.chain.setAutomine(false);
  const { deployment } = await deployCollection(api, caller, launch());
  const questions = () => h.proxy.seen.filter((method) => method === "eth_getCode").length;
  const before = questions();
  h.proxy.delay("eth_getCode", 500);
  const stop = new AbortController();
  const working = runRelay(worker, new Rounds(stop.signal));
  try {
    await expect.poll(questions, patient).toBeGreaterThan(before + 8);
    await forget(deployment.transactionHash);
    await expect.poll(() => isKnown(deployment.transactionHash), patient).toBe(true);
    expect(questions() - before).toBeLessThan(480);
  } finally {
    stop.abort();
    h.proxy.heal();
    await working;
  }
});
