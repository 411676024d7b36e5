import { afterAll, beforeAll, expect, test } from "vitest";
import type { Caller } from "../../src/auth/caller.ts";
import type { Services } from "../../src/services.ts";
import type { Signer } from "../../src/signing/signer.ts";
import { SignerError } from "../../src/signing/trouble.ts";
import type { Intent } from "../../src/transactions/store/intents.ts";
import { type BlockStep, findReservation, listAttempts, takeBlockSteps } from "../../src/transactions/store/nonces.ts";
import { WalletMemory } from "../../src/transactions/store/wallets.ts";
import { submitIntent } from "../../src/transactions/submit/submit-intent.ts";
import { acceptDeployment } from "./accept.ts";
import { goerli, launch, RelayHarness } from "./harness.ts";

let h: RelayHarness;
let worker: Services;
let caller: Caller;
beforeAll(async () => {
  h = await RelayHarness.start();
  worker = h.process();
  caller = await h.caller("growth");
});
afterAll(() => h?.stop());

async function accept(count: number): Promise<Intent[]> {
  return await Promise.all(Array.from({ length: count }, () => acceptDeployment(worker, caller, launch())));
}

async function stateOf(ids: readonly string[]) {
  const { rows } = await h.database.pool.query<Intent>("SELECT * FROM service.intent WHERE id = ANY ($1)", [ids]);
  return ids.map((id) => rows.find((row) => row.id === id));
}

test("what the signer refuses of several is held and leaves no gap, and the others have the nonces before it", async () => {
  const process = h.process();
  const [own] = process.relay.signers(goerli(process)) as [Signer];
  const intents = await accept(6);
  const refused = intents.slice(1, 4).map(({ init_data }) => init_data.toString("hex"));
  let asked = 0;
  const choosy: Signer = {
    ...own,
    sign: async (order) => {
      asked += 1;
      if (!refused.some((data) => order.transaction.data.includes(data))) return await own.sign(order);
      throw new SignerError("spent", "no room", "day");
    },
  };
  process.relay.signers = () => [choosy];
  const ends = await Promise.all(intents.map((intent) => submitIntent(process, goerli(process), intent)));
  expect(ends.map(({ kind }) => kind)).toEqual(["signed", "held", "held", "held", "signed", "signed"]);
  const nonces = await Promise.all(intents.map(({ id }) => findReservation(h.database.db, id)));
  const given = nonces.flatMap((reservation) => (reservation ? [reservation.nonce] : [])).sort();
  expect(given.map((nonce) => nonce - (given[0] ?? 0n))).toEqual([0n, 1n, 2n]);
  expect(asked).toBeGreaterThan(6);
  for (const [index, intent] of intents.entries())
    expect(await listAttempts(h.database.db, intent.id)).toHaveLength(nonces[index] ? 1 : 0);
  for (const { id } of intents) await h.until(worker, id, ["finalized"]);
});

test("a signer that does not answer is asked once for each of several, and none of them gets a nonce", async () => {
  const process = h.process();
  const [own] = process.relay.signers(goerli(process)) as [Signer];
  let asked = 0;
  const away: Signer = {
    ...own,
    sign: async () => {
      asked += 1;
      throw new SignerError("unreachable", "no answer within 2000 ms");
    },
  };
  process.relay.signers = () => [away];
  const intents = await accept(6);
  const ends = await Promise.allSettled(intents.map((intent) => submitIntent(process, goerli(process), intent)));
  const told = { status: "rejected", reason: expect.objectContaining({ trouble: "unreachable" }) };
  expect(ends).toEqual(intents.map(() => told));
  expect(asked).toBe(6);
  expect(await stateOf(intents.map(({ id }) => id))).toMatchObject(
    intents.map(() => ({ state: "queued", version: 0 })),
  );
  for (const { id } of intents) await h.until(worker, id, ["finalized"]);
});

test("two processes that take the steps of the same requests at once, in other orders, take each of them once", async () => {
  const intents = await accept(12);
  const ends = await Promise.all(intents.map((intent) => submitIntent(worker, goerli(worker), intent)));
  const signed = ends.map(({ intent }) => intent);
  const steps = await Promise.all(
    signed.map(async (intent, index): Promise<BlockStep> => {
      const [attempt] = await listAttempts(h.database.db, intent.id);
      const block = { number: BigInt(1_000_000 + index), hash: `0x${"ab".repeat(32)}` as const };
      const hash = `0x${attempt?.hash.toString("hex")}` as const;
      return { intent, to: "mined", mined: { hash, block, costWei: 7n } };
    }),
  );
  const other = h.process();
  const [first, second] = await Promise.all([
    takeBlockSteps(worker.db, steps),
    takeBlockSteps(other.db, steps.toReversed()),
  ]);
  const moved = steps.map(
    (_, index) => [first[index], second.at(-1 - index)].filter((intent) => intent !== null).length,
  );
  expect(moved).toEqual(steps.map(() => 1));
  for (const row of await stateOf(signed.map(({ id }) => id)))
    expect(row).toMatchObject({ state: "mined", version: 2 });
  const { rows } = await h.database.pool.query(
    "SELECT count(*)::int AS n, sum(spent)::int AS spent FROM service.budget_entry WHERE intent_id = ANY ($1) AND scope = $2 AND settled",
    [signed.map(({ id }) => id), `chain:${h.node.id}`],
  );
  expect(rows).toEqual([{ n: 12, spent: 12 * 7 }]);
  // As they were seen before: nobody moves them from there.
  expect(await takeBlockSteps(worker.db, steps)).toEqual(steps.map(() => null));
  // Seen by two loops of a process, before and after it moved: the older look writes nothing.
  const [row] = await stateOf(signed.slice(0, 1).map(({ id }) => id));
  const older = {
    ...steps[0],
    mined: { hash: `0x${"00".repeat(32)}`, block: { number: 5n, hash: `0x${"cd".repeat(32)}` }, costWei: 1n },
  };
  const both = [older as BlockStep, { intent: row as Intent, to: "confirmed" } as const];
  for (const list of [both, both.toReversed()]) {
    const found = await takeBlockSteps(worker.db, list);
    if (list === both) expect(found).toMatchObject([null, { state: "confirmed", version: 3 }]);
    else expect(found).toEqual([null, null]);
  }
  expect(await findReservation(worker.db, row?.id ?? "")).toMatchObject({
    mined_block: 1_000_000n,
    mined_cost_wei: "7",
  });
});

test("a wallet is reconciled in its own database, up to the nonce that this process knows", () => {
  const wallets = new WalletMemory();
  const row = { basis: "here", incarnation: "here", next_nonce: 7n };
  expect(wallets.isReconciled("w", row)).toBe(false);
  wallets.reconciled("w", 7n);
  expect(wallets.isReconciled("w", row)).toBe(true);
  expect(wallets.isReconciled("w", { ...row, next_nonce: 6n })).toBe(false);
  expect(wallets.isReconciled("w", { ...row, incarnation: "restored" })).toBe(false);
  expect(wallets.isReconciled("other", row)).toBe(false);
});

test("what is under way of a wallet is what is in no block, and what is being prepared", async () => {
  const wallets = new WalletMemory();
  expect(wallets.underWay("w", 9n)).toBe(0);
  wallets.sawMined("w", 5n);
  expect(wallets.underWay("w", 9n)).toBe(4);
  const failing = wallets.preparing("w", async () => {
    expect(wallets.underWay("w", 9n)).toBe(5);
    throw new Error("of the test");
  });
  await expect(failing).rejects.toThrow("of the test");
  expect(wallets.underWay("w", 9n)).toBe(4);
  // An endpoint ahead of this database's rows.
  wallets.sawMined("w", 12n);
  expect(wallets.underWay("w", 9n)).toBe(0);
});
