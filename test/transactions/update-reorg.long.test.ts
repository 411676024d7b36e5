import { randomUUID } from "node:crypto";
import { type Address, bytesToHex, type Hash, toHex } from "viem";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import { toBytes, toHash } from "../../src/db/bytes.ts";
import { cancelIntent } from "../../src/transactions/accept/cancel-intent.ts";
import { untilSigned } from "../../src/transactions/accept/until-signed.ts";
import { verifyDeployment } from "../../src/transactions/chain/verify-deployment.ts";
import { getIntent, type Intent, moveIntent, newestRetry } from "../../src/transactions/store/intents.ts";
import { findReservation, listAttempts } from "../../src/transactions/store/nonces.ts";
import type { ConfigChanges } from "../../src/transactions/store/payloads.ts";
import { waitForTurn } from "../../src/transactions/store/turns.ts";
import { submitIntent } from "../../src/transactions/submit/submit-intent.ts";
import { rpc } from "../chaos/fleet.ts";
import { RelayFixture, TestNodes } from "../chaos/relay-fixture.ts";
import { patient, slowness } from "../setup/wait.ts";
import { acceptUpdate } from "./accept.ts";
import { giveNonce } from "./older-nonce.ts";

vi.setConfig({ testTimeout: 240_000 * slowness });

let nodes: TestNodes;
let fixture: RelayFixture;
beforeAll(async () => {
  nodes = await TestNodes.start();
});
beforeEach(async () => {
  fixture = await RelayFixture.setUp(nodes, { factory: {}, wallets: 2, env: { FINALITY_GOERLI: "50" } });
});
afterEach(() => fixture?.tearDown());
afterAll(() => nodes?.stop());

test("an update is not made from a branch that lacks the one before it, which a reorganisation took: both hold", async () => {
  const contract = await collection("Branches");
  const first = await update(contract, { royaltiesBps: 777n });
  await until(first.id, ["confirmed"]);
  await takeAway(first);
  const second = await acceptOne(contract, { publicMintStart: 1_700_000_000n });
  const soon = await submitIntent(fixture.services, fixture.chain, second);
  expect(soon).toMatchObject({ kind: "waiting", reason: "the node does not have this contract's last update" });
  await until(first.id, ["finalized"]);
  await until(second.id, ["finalized"]);
  expect(await configOf(contract)).toMatchObject({ royaltiesBps: 777n, publicMintStart: 1_700_000_000n });
});

test("updates that are built on one that is mined hold, each once and in their order, when its block is taken", async () => {
  const contract = await collection("Built upon");
  const first = await update(contract, { royaltiesBps: 777n, prerevealTokenUri: "ipfs://first" });
  await until(first.id, ["mined"]);
  const second = await update(contract, { royaltiesBps: 778n });
  await until(second.id, ["mined"]);
  const third = await update(contract, { publicMintStart: 1_700_000_000n });
  // Neither is built upon by another wallet, whose nonces keep no order with theirs.
  const turns = fixture.wallets.map((wallet) => waitForTurn(fixture.services.db, third, toBytes(wallet), null));
  expect(await Promise.all(turns)).toEqual([null, "an earlier update of this contract is under way"]);
  await takeAway(first);
  for (const { id } of [first, second, third]) await until(id, ["finalized"]);
  const all = { royaltiesBps: 778n, prerevealTokenURI: "ipfs://first", publicMintStart: 1_700_000_000n };
  expect(await configOf(contract)).toMatchObject(all);
  const { rows } = await fixture.database.pool.query(
    `SELECT i.id FROM service.intent i JOIN service.nonce_reservation s ON s.intent_id = i.id
     WHERE i.kind = 'update' ORDER BY s.mined_block, s.nonce`,
  );
  expect(rows.map(({ id }) => id)).toEqual([first.id, second.id, third.id]);
});

test("one that was to be cancelled is not built upon before it is confirmed", async () => {
  const contract = await collection("To be cancelled");
  const first = await update(contract, { royaltiesBps: 666n });
  const [attempt] = await listAttempts(fixture.services.db, first.id);
  const known = () => rpc(nodes.url, "eth_getTransactionByHash", [toHash(attempt?.hash ?? Buffer.alloc(0))]);
  await expect.poll(known, patient).not.toBeNull();
  await cancelIntent(fixture.services, fixture.caller.accountId, first.id);
  await until(first.id, ["mined"]);
  const second = await acceptOne(contract, { publicMintStart: 1_700_000_000n });
  const soon = await submitIntent(fixture.services, fixture.chain, second);
  expect(soon).toMatchObject({ kind: "waiting", reason: "an earlier update of this contract is under way" });
  await until(second.id, ["finalized"]);
  expect(await configOf(contract)).toMatchObject({ royaltiesBps: 666n, publicMintStart: 1_700_000_000n });
});

test.each(["mined", "confirmed"])(
  "an update that has its nonce waits for those ahead of it that a reorganisation took, %s before: both hold",
  async (state) => {
    const contract = await collection("Ahead");
    const first = await update(contract, { royaltiesBps: 555n });
    await until(first.id, [state]);
    const accepted = await assigned(contract, { publicMintStart: 1_600_000_000n });
    await takeAway(first);
    await fixture.work();
    expect((await getIntent(fixture.services.db, first.id)).state).toBe("in_flight");
    const soon = await submitIntent(fixture.services, fixture.chain, await getIntent(fixture.services.db, accepted.id));
    expect(soon).toMatchObject({ kind: "waiting", reason: "an earlier update of this contract is under way" });
    await expect(cancelIntent(fixture.services, fixture.caller.accountId, first.id)).rejects.toThrow(
      /contains its changes/,
    );
    await until(first.id, ["finalized"]);
    await until(accepted.id, ["finalized"]);
    expect(await configOf(contract)).toMatchObject({ royaltiesBps: 555n, publicMintStart: 1_600_000_000n });
  },
);

test.each([
  ["a block before its collection", false],
  ["one block with its collection, ahead of it", true],
])("an update that was mined again in %s did nothing: it is repeated, and holds", async (where, together) => {
  const { pool } = fixture.database;
  const { id, address, own } = await deployedByOther(`Behind ${where}`);
  // Of what is mined together, the higher fee comes first.
  await rpc(nodes.url, "anvil_setNextBlockBaseFeePerGas", [toHex(10n ** 11n)]);
  await fixture.mine();
  const first = await update(address, { royaltiesBps: 321n });
  await until(first.id, ["mined"]);
  await takeBlocksSince(id);
  await rpc(nodes.url, "anvil_setNextBlockBaseFeePerGas", [toHex(7n)]);
  const [attempt] = await listAttempts(fixture.services.db, first.id);
  if (together) await fixture.work();
  else await rpc(nodes.url, "eth_sendRawTransaction", [bytesToHex(attempt?.raw ?? Buffer.alloc(0))]);
  await fixture.mine();
  const blind = await receiptOf(toHash(attempt?.hash ?? Buffer.alloc(0)));
  if (!together) {
    await fixture.work();
    await fixture.mine();
  }
  const late = await receiptOf(own);
  // The scenario was what it is meant to be.
  expect(blind.status).toBe("success");
  expect(late.blockNumber - blind.blockNumber).toBe(together ? 0n : 1n);
  if (together) expect(late.transactionIndex).toBeGreaterThan(blind.transactionIndex);
  await until(first.id, ["retried"]);
  const next = await newestRetry(fixture.services.db, await getIntent(fixture.services.db, first.id));
  await until(next.id, ["finalized"]);
  const retries = await pool.query(
    "SELECT retry_number, state FROM service.intent WHERE root_id = $1 ORDER BY retry_number",
    [first.id],
  );
  expect(retries.rows).toEqual([
    { retry_number: 0, state: "retried" },
    { retry_number: 1, state: "finalized" },
  ]);
  expect((await configOf(address)).royaltiesBps).toBe(321n);
  const states = await pool.query("SELECT DISTINCT state FROM service.relayer_wallet");
  expect(states.rows).toEqual([{ state: "open" }]);
  const left = await pool.query("SELECT FROM service.budget WHERE reserved <> 0");
  expect(left.rowCount).toBe(0);
});

test("an update that is repeated behind a later one takes nothing of it back, on the chain and in what is shown", async () => {
  const { id, address } = await deployedByOther("Superseded");
  const first = await update(address, { publicMintStart: 1_600_000_001n });
  await until(first.id, ["confirmed"]);
  const second = await update(address, { publicMintStart: 1_600_000_002n });
  await until(second.id, ["mined"]);
  await takeBlocksSince(id);
  // Again, and the first update ahead of its collection.
  for (const of of [first.id, id, second.id]) {
    const [attempt] = await listAttempts(fixture.services.db, of);
    await rpc(nodes.url, "eth_sendRawTransaction", [bytesToHex(attempt?.raw ?? Buffer.alloc(0))]);
    await fixture.mine();
  }
  await until(first.id, ["retried"]);
  const next = await newestRetry(fixture.services.db, await getIntent(fixture.services.db, first.id));
  await until(next.id, ["finalized"]);
  await until(second.id, ["finalized"]);
  expect(await minedBlock(next.id)).toBeGreaterThan(await minedBlock(second.id));
  expect(await configOf(address)).toMatchObject({ publicMintStart: 1_600_000_002n });
  const shown = await fixture.database.pool.query("SELECT settings FROM service.collection WHERE address = $1", [
    toBytes(address),
  ]);
  expect(shown.rows[0].settings).toMatchObject({ publicMintStart: "1600000002" });
});

test("an update that a later one contains is not cancelled any more; one that is cancelled is not repeated", async () => {
  const contract = await collection("Cancelled");
  const first = await update(contract, { royaltiesBps: 111n });
  await until(first.id, ["confirmed"]);
  const second = await update(contract, { publicMintStart: 1_650_000_000n });
  await takeAway(first);
  await fixture.work();
  expect((await getIntent(fixture.services.db, first.id)).state).toBe("in_flight");
  const cancel = (id: string) => cancelIntent(fixture.services, fixture.caller.accountId, id);
  await expect(cancel(first.id)).rejects.toThrow(/a later update of this contract contains its changes/);
  await cancel(second.id);
  // As if a third party had taken its nonce before the transaction that does nothing.
  const doomed = await moveIntent(
    fixture.services.db,
    await getIntent(fixture.services.db, second.id),
    "nonce_conflict",
  );
  await fixture.work();
  const over = await newestRetry(fixture.services.db, await getIntent(fixture.services.db, doomed?.id ?? ""));
  expect(over).toMatchObject({ root_id: second.id, retry_number: 1, state: "cancelled" });
  await until(first.id, ["finalized"]);
});

test("an update whose collection is gone is refused, and a nonce that it has is not kept waiting by it", async () => {
  const contract = await collection("Gone");
  const second = await assigned(contract, { publicMintStart: 1_650_000_000n });
  await rpc(nodes.url, "anvil_setCode", [contract, "0x"]);
  await fixture.mine();
  const soon = await submitIntent(fixture.services, fixture.chain, second);
  expect(soon).toMatchObject({
    kind: "held",
    reason: "the contract would refuse it: no collection stands at its address",
  });
});

test("an update that has its nonce is not signed with what another block than the newest update's had: both hold", async () => {
  const contract = await collection("Superseded");
  const first = await update(contract, { royaltiesBps: 444n });
  await until(first.id, ["confirmed"]);
  const second = await assigned(contract, { publicMintStart: 1_650_000_000n });
  const place = (hash: Buffer | null | undefined) =>
    fixture.database.pool.query("UPDATE service.nonce_reservation SET mined_block_hash = $1 WHERE intent_id = $2", [
      hash,
      first.id,
    ]);
  const hash = (await findReservation(fixture.services.db, first.id))?.mined_block_hash;
  const asked = () => fixture.proxy.met.get("answer-slow") ?? 0;
  const before = asked();
  fixture.proxy.forced = "answer-slow";
  const submission = submitIntent(fixture.services, fixture.chain, second);
  // While the node answers, another worker records that the first one was mined again elsewhere.
  await expect.poll(asked, { ...patient, interval: 5 }).toBeGreaterThan(before);
  await place(Buffer.alloc(32, 7));
  const soon = await submission;
  fixture.proxy.forced = "";
  await place(hash);
  expect(soon).toMatchObject({ kind: "waiting", reason: "another update of this contract was mined meanwhile" });
  await until(second.id, ["finalized"]);
  expect(await configOf(contract)).toMatchObject({ royaltiesBps: 444n, publicMintStart: 1_650_000_000n });
});

test("a collection that is mined again in one block with its first update is confirmed again, and both hold", async () => {
  const { id, address } = await deployment("One block");
  await until(id, ["confirmed"]);
  const first = await update(address, { royaltiesBps: 888n });
  await until(first.id, ["mined", "confirmed"]);
  const head = BigInt(await rpc<string>(nodes.url, "eth_blockNumber"));
  const before = [await minedBlock(id), await minedBlock(first.id)];
  expect(before[0]).not.toBe(before[1]);
  await rpc(nodes.url, "anvil_reorg", [Number(head - (before[0] ?? 0n)) + 1, []]);
  await until(first.id, ["finalized"]);
  await until(id, ["finalized"]);
  // The scenario was what it is meant to be.
  expect(await minedBlock(id)).toBe(await minedBlock(first.id));
  // What the update changed is forgiven, and nothing that another request would have deployed.
  const [intent, reservation] = [
    await getIntent(fixture.services.db, id),
    await findReservation(fixture.services.db, id),
  ];
  const check = async (changes: Partial<Intent>) =>
    await verifyDeployment(
      fixture.services.relay.nodes(fixture.chain),
      { ...intent, ...changes },
      await minedBlock(id),
      toHash(reservation?.mined_attempt ?? Buffer.alloc(0)),
    );
  expect(await check({})).toBeNull();
  expect(await check({ owner: Buffer.alloc(20, 9) })).toContain("owner");
  const other = await getIntent(fixture.services.db, (await deployment("Another block")).id);
  expect(await check({ init_data: other.init_data })).toContain("configuration");
  expect((await configOf(address)).royaltiesBps).toBe(888n);
});

async function deployment(name: string): Promise<{ id: string; address: Address }> {
  await fixture.post(1, name);
  const find = "SELECT id, encode(predicted_addr, 'hex') AS address FROM service.intent WHERE payload ->> 'name' = $1";
  const { rows } = await fixture.database.pool.query(find, [name]);
  return { id: rows[0].id, address: `0x${rows[0].address}` };
}

/** The wallet that sends updates is busy, so the other one deploys this collection, in a block of its own. */
async function deployedByOther(name: string): Promise<{ id: string; address: Address; own: Hash }> {
  await fixture.post(1, `Ahead of ${name}`);
  const { id, address } = await deployment(name);
  expect((await findReservation(fixture.services.db, id))?.addr).toEqual(toBytes(fixture.wallets[1] ?? "0x"));
  const [attempt] = await listAttempts(fixture.services.db, id);
  const own = toHash(attempt?.hash ?? Buffer.alloc(0));
  await rpc(nodes.url, "anvil_dropTransaction", [own]);
  await fixture.mine();
  await fixture.resend();
  await until(id, ["confirmed"]);
  return { id, address, own };
}

async function collection(name: string): Promise<Address> {
  const { id, address } = await deployment(name);
  await until(id, ["finalized"]);
  return address;
}

async function acceptOne(contract: Address, changes: ConfigChanges): Promise<Intent> {
  return await acceptUpdate(fixture.services, fixture.caller, {
    chain: fixture.chain,
    contract,
    changes,
    idempotencyKey: randomUUID(),
  });
}

/** With a nonce of an earlier version, and not signed. */
async function assigned(contract: Address, changes: ConfigChanges): Promise<Intent> {
  return await giveNonce(fixture.services, await acceptOne(contract, changes), fixture.wallet);
}

async function update(contract: Address, changes: ConfigChanges): Promise<Intent> {
  const intent = await acceptOne(contract, changes);
  await untilSigned(fixture.services, fixture.chain, intent);
  return await getIntent(fixture.services.db, intent.id);
}

/** A block for each look, and many where the end is waited for: however slow the looks are, nothing else is final before. */
async function until(id: string, states: readonly string[]): Promise<void> {
  const own = fixture;
  const blocks = states.some((state) => state === "finalized" || state === "retried") ? 10 : 1;
  const poll = async () => {
    await own.mine(blocks);
    await own.work();
    return (await getIntent(own.services.db, id)).state;
  };
  await expect.poll(poll, patient).toSatisfy((state: string) => states.includes(state));
}

/** The blocks from its own on are replaced by empty ones, and no node has the bytes of any transaction any more. */
async function takeBlocksSince(id: string): Promise<void> {
  const head = BigInt(await rpc<string>(nodes.url, "eth_blockNumber"));
  await rpc(nodes.url, "anvil_reorg", [Number(head - (await minedBlock(id))) + 1, []]);
  await rpc(nodes.url, "anvil_dropAllTransactions");
}

/** It is mined nowhere any more, and nobody has looked at the chain since. */
async function takeAway({ id }: Intent): Promise<void> {
  await takeBlocksSince(id);
  await fixture.mine();
}

async function minedBlock(id: string): Promise<bigint> {
  const block = (await findReservation(fixture.services.db, id))?.mined_block;
  if (block === undefined || block === null) throw new Error(`${id} is not mined`);
  return block;
}

async function receiptOf(hash: Hash) {
  return await fixture.services.rpc(fixture.chain).getTransactionReceipt({ hash });
}

async function configOf(address: Address) {
  const call = { address, abi: collectionAbi, functionName: "getInfo" } as const;
  return (await fixture.services.rpc(fixture.chain).readContract(call)).runtimeConfig;
}
