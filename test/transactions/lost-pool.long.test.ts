import type { Hex } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Caller } from "../../src/auth/caller.ts";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import { deployments } from "../../src/collections/deployment-input.ts";
import { createServices } from "../../src/processes/create-services.ts";
import { getRequest } from "../../src/requests/requests.ts";
import { findReservation } from "../../src/transactions/store/nonces.ts";
import { reconcileNonces } from "../../src/transactions/submit/reconcile-nonces.ts";
import { rpc } from "../chaos/fleet.ts";
import { RelayFixture, request, TestNodes } from "../chaos/relay-fixture.ts";
import { patient } from "../setup/wait.ts";
import { loseRows } from "./lost-rows.ts";

// A node that shows its mempool: the lost transactions themselves are found, not only their number.
let nodes: TestNodes;
let fixture: RelayFixture;
let caller: Caller;
beforeAll(async () => {
  nodes = await TestNodes.start();
  fixture = await RelayFixture.setUp(nodes, { factory: { permissive: false } });
  caller = fixture.caller;
});
afterAll(async () => {
  await fixture?.tearDown();
  nodes?.stop();
});

const waiting = async (hash: string) =>
  (await rpc(nodes.url, "eth_getTransactionByHash", [hash]).catch(() => null)) !== null;

test("a lost transaction is sent again from a mempool's bytes, and is the request that comes back", async () => {
  const lost = { ...request("lost in the pool"), idempotencyKey: "lost-in-the-pool" };
  const other = { ...request("another"), idempotencyKey: "another" };
  const { deployment } = await deployCollection(fixture.services, caller, lost);
  await expect.poll(() => waiting(deployment.transactionHash), patient).toBe(true);
  const taken = await findReservation(fixture.services.db, deployment.id);
  await loseRows(fixture.database.pool, [deployment.id], fixture.wallet);

  // The same process: its memory of the wallet's counter is ahead of the database.
  const next = await deployCollection(fixture.services, caller, other);
  expect((await findReservation(fixture.services.db, next.deployment.id))?.nonce).toBe((taken?.nonce ?? 0n) + 1n);
  await rpc(nodes.url, "anvil_dropAllTransactions");
  await fixture.resend();
  await expect.poll(() => waiting(deployment.transactionHash), patient).toBe(true);

  const again = await deployCollection(fixture.services, caller, lost);
  expect(again.deployment).toMatchObject({ id: deployment.id, transactionHash: deployment.transactionHash });
  expect(await findReservation(fixture.services.db, deployment.id)).toMatchObject({
    nonce: taken?.nonce,
    state: "open",
  });
  // What the judge of scenarios says of names that it was not told, and of what was found.
  const unasked = ["nobody asked for lost in the pool", "nobody asked for another"];
  expect(await fixture.finish(patient.timeout)).toEqual([...unasked, "imported transactions: 1"]);
  for (const { id, transactionHash } of [deployment, next.deployment])
    expect(await getRequest(fixture.services, caller, deployments, { id })).toMatchObject({
      transactionHash,
      state: "finalized",
    });
});

test.each(["waits in a mempool", "is in a block"])(
  "a retried request takes over its lost transaction, which %s, and sets aside what it costs",
  async (where) => {
    const { services, database, wallet, chain } = fixture;
    const name = `its transaction ${where}`;
    const lose = async (named: string) => {
      const input = { ...request(named), idempotencyKey: named.replaceAll(" ", "-") };
      const { id, transactionHash } = (await deployCollection(services, caller, input)).deployment;
      await expect.poll(() => waiting(transactionHash), patient).toBe(true);
      const raw = await rpc<Hex>(nodes.url, "eth_getRawTransactionByHash", [transactionHash]);
      return { input, id, transactionHash, send: () => rpc(nodes.url, "eth_sendRawTransaction", [raw]) };
    };
    const drop = async () => {
      await fixture.sent();
      await rpc(nodes.url, "anvil_dropAllTransactions");
    };
    const ahead = await lose(`ahead: ${name}`);
    const own = await lose(name);
    await drop();
    await loseRows(database.pool, [ahead.id, own.id], wallet);

    // It gets the nonce of the one ahead, which is mined there; its own bytes have the nonce behind it.
    const again = (await deployCollection(services, caller, own.input)).deployment;
    await expect.poll(() => waiting(again.transactionHash), patient).toBe(true);
    await drop();
    await ahead.send();
    await fixture.mine(where === "is in a block" ? 4 : 5);
    await own.send();
    if (where === "is in a block") await fixture.mine();
    else {
      const restarted = createServices(services.config, "fixture");
      expect(await reconcileNonces(restarted, chain, wallet)).toBe(null);
      await restarted.pool.end();
      await restarted.content.close();
    }
    const inSecond = async () => {
      await fixture.work();
      const { rows } = await database.pool.query(
        `SELECT i.state, i.reserved_wei >= (SELECT max(max_fee * gas) FROM service.nonce_reservation s
           JOIN service.attempt a USING (chain_id, addr, nonce) WHERE s.intent_id = i.id) AS reserved
         FROM service.intent i WHERE root_id = $1 AND retry_number = 1 AND state NOT IN ('queued', 'held')`,
        [own.id],
      );
      return rows;
    };
    await expect.poll(inSecond, patient).toHaveLength(1);
    const state = where === "is in a block" ? "mined" : expect.stringMatching(/^(signed|in_flight)$/);
    expect(await inSecond()).toEqual([{ state, reserved: true }]);
    // The judge counts intents that never reserved anything.
    const reported = /^nobody asked for|^imported transactions/;
    expect((await fixture.finish(patient.timeout)).filter((finding) => !reported.test(finding))).toEqual([]);
    const { rows } = await database.pool.query(
      `SELECT bool_and(b.settled AND b.spent = s.mined_cost_wei) AS counted, bool_or(a.hash = $2) AS taken_over
       FROM service.intent i JOIN service.nonce_reservation s ON s.intent_id = i.id JOIN service.budget_entry b ON b.intent_id = i.id
       JOIN service.attempt a USING (addr, nonce)
       WHERE root_id = $1 AND retry_number = 1 AND b.scope LIKE 'chain%'`,
      [own.id, Buffer.from(own.transactionHash.slice(2), "hex")],
    );
    // On a slow machine its fee may be raised before it is mined.
    expect(rows).toEqual([{ counted: true, taken_over: true }]);
  },
);
