import { afterAll, beforeAll, expect, test } from "vitest";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import { deployments } from "../../src/collections/deployment-input.ts";
import { updateCollection } from "../../src/collections/update-collection.ts";
import { getRequest } from "../../src/requests/requests.ts";
import { reconcileWallet } from "../../src/transactions/operator/mend-wallet.ts";
import { RelayFixture, request, TestNodes } from "../chaos/relay-fixture.ts";
import { patient } from "../setup/wait.ts";
import { loseRows } from "./lost-rows.ts";

// The first of two endpoints says what it likes; what was lost is read from both.
let nodes: TestNodes;
beforeAll(async () => {
  nodes = await TestNodes.start();
});
afterAll(() => nodes?.stop());

test.each(["no-logs", "transactions-spoilt"])(
  "a faulty RPC (%s) about lost transactions of the wallet does not close it",
  async (fault) => {
    const fixture = await RelayFixture.setUp(nodes, { factory: { permissive: false }, honest: true });
    try {
      const { deployment } = await deployCollection(fixture.services, fixture.caller, request(`lost and ${fault}`));
      await fixture.finish(patient.timeout);
      const place = { chain: "goerli", collection: deployment.contract };
      const { update } = await updateCollection(fixture.services, fixture.caller, { ...place, royaltiesBps: 700n });
      await fixture.finish(patient.timeout);
      await loseRows(fixture.database.pool, [deployment.id, update.id], fixture.wallet);

      fixture.proxy.forced = fault;
      const failure = await reconcileWallet(fixture.services, fixture.chain, fixture.wallet).catch(
        (error: Error) => error.message,
      );
      // Believed only as far as it is proved: what was ours is ours, or nothing is known yet.
      if (Array.isArray(failure)) expect(failure.map(({ explained }) => explained)).toEqual([true, true]);
      expect(await walletState(fixture)).toBe("open");

      fixture.proxy.forced = "";
      await reconcileWallet(fixture.services, fixture.chain, fixture.wallet);
      expect(await walletState(fixture)).toBe("open");
      const { rows } = await fixture.database.pool.query(
        "SELECT kind, state FROM service.nonce_reservation ORDER BY nonce",
      );
      expect(rows).toEqual([
        { kind: "deploy", state: "mined" },
        { kind: "update", state: "mined" },
      ]);
    } finally {
      await fixture.tearDown();
    }
  },
);

test("a deployment whose nonce its own lost bytes used is mined by them, also while an endpoint has no logs", async () => {
  const fixture = await RelayFixture.setUp(nodes, { factory: { permissive: false }, honest: true, lostRows: true });
  try {
    const { deployment } = await deployCollection(fixture.services, fixture.caller, request("mined by lost bytes"));
    await fixture.sent();
    // The end that was lost begins behind its nonce: nobody remembers that it was signed.
    await fixture.database.pool.query(`BEGIN; SET LOCAL session_replication_role = replica;
      TRUNCATE service.attempt_event, service.attempt; UPDATE service.intent SET state = 'assigned'; COMMIT`);
    await fixture.mine(8);
    fixture.proxy.forced = "no-logs";
    const states = `SELECT i.retry_number, i.state, s.state AS nonce FROM service.intent i JOIN service.nonce_reservation s ON s.intent_id = i.id`;
    const poll = () => fixture.work().then(async () => (await fixture.database.pool.query(states)).rows);
    await expect.poll(poll, patient).not.toMatchObject([{ state: "assigned" }]);
    fixture.proxy.forced = "";
    expect(await fixture.finish(patient.timeout)).toEqual(["nobody asked for mined by lost bytes"]);
    const { rows } = await fixture.database.pool.query(states);
    expect(rows).toEqual([{ retry_number: 0, state: "finalized", nonce: "mined" }]);
    const { transactionHash } = await getRequest(fixture.services, fixture.caller, deployments, { id: deployment.id });
    expect(transactionHash).toBe(deployment.transactionHash);
  } finally {
    await fixture.tearDown();
  }
});

test("who sent a lost deployment is proved by its signature, not by what an endpoint says", async () => {
  const fixture = await RelayFixture.setUp(nodes, { factory: { permissive: false }, honest: true });
  try {
    const wanted = request("sent by whom");
    const { deployment } = await deployCollection(fixture.services, fixture.caller, wanted);
    await fixture.finish(patient.timeout);
    await loseRows(fixture.database.pool, [deployment.id], fixture.wallet);

    fixture.proxy.forced = "senders-of-nobody";
    const again = await deployCollection(fixture.services, fixture.caller, wanted);
    expect(again.deployment.transactionHash).toBe(deployment.transactionHash);
    const { rows } = await fixture.database.pool.query(
      "SELECT DISTINCT encode(addr, 'hex') AS wallet FROM service.nonce_reservation",
    );
    expect(rows).toEqual([{ wallet: fixture.wallet.slice(2).toLowerCase() }]);
  } finally {
    await fixture.tearDown();
  }
});

async function walletState(fixture: RelayFixture): Promise<string> {
  return (await fixture.database.pool.query("SELECT state FROM service.relayer_wallet")).rows[0].state;
}
