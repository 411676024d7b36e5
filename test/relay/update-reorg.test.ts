import { randomUUID } from "node:crypto";
import type { Address } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import { assignSlot } from "../../src/relay/assign-slot.ts";
import { toHash } from "../../src/relay/bytes.ts";
import type { ConfigChanges } from "../../src/relay/config-changes.ts";
import { getIntent, type Intent, newestGeneration } from "../../src/relay/intents.ts";
import { preflight } from "../../src/relay/preflight.ts";
import { findSlot } from "../../src/relay/slots.ts";
import { submitIntent } from "../../src/relay/submit-intent.ts";
import { untilSigned } from "../../src/relay/until-signed.ts";
import { acceptUpdate } from "../../src/relay/update-intent.ts";
import { verifyDeployment } from "../../src/relay/verify-deployment.ts";
import { rpc } from "../chaos/fleet.ts";
import { Ground, Stage } from "../chaos/stage.ts";

let ground: Ground;
let stage: Stage;
beforeAll(async () => {
  ground = await Ground.start();
  stage = await Stage.set(ground, { factory: {} });
});
afterAll(async () => {
  await stage?.strike();
  ground?.stop();
});

test("an update is not made from a branch that lacks the one before it, which a reorganisation took: both hold", async () => {
  const contract = await collection("Branches");
  const first = await update(contract, { royaltiesBps: 777n });
  await until(first.id, ["confirmed"]);
  await takeAway(first);
  const second = await acceptOne(contract, { publicMintStart: 1_700_000_000n });
  const soon = await submitIntent(stage.services, stage.chain, second);
  expect(soon).toMatchObject({ kind: "waiting", reason: "the node does not have this collection's last update" });
  await until(first.id, ["finalized"]);
  await until(second.id, ["finalized"]);
  expect(await configOf(contract)).toMatchObject({ royaltiesBps: 777n, publicMintStart: 1_700_000_000n });
});

test("an update that has its nonce waits for those ahead of it that a reorganisation took: both hold", async () => {
  const contract = await collection("Ahead");
  const first = await update(contract, { royaltiesBps: 555n });
  await until(first.id, ["confirmed"]);
  const accepted = await acceptOne(contract, { publicMintStart: 1_600_000_000n });
  const ready = await preflight(stage.services, stage.chain, accepted, stage.wallet);
  if (!("fees" in ready) || !ready.fees) throw new Error("not ready");
  const { genesisHash } = await stage.services.relay.factory(stage.chain);
  const assigned = await assignSlot(stage.services, stage.chain, accepted, { ...ready, fees: ready.fees }, genesisHash);
  expect(assigned.kind).toBe("assigned");
  await takeAway(first);
  await stage.work();
  expect((await getIntent(stage.services.db, first.id)).state).toBe("in_flight");
  const soon = await submitIntent(stage.services, stage.chain, await getIntent(stage.services.db, accepted.id));
  expect(soon).toMatchObject({ kind: "waiting", reason: "an earlier update of this collection is under way" });
  await until(first.id, ["finalized"]);
  await until(accepted.id, ["finalized"]);
  expect(await configOf(contract)).toMatchObject({ royaltiesBps: 555n, publicMintStart: 1_600_000_000n });
});

test("an update that was mined where its collection did not stand did nothing: it is repeated, and holds", async () => {
  const { pool } = stage.database;
  const contract = await collection("Nothing there");
  const accepted = await acceptUpdate(stage.services, {
    tenantId: stage.caller.accountId,
    chain: stage.chain,
    contract,
    changes: { royaltiesBps: 321n },
    idempotencyKey: "once",
    allowlist: null,
  });
  await untilSigned(stage.services, stage.chain, accepted);
  await expect.poll(async () => (await getIntent(stage.services.db, accepted.id)).state).toBe("in_flight");
  // As after a reorganisation in which the deployment, from another wallet, is not mined again yet.
  const code = await rpc<string>(ground.url, "eth_getCode", [contract, "latest"]);
  await rpc(ground.url, "anvil_setCode", [contract, "0x"]);
  await stage.mine(2);
  await rpc(ground.url, "anvil_setCode", [contract, code]);
  await until(accepted.id, ["superseded"]);
  const next = await newestGeneration(stage.services.db, await getIntent(stage.services.db, accepted.id));
  await until(next.id, ["finalized"]);
  const generations = await pool.query("SELECT gen, state FROM service.intent WHERE root_id = $1 ORDER BY gen", [
    accepted.id,
  ]);
  expect(generations.rows).toEqual([
    { gen: 0, state: "superseded" },
    { gen: 1, state: "finalized" },
  ]);
  expect((await configOf(contract)).royaltiesBps).toBe(321n);
  const lanes = await pool.query("SELECT state FROM service.lane");
  expect(lanes.rows).toEqual([{ state: "open" }]);
  const left = await pool.query("SELECT FROM service.budget WHERE reserved <> 0");
  expect(left.rowCount).toBe(0);
});

test("a collection that is mined again in one block with its first update is confirmed again, and both hold", async () => {
  const { id, address } = await deployment("One block");
  await until(id, ["confirmed"]);
  const first = await update(address, { royaltiesBps: 888n });
  await until(first.id, ["mined", "confirmed"]);
  const mined = async (of: string) => (await findSlot(stage.services.db, of))?.mined_block ?? 0n;
  const head = BigInt(await rpc<string>(ground.url, "eth_blockNumber"));
  const before = [await mined(id), await mined(first.id)];
  expect(before[0]).not.toBe(before[1]);
  await rpc(ground.url, "anvil_reorg", [Number(head - (before[0] ?? 0n)) + 1, []]);
  await until(first.id, ["finalized"]);
  await until(id, ["finalized"]);
  // The play was what it is meant to be.
  expect(await mined(id)).toBe(await mined(first.id));
  // What the update changed is forgiven, and nothing that another request would have deployed.
  const [intent, slot] = [await getIntent(stage.services.db, id), await findSlot(stage.services.db, id)];
  const check = async (changes: Partial<Intent>) =>
    await verifyDeployment(
      stage.services.rpc(stage.chain),
      { ...intent, ...changes },
      await mined(id),
      toHash(slot?.mined_attempt ?? Buffer.alloc(0)),
    );
  expect(await check({})).toBeNull();
  expect(await check({ owner: Buffer.alloc(20, 9) })).toContain("owner");
  const other = await getIntent(stage.services.db, (await deployment("Another block")).id);
  expect(await check({ init_data: other.init_data })).toContain("configuration");
  expect((await configOf(address)).royaltiesBps).toBe(888n);
});

async function deployment(name: string): Promise<{ id: string; address: Address }> {
  await stage.post(1, name);
  const find = "SELECT id, encode(predicted_addr, 'hex') AS address FROM service.intent WHERE payload ->> 'name' = $1";
  const { rows } = await stage.database.pool.query(find, [name]);
  return { id: rows[0].id, address: `0x${rows[0].address}` };
}

async function collection(name: string): Promise<Address> {
  const { id, address } = await deployment(name);
  await until(id, ["finalized"]);
  return address;
}

async function acceptOne(contract: Address, changes: ConfigChanges): Promise<Intent> {
  return await acceptUpdate(stage.services, {
    tenantId: stage.caller.accountId,
    chain: stage.chain,
    contract,
    changes,
    idempotencyKey: randomUUID(),
    allowlist: null,
  });
}

async function update(contract: Address, changes: ConfigChanges): Promise<Intent> {
  return await untilSigned(stage.services, stage.chain, await acceptOne(contract, changes));
}

async function until(id: string, states: readonly string[]): Promise<void> {
  const look = async () => {
    await stage.mine();
    await stage.work();
    return (await getIntent(stage.services.db, id)).state;
  };
  await expect.poll(look, { timeout: 60_000 }).toSatisfy((state: string) => states.includes(state));
}

/** Its block is replaced by an empty one, and no node has its bytes any more; nobody has looked at the chain since. */
async function takeAway({ id }: Intent): Promise<void> {
  const slot = await findSlot(stage.services.db, id);
  const head = BigInt(await rpc<string>(ground.url, "eth_blockNumber"));
  await rpc(ground.url, "anvil_reorg", [Number(head - (slot?.mined_block ?? head)) + 1, []]);
  await rpc(ground.url, "anvil_dropAllTransactions");
  await stage.mine();
}

async function configOf(address: Address) {
  const call = { address, abi: collectionAbi, functionName: "getInfo" } as const;
  return (await stage.services.rpc(stage.chain).readContract(call)).runtimeConfig;
}
