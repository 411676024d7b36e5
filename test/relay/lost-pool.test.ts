import { afterAll, beforeAll, expect, test } from "vitest";
import type { Caller } from "../../src/auth/caller.ts";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import { getDeployment } from "../../src/collections/get-deployment.ts";
import { findSlot } from "../../src/relay/store/nonces.ts";
import { rpc } from "../chaos/fleet.ts";
import { Ground, request, Stage } from "../chaos/stage.ts";
import { patient } from "../setup/patience.ts";
import { loseRows } from "./lost-rows.ts";

// A node that shows its mempool: the lost transactions themselves are found, not only their number.
let ground: Ground;
let stage: Stage;
let caller: Caller;
beforeAll(async () => {
  ground = await Ground.start();
  stage = await Stage.set(ground, { factory: { permissive: false } });
  caller = stage.caller;
});
afterAll(async () => {
  await stage?.strike();
  ground?.stop();
});

const waiting = async (hash: string) =>
  (await rpc(ground.url, "eth_getTransactionByHash", [hash]).catch(() => null)) !== null;

test("a lost transaction is sent again from a mempool's bytes, and is the request that comes back", async () => {
  const lost = { ...request("lost in the pool"), idempotencyKey: "lost-in-the-pool" };
  const other = { ...request("another"), idempotencyKey: "another" };
  const { deployment } = await deployCollection(stage.services, caller, lost);
  await expect.poll(() => waiting(deployment.transactionHash), patient).toBe(true);
  const taken = await findSlot(stage.services.db, deployment.id);
  await loseRows(stage.database.pool, [deployment.id], stage.wallet);

  // The same process: its memory of the wallet's counter is ahead of the database.
  const next = await deployCollection(stage.services, caller, other);
  expect((await findSlot(stage.services.db, next.deployment.id))?.nonce).toBe((taken?.nonce ?? 0n) + 1n);
  await rpc(ground.url, "anvil_dropAllTransactions");
  await stage.resend();
  await expect.poll(() => waiting(deployment.transactionHash), patient).toBe(true);

  const again = await deployCollection(stage.services, caller, lost);
  expect(again.deployment).toMatchObject({ id: deployment.id, transactionHash: deployment.transactionHash });
  expect(await findSlot(stage.services.db, deployment.id)).toMatchObject({ nonce: taken?.nonce, state: "open" });
  // What the judge of plays says of names that it was not told, and of what was found.
  const unasked = ["nobody asked for lost in the pool", "nobody asked for another"];
  expect(await stage.finish(patient.timeout)).toEqual([...unasked, "adopted transactions: 1"]);
  for (const { id, transactionHash } of [deployment, next.deployment])
    expect(await getDeployment(stage.services, caller, { id })).toMatchObject({ transactionHash, state: "finalized" });
});
