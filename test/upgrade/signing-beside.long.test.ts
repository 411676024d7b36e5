import { afterAll, beforeAll, expect, test } from "vitest";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import { createRelayMemory } from "../../src/transactions/track/loop-steps.ts";
import { wait } from "../setup/wait.ts";
import { goerli, launch, RelayHarness } from "../transactions/harness.ts";
import { relayRound } from "../transactions/round.ts";
import { OlderSigner } from "./older-signer.ts";

let h: RelayHarness;
beforeAll(async () => {
  h = await RelayHarness.start();
});
afterAll(() => h?.stop());

test("while processes of the version before sign beside this one, each nonce has one request and each request one collection", async () => {
  const api = h.process();
  const caller = await h.caller();
  const first = await deployCollection(api, caller, launch());
  const ids = [first.deployment.id];
  const older = [new OlderSigner(h), new OlderSigner(h)];
  const workers = [h.process(), h.process()];
  let accepting = true;
  const ask = async () => {
    for (let n = 0; n < 10; n += 1) ids.push((await deployCollection(api, caller, launch())).deployment.id);
  };
  const accept = async () => {
    await Promise.all([ask(), ask(), ask(), ask()]).finally(() => {
      accepting = false;
    });
  };
  const sign = async (signer: OlderSigner) => {
    // Each dies once between its two commits, at its second nonce.
    for (let given = 0, took = false; took || accepting; given += Number(took)) took = await signer.take(given === 1);
  };
  const states = async () =>
    (await h.database.pool.query<{ state: string }>("SELECT state FROM service.intent")).rows.map(({ state }) => state);
  let over = false;
  const work = async (worker: (typeof workers)[0]) => {
    const memory = createRelayMemory();
    while (!over) await relayRound(worker, goerli(worker), memory);
  };
  const working = [accept(), ...older.map(sign), ...workers.map(work)];
  const isDone = (all: readonly string[]) => !accepting && all.every((state) => state === "finalized");
  await Promise.race([wait("every request to be final", states, { until: isDone }), Promise.all(working)]).finally(
    () => {
      over = true;
    },
  );
  await Promise.all(working);

  const announced = (await h.announced()).map(({ intentId }) => intentId);
  expect(new Set(announced).size).toBe(ids.length);
  expect(announced).toHaveLength(ids.length);
  const { rows } = await h.database.pool.query<{ nonce: bigint; mined: boolean }>(
    "SELECT nonce, state = 'mined' AS mined FROM service.nonce_reservation ORDER BY nonce",
  );
  expect(rows).toHaveLength(ids.length);
  expect(rows.every(({ mined }) => mined)).toBe(true);
  const begun = rows[0]?.nonce ?? 0n;
  expect(rows.map(({ nonce }) => nonce - begun)).toEqual(ids.map((_, index) => BigInt(index)));
  expect(await h.chain.getTransactionCount({ address: h.relayer })).toBe(Number(begun) + ids.length);
  // Both kinds of process had their part, and what the one left the other one signed.
  expect(older.flatMap(({ left }) => left)).toHaveLength(2);
  const byOlder = older.flatMap(({ signed }) => signed).length;
  expect(byOlder).toBeGreaterThan(0);
  expect(ids.length - byOlder).toBeGreaterThan(0);
});
