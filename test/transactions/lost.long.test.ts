import { type Address, createTestClient, type Hash, http, walletActions } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { Caller } from "../../src/auth/caller.ts";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import { deployments } from "../../src/collections/deployment-input.ts";
import { findDeployedContract } from "../../src/collections/find-deployed-contract.ts";
import { getRequest } from "../../src/requests/requests.ts";
import type { Services } from "../../src/services.ts";
import { cancelIntent } from "../../src/transactions/accept/cancel-intent.ts";
import { openWallet } from "../../src/transactions/operator/mend-wallet.ts";
import { getIntent } from "../../src/transactions/store/intents.ts";
import { findReservation } from "../../src/transactions/store/nonces.ts";
import { reconcileNonces } from "../../src/transactions/submit/reconcile-nonces.ts";
import { importDeployment } from "../../src/transactions/submit/recover-request.ts";
import { createRelayMemory } from "../../src/transactions/track/loop-steps.ts";
import { resubmitFound } from "../../src/transactions/track/resubmit-imported.ts";
import { refreshWallets } from "../../src/transactions/track/watch-wallets.ts";
import { patient } from "../setup/wait.ts";
import { acceptDeployment } from "./accept.ts";
import { goerli, launch, RelayHarness } from "./harness.ts";
import { loseRows, nameOnChain } from "./lost-rows.ts";
import { relayRound } from "./round.ts";

let h: RelayHarness;
let caller: Caller;
const done = ["confirmed", "finalized"];

beforeAll(async () => {
  h = await RelayHarness.start();
  caller = await h.caller();
  const services = h.process();
  const { deployment } = await deployCollection(services, caller, launch());
  await h.until(services, deployment.id, done);
});
afterEach(async () => {
  await mining(true);
});
afterAll(() => h?.stop());

const node = () => createTestClient({ mode: "hardhat", transport: http(h.node.url) }).extend(walletActions);
const mining = (on: boolean) => node().setAutomine(on);
const bytesOf = async (hash: Hash) =>
  (await h.database.pool.query("SELECT raw FROM service.attempt WHERE hash = $1", [Buffer.from(hash.slice(2), "hex")]))
    .rows[0].raw as Buffer;
const walletState = async () => (await h.database.pool.query("SELECT state FROM service.relayer_wallet")).rows[0].state;
const times = async (id: string) => (await h.announced()).filter(({ intentId }) => intentId === nameOnChain(id)).length;

async function sent(hash: string): Promise<void> {
  await expect.poll(() => h.chain.getTransaction({ hash: hash as Hash }).catch(() => null), patient).not.toBeNull();
}

/** Blocks and worker rounds until a deployment is done. */
async function until(services: Services, id: string): Promise<void> {
  const memory = createRelayMemory();
  await h.untilState(id, done, async () => {
    await node().mine({ blocks: 1 });
    await relayRound(services, goerli(services), memory);
  });
}

async function expectConfirmed(services: Services, id: string, hash: string): Promise<void> {
  const { contract, confirmed, transactionHash } = await getRequest(services, caller, deployments, { id });
  expect({ confirmed, transactionHash }).toEqual({ confirmed: true, transactionHash: hash });
  expect(await times(id)).toBe(1);
  const found = await findDeployedContract(services, caller, { chain: "goerli", transactionHash: hash });
  expect(found.toLowerCase() as Address).toBe(contract);
}

test("a nonce that waits in a mempool is not given to another request after its rows were lost", async () => {
  const before = h.process();
  await mining(false);
  const lost = launch({ idempotencyKey: "lost-in-the-pool" });
  const first = await deployCollection(before, caller, lost);
  await sent(first.deployment.transactionHash);
  await loseRows(h.database.pool, [first.deployment.id], h.relayer);

  const after = h.process();
  const other = await deployCollection(after, caller, launch());
  await sent(other.deployment.transactionHash);
  const taken = await h.chain.getTransaction({ hash: first.deployment.transactionHash });
  const given = await findReservation(after.db, other.deployment.id);
  expect(given?.nonce).toBe(BigInt(taken.nonce) + 1n);
  await until(after, other.deployment.id);
  expect(await walletState()).toBe("open");
  await expectConfirmed(after, other.deployment.id, other.deployment.transactionHash);

  const again = await deployCollection(after, caller, lost);
  await until(after, again.deployment.id);
  await expectConfirmed(after, again.deployment.id, first.deployment.transactionHash);
});

test("a request that comes back while its lost transaction waits in a mempool that shows nothing is that transaction", async () => {
  const before = h.process();
  await mining(false);
  const lost = launch({ idempotencyKey: "back-before-it-is-mined" });
  const { id, transactionHash } = (await deployCollection(before, caller, lost)).deployment;
  await sent(transactionHash);
  await loseRows(h.database.pool, [id], h.relayer);

  const after = h.process();
  await expect(deployCollection(after, caller, lost)).rejects.toMatchObject({ code: "service_unavailable" });
  await until(after, id);
  expect((await deployCollection(after, caller, lost)).deployment.transactionHash).toBe(transactionHash);
  await expectConfirmed(after, id, transactionHash);
  await until(after, (await deployCollection(after, caller, launch())).deployment.id);
  expect(await walletState()).toBe("open");
});

test("a nonce that an endpoint counts and nobody has bytes of is filled, and those behind it are mined", async () => {
  const before = h.process();
  await mining(false);
  const lost = await deployCollection(before, caller, launch());
  await sent(lost.deployment.transactionHash);
  await loseRows(h.database.pool, [lost.deployment.id], h.relayer);
  const after = h.process();
  const other = await deployCollection(after, caller, launch());
  await sent(other.deployment.transactionHash);
  await node().dropTransaction({ hash: lost.deployment.transactionHash });
  await until(after, other.deployment.id);
  await expectConfirmed(after, other.deployment.id, other.deployment.transactionHash);
  expect(await times(lost.deployment.id)).toBe(0);
  const { rows } = await h.database.pool.query(
    "SELECT max(nonce) - min(nonce) + 1 = count(*) AS dense, bool_and(state = 'mined' OR state = 'external') AS used FROM service.nonce_reservation",
  );
  expect(rows).toEqual([{ dense: true, used: true }]);
});

test("two workers that fill the same nonce at once sign one transaction for it", async () => {
  const before = h.process();
  await mining(false);
  const lost = await deployCollection(before, caller, launch());
  await sent(lost.deployment.transactionHash);
  const nonce = (await findReservation(before.db, lost.deployment.id))?.nonce;
  await loseRows(h.database.pool, [lost.deployment.id], h.relayer);
  const workers = [h.process(), h.process()].map((services) => ({ services, memory: createRelayMemory(60_000) }));
  await reconcileNonces(before, goerli(before), h.relayer);
  await node().dropTransaction({ hash: lost.deployment.transactionHash });
  // Each looked at the chain when its fees were others.
  for (const { services, memory } of workers) {
    await node().setNextBlockBaseFeePerGas({
      baseFeePerGas: memory === workers[0]?.memory ? 10n ** 9n : 3n * 10n ** 9n,
    });
    await node().mine({ blocks: 1 });
    await refreshWallets(services, goerli(services), memory);
  }
  const count = async () => {
    await Promise.all(workers.map(({ services, memory }) => resubmitFound(services, goerli(services), memory)));
    const { rows } = await h.database.pool.query("SELECT FROM service.attempt WHERE nonce = $1", [nonce]);
    return rows.length;
  };
  await expect.poll(count, patient).toBeGreaterThan(0);
  expect(await count()).toBe(1);
  // The one that looked when fees were lower may have signed it; nothing behind it is mined before it.
  await node().setNextBlockBaseFeePerGas({ baseFeePerGas: 10n ** 8n });
  await node().mine({ blocks: 1 });
  expect(await h.chain.getTransactionCount({ address: h.relayer })).toBe(Number(nonce) + 1);
});

test.each(["lost", "there, without its nonce"])(
  "a lost transaction that no endpoint showed takes another request's nonce: both end, the wallet goes on (its row is %s)",
  async (row) => {
    const before = h.process();
    await mining(false);
    const lost = launch({ idempotencyKey: `unseen ${row}`.replaceAll(/\W+/g, "-") });
    const first = await deployCollection(before, caller, lost);
    const { transactionHash: hash, id } = first.deployment;
    await sent(hash);
    const bytes = await bytesOf(hash);
    await node().dropTransaction({ hash });
    await loseRows(h.database.pool, [id], h.relayer, row === "lost" ? "nothing" : "requests");

    const after = h.process();
    const other = await deployCollection(after, caller, launch());
    await sent(other.deployment.transactionHash);
    // The request may still be sending: what is dropped can be there again before the lost one is.
    const takesTheNonce = async () => {
      await node()
        .dropTransaction({ hash: other.deployment.transactionHash })
        .catch(() => undefined);
      await node()
        .sendRawTransaction({ serializedTransaction: `0x${bytes.toString("hex")}` })
        .catch(() => undefined);
      return await h.chain.getTransaction({ hash }).then(
        () => true,
        () => false,
      );
    };
    await expect.poll(takesTheNonce, patient).toBe(true);
    await node().mine({ blocks: 1 });
    expect((await h.chain.getTransactionReceipt({ hash })).status).toBe("success");

    // It is asked for again before anybody has looked at what took the nonce.
    const again = await deployCollection(after, caller, lost);
    expect(again.deployment.id).toBe(id);
    const { rows } = await after.pool.query("SELECT id FROM service.intent WHERE root_id = $1", [other.deployment.id]);
    expect(rows).toHaveLength(1);
    await untilNewest(after, other.deployment.id);
    await until(after, id);
    await expectConfirmed(after, id, hash);
    // Its first hash leads to it as well, whatever became of that nonce.
    const { contract } = await getRequest(after, caller, deployments, { id: other.deployment.id });
    const found = await findDeployedContract(after, caller, {
      chain: "goerli",
      transactionHash: other.deployment.transactionHash,
    });
    expect(found.toLowerCase()).toBe(contract);
    expect(await times(other.deployment.id)).toBe(1);
    expect(await walletState()).toBe("open");
    // A repeat of either is answered, not broken.
    expect((await deployCollection(after, caller, lost)).deployment.transactionHash).toBe(hash);
  },
);

test("a wallet whose lost transactions cannot be read for a while stays open, and goes on when they can be", async () => {
  const before = h.process();
  const lost = launch({ idempotencyKey: "mined-and-unreadable" });
  const { id, transactionHash } = (await deployCollection(before, caller, lost)).deployment;
  await until(before, id);
  await loseRows(h.database.pool, [id], h.relayer);

  const after = h.process();
  h.proxy.loseAnswers("eth_getTransactionReceipt");
  const other = launch({ idempotencyKey: "behind-the-unreadable" });
  await acceptDeployment(after, caller, { ...other, idempotencyKey: "behind-the-unreadable" });
  const reads = () => h.proxy.seen.filter((method) => method === "eth_getTransactionReceipt").length;
  const enough = reads() + 3;
  await expect
    .poll(() => relayRound(after, goerli(after), createRelayMemory()).then(reads), patient)
    .toBeGreaterThanOrEqual(enough);
  expect(await walletState()).toBe("open");

  h.proxy.heal();
  const next = await deployCollection(after, caller, other);
  await until(after, next.deployment.id);
  const again = await deployCollection(after, caller, lost);
  await until(after, again.deployment.id);
  await expectConfirmed(after, id, transactionHash);
});

/** The same for a request that may go on as a retry. */
async function untilNewest(services: Services, id: string): Promise<void> {
  const memory = createRelayMemory();
  await expect
    .poll(async () => {
      await node().mine({ blocks: 1 });
      await relayRound(services, goerli(services), memory);
      return (await getRequest(services, caller, deployments, { id })).state;
    }, patient)
    .toBe("finalized");
}

test.each(["is asked for again at once", "is recorded first"])(
  "a lost nonce below one that was taken over is not forgotten; its request %s and gives what stands",
  async (order) => {
    const before = h.process();
    const name = order.replaceAll(" ", "-");
    const lower = launch({ idempotencyKey: `lower-${name}` });
    const upper = launch({ idempotencyKey: `upper-${name}` });
    const first = (await deployCollection(before, caller, lower)).deployment;
    const second = (await deployCollection(before, caller, upper)).deployment;
    const nonce = (await findReservation(before.db, first.id))?.nonce ?? 0n;
    await until(before, second.id);
    await loseRows(h.database.pool, [first.id, second.id], h.relayer);

    const after = h.process();
    const again = (await deployCollection(after, caller, upper)).deployment;
    expect(again.transactionHash).toBe(second.transactionHash);
    expect(await findReservation(after.db, second.id)).toMatchObject({ nonce: nonce + 1n, state: "mined" });
    const stored = async () => {
      const { rows } = await h.database.pool.query(
        `SELECT s.intent_id, s.state, s.found_root, '0x' || encode(a.hash, 'hex') AS hash FROM service.nonce_reservation s
         LEFT JOIN service.attempt a USING (chain_id, addr, nonce) WHERE s.nonce = $1`,
        [nonce],
      );
      return rows;
    };
    expect(await stored()).toEqual([{ intent_id: null, state: "open", found_root: null, hash: null }]);
    if (order === "is recorded first") {
      const memory = createRelayMemory();
      const poll = async () => {
        await node().mine({ blocks: 1 });
        await relayRound(after, goerli(after), memory);
        return await stored();
      };
      const recorded = { intent_id: null, state: "mined", found_root: first.id, hash: first.transactionHash };
      await expect.poll(poll, patient).toEqual([recorded]);
    }
    expect((await deployCollection(after, caller, lower)).deployment.transactionHash).toBe(first.transactionHash);
    await until(after, first.id);
    expect(await stored()).toMatchObject([{ intent_id: first.id, state: "mined", hash: first.transactionHash }]);
    await expectConfirmed(after, first.id, first.transactionHash);
    await expectConfirmed(after, second.id, second.transactionHash);
    expect(await walletState()).toBe("open");
  },
);

test("a request that is cancelled while its lost transaction is looked up takes no nonce", async () => {
  const services = h.process();
  const { id, transactionHash } = (await deployCollection(services, caller, launch())).deployment;
  await h.chain.waitForTransactionReceipt({ hash: transactionHash });
  await loseRows(h.database.pool, [id], h.relayer, "requests");
  const seen = await getIntent(services.db, id);
  await cancelIntent(services, caller.accountId, id);
  expect(await importDeployment(services, goerli(services), seen)).toMatchObject({ id, state: "cancelled" });
  expect(await findReservation(services.db, id)).toBeUndefined();
});

test("a wallet that a person opens stays open, although somebody else has used a nonce that was found", async () => {
  await mining(false);
  const thief = privateKeyToAccount(h.relayerKey);
  const nonce = await h.chain.getTransactionCount({ address: h.relayer, blockTag: "pending" });
  const fees = { maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 10n ** 10n };
  const stolen = { chainId: goerli(h.process()).id, to: h.relayer, value: 1n, gas: 21_000n, nonce, ...fees };
  await h.chain.sendRawTransaction({ serializedTransaction: await thief.signTransaction(stolen) });

  // The node counts it and shows no mempool, so nobody knows yet whose it is.
  const services = h.process();
  await deployCollection(services, caller, launch());
  const found = async () =>
    (
      await h.database.pool.query(
        "SELECT state FROM service.nonce_reservation WHERE nonce = $1 AND intent_id IS NULL",
        [nonce],
      )
    ).rows;
  expect(await found()).toEqual([{ state: "open" }]);
  const memory = createRelayMemory();
  const poll = async () => {
    await node().mine({ blocks: 1 });
    await relayRound(services, goerli(services), memory);
    return await walletState();
  };
  await expect.poll(poll, patient).toBe("reconcile");
  expect(await openWallet(services, goerli(services), h.relayer)).toMatchObject({ skipped: 1n });
  for (const end = Date.now() + 3_000; Date.now() < end; ) expect(await poll()).toBe("open");
  expect(await found()).toEqual([{ state: "external" }]);
});
