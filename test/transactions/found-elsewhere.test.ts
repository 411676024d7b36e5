import { randomBytes, randomUUID } from "node:crypto";
import {
  type Address,
  createTestClient,
  createWalletClient,
  type Hash,
  type Hex,
  http,
  keccak256,
  stringToHex,
} from "viem";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { collectionFactoryAbi } from "../../contracts/abi/collection-factory.ts";
import type { Caller } from "../../src/auth/caller.ts";
import { listCollections } from "../../src/collections/collections.ts";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import { type DeployCollectionInput, deployments } from "../../src/collections/deployment-input.ts";
import { findDeployedContract } from "../../src/collections/find-deployed-contract.ts";
import { updateCollection } from "../../src/collections/update-collection.ts";
import { idOfKey } from "../../src/requests/carry-out.ts";
import { getRequest } from "../../src/requests/requests.ts";
import type { Services } from "../../src/services.ts";
import { storedKey } from "../../src/transactions/accept/accept-intent.ts";
import { encodeDeploy } from "../../src/transactions/chain/request-call.ts";
import { openWallet, reconcileWallet } from "../../src/transactions/operator/mend-wallet.ts";
import { getIntent } from "../../src/transactions/store/intents.ts";
import { listSharedWallets } from "../../src/transactions/submit/reconcile-nonces.ts";
import { createRelayMemory } from "../../src/transactions/track/loop-steps.ts";
import { patient } from "../setup/wait.ts";
import { acceptDeployment } from "./accept.ts";
import { goerli, launch, RelayHarness } from "./harness.ts";
import { relayRound } from "./round.ts";

let h: RelayHarness;
let services: Services;
let caller: Caller;
let holder: Address;
beforeAll(async () => {
  h = await RelayHarness.start();
  services = h.process();
  caller = await h.caller();
  const [admin, other] = (await h.chain.request({ method: "eth_accounts" } as never)) as Address[];
  holder = other ?? h.relayer;
  const hash = await wallet().writeContract({
    account: admin ?? h.relayer,
    address: h.factory.address,
    abi: collectionFactoryAbi,
    functionName: "grantRole",
    args: [keccak256(stringToHex("RELAYER_ROLE")), holder],
    chain: null,
  });
  await h.chain.waitForTransactionReceipt({ hash });
});
afterEach(() => node().setAutomine(true));
afterAll(() => h?.stop());

test("a transaction that was taken for another installation's is ours once its request is known again", async () => {
  const input = launch({ idempotencyKey: "comes-again" });
  const id = idOfKey(caller, storedKey("comes-again"));
  const note = (nonce: number, root: string) =>
    h.database.pool.query(
      `INSERT INTO service.external_transaction (chain_id, addr, nonce, hash, kind, root_id)
       VALUES ($1, decode($2, 'hex'), $3, $4, 'deploy', $5)`,
      [h.node.id, h.relayer.slice(2), nonce, randomBytes(32), root],
    );
  await note(9_001, id);
  expect(await listSharedWallets(h.database.db)).toMatchObject([{ wallet: h.relayer, transactions: 1 }]);
  const { deployment } = await deployCollection(services, caller, input);
  expect(deployment.id).toBe(id);
  expect(await listSharedWallets(h.database.db)).toEqual([]);
  await note(9_002, randomUUID());
  expect(await listSharedWallets(h.database.db)).toMatchObject([{ transactions: 1 }]);
  await h.database.pool.query("DELETE FROM service.external_transaction");
});

const wallet = () => createWalletClient({ transport: http(h.node.url) });
const node = () => createTestClient({ mode: "hardhat", transport: http(h.node.url) });
const accept = async (input: DeployCollectionInput) => await acceptDeployment(services, caller, input);

/** What the second holder of the factory's role sends. */
async function deployAs(id: string, tip: bigint): Promise<Hash> {
  const data: Hex = encodeDeploy(await getIntent(services.db, id));
  const fees = { maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: tip };
  const call = { to: h.factory.address, data, gas: 2_000_000n };
  return await wallet().sendTransaction({ account: holder, ...call, ...fees, chain: null });
}

async function expectFound(id: string, hash: Hash): Promise<void> {
  const memory = createRelayMemory();
  await expect
    .poll(async () => {
      await node().mine({ blocks: 1 });
      await relayRound(services, goerli(services), memory);
      return (await getRequest(services, caller, deployments, { id })).state;
    }, patient)
    .toBe("finalized");
  const { contract, confirmed, transactionHash } = await getRequest(services, caller, deployments, { id });
  expect({ confirmed, transactionHash }).toEqual({ confirmed: true, transactionHash: hash });
  const found = await findDeployedContract(services, caller, { chain: "goerli", transactionHash: hash });
  expect(found.toLowerCase()).toBe(contract);
  // It is a collection like others: listed with the transaction that made it, and it can be changed.
  const { blockNumber: block } = await h.chain.getTransactionReceipt({ hash });
  const listed = await listCollections(services, caller, "goerli", { allowlists: false });
  expect(listed.filter(({ address }) => address === contract)).toMatchObject([{ transactionHash: hash, block }]);
  const change = { chain: "goerli", collection: contract, royaltiesBps: 700n };
  const { update } = await updateCollection(services, caller, change);
  await h.until(services, update.id, ["confirmed", "finalized"]);
}

test("a deployment that another holder of the role sent first ends as that collection", async () => {
  const { id } = await accept(launch());
  const hash = await deployAs(id, 10n ** 9n);
  await expectFound(id, hash);
});

test("a duplicate that the factory refuses ends as the collection that stands, by either hash", async () => {
  await node().setAutomine(false);
  const input = launch({ idempotencyKey: "raced" });
  const { deployment } = await deployCollection(services, caller, input);
  await h.pooled(services, deployment.transactionHash);
  const hash = await deployAs(deployment.id, 10n ** 11n);
  await node().mine({ blocks: 1 });
  await node().setAutomine(true);
  expect((await h.chain.getTransactionReceipt({ hash: deployment.transactionHash })).status).toBe("reverted");
  await expectFound(deployment.id, hash);
  const lookup = { chain: "goerli", transactionHash: deployment.transactionHash };
  expect((await findDeployedContract(services, caller, lookup)).toLowerCase()).toBe(deployment.contract);
  expect((await deployCollection(services, caller, input)).deployment.transactionHash).toBe(hash);
});

test.each(["open", "reconcile", "the worker"])(
  "a request that an older version left mined without its nonce is mended by %s, and a repeat is no fault meanwhile",
  async (mender) => {
    const input = launch({ idempotencyKey: `left by ${mender}`.replaceAll(" ", "-") });
    const { deployment } = await deployCollection(services, caller, input);
    await h.until(services, deployment.id, ["confirmed"]);
    const client = await services.pool.connect();
    await client.query("BEGIN; SET LOCAL session_replication_role = replica");
    await client.query("UPDATE service.nonce_reservation SET intent_id = NULL, found = true WHERE intent_id = $1", [
      deployment.id,
    ]);
    await client.query("UPDATE service.intent SET state = 'mined' WHERE id = $1", [deployment.id]);
    await client.query("COMMIT");
    client.release();
    await expect(deployCollection(services, caller, input)).rejects.toMatchObject({ code: "service_unavailable" });
    await node().mine({ blocks: 3 });
    if (mender === "open") await openWallet(services, goerli(services), h.relayer);
    if (mender === "reconcile") await reconcileWallet(services, goerli(services), h.relayer);
    if (mender === "the worker") await relayRound(services, goerli(services), createRelayMemory());
    const again = await deployCollection(services, caller, input);
    expect(again.deployment).toMatchObject({ state: "finalized", transactionHash: deployment.transactionHash });
  },
);

test("a wallet that an older version halted for a transaction of ours is opened by reconcile", async () => {
  const { deployment } = await deployCollection(services, caller, launch());
  await h.until(services, deployment.id, ["finalized"]);
  const halt = async () => {
    const client = await services.pool.connect();
    await client.query(
      "BEGIN; SET LOCAL session_replication_role = replica; UPDATE service.relayer_wallet SET state = 'halted'",
    );
    await client.query(
      `UPDATE service.nonce_reservation SET state = 'external', mined_block = NULL, mined_block_hash = NULL, mined_attempt = NULL
       WHERE intent_id = $1`,
      [deployment.id],
    );
    await client.query("COMMIT");
    client.release();
  };
  const state = async () => (await services.pool.query("SELECT state FROM service.relayer_wallet")).rows[0].state;
  await halt();
  expect(await reconcileWallet(services, goerli(services), h.relayer)).toMatchObject([
    { hash: deployment.transactionHash, kind: "deploy", explained: true },
  ]);
  expect(await state()).toBe("open");
});
