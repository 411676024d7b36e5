import { afterAll, beforeAll, expect, test } from "vitest";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import { getDeployment } from "../../src/collections/get-deployment.ts";
import { updateCollection } from "../../src/collections/update-collection.ts";
import { reconcileLane } from "../../src/relay/operator/reconcile-wallet.ts";
import { Ground, request, Stage } from "../chaos/stage.ts";
import { patient } from "../setup/poll-timeout.ts";
import { loseRows } from "./lost-rows.ts";

// The first of two endpoints says what it likes; what was lost is read from both.
let ground: Ground;
beforeAll(async () => {
  ground = await Ground.start();
});
afterAll(() => ground?.stop());

test.each(["no-logs", "transactions-spoilt"])(
  "an endpoint that lies (%s) about lost transactions of the wallet does not close it",
  async (lie) => {
    const stage = await Stage.set(ground, { factory: { permissive: false }, honest: true });
    try {
      const { deployment } = await deployCollection(stage.services, stage.caller, request(`lost and ${lie}`));
      await stage.finish(patient.timeout);
      const place = { chain: "goerli", collection: deployment.predictedAddress };
      const { update } = await updateCollection(stage.services, stage.caller, { ...place, royaltiesBps: 700n });
      await stage.finish(patient.timeout);
      await loseRows(stage.database.pool, [deployment.id, update.id], stage.wallet);

      stage.proxy.forced = lie;
      const told = await reconcileLane(stage.services, stage.chain, stage.wallet).catch(
        (error: Error) => error.message,
      );
      // Believed only as far as it is proved: what was ours is ours, or nothing is known yet.
      if (Array.isArray(told)) expect(told.map(({ explained }) => explained)).toEqual([true, true]);
      expect(await laneState(stage)).toBe("open");

      stage.proxy.forced = "";
      await reconcileLane(stage.services, stage.chain, stage.wallet);
      expect(await laneState(stage)).toBe("open");
      const { rows } = await stage.database.pool.query("SELECT kind, state FROM service.slot ORDER BY nonce");
      expect(rows).toEqual([
        { kind: "deploy", state: "mined" },
        { kind: "update", state: "mined" },
      ]);
    } finally {
      await stage.strike();
    }
  },
);

test("a deployment whose nonce its own lost bytes used is mined by them, also while an endpoint has no logs", async () => {
  const stage = await Stage.set(ground, { factory: { permissive: false }, honest: true, lostRows: true });
  try {
    const { deployment } = await deployCollection(stage.services, stage.caller, request("mined by lost bytes"));
    await stage.sent();
    // The end that was lost begins behind its nonce: nobody remembers that it was signed.
    await stage.database.pool.query(`BEGIN; SET LOCAL session_replication_role = replica;
      TRUNCATE service.attempt_event, service.attempt; UPDATE service.intent SET state = 'assigned'; COMMIT`);
    await stage.mine(8);
    stage.proxy.forced = "no-logs";
    const states = `SELECT i.gen, i.state, s.state AS nonce FROM service.intent i JOIN service.slot s ON s.intent_id = i.id`;
    const look = () => stage.work().then(async () => (await stage.database.pool.query(states)).rows);
    await expect.poll(look, patient).not.toMatchObject([{ state: "assigned" }]);
    stage.proxy.forced = "";
    expect(await stage.finish(patient.timeout)).toEqual(["nobody asked for mined by lost bytes"]);
    const { rows } = await stage.database.pool.query(states);
    expect(rows).toEqual([{ gen: 0, state: "finalized", nonce: "mined" }]);
    const { transactionHash } = await getDeployment(stage.services, stage.caller, { id: deployment.id });
    expect(transactionHash).toBe(deployment.transactionHash);
  } finally {
    await stage.strike();
  }
});

test("who sent a lost deployment is proved by its signature, not by what an endpoint says", async () => {
  const stage = await Stage.set(ground, { factory: { permissive: false }, honest: true });
  try {
    const wanted = request("sent by whom");
    const { deployment } = await deployCollection(stage.services, stage.caller, wanted);
    await stage.finish(patient.timeout);
    await loseRows(stage.database.pool, [deployment.id], stage.wallet);

    stage.proxy.forced = "senders-of-nobody";
    const again = await deployCollection(stage.services, stage.caller, wanted);
    expect(again.deployment.transactionHash).toBe(deployment.transactionHash);
    const { rows } = await stage.database.pool.query("SELECT DISTINCT encode(addr, 'hex') AS wallet FROM service.slot");
    expect(rows).toEqual([{ wallet: stage.wallet.slice(2).toLowerCase() }]);
  } finally {
    await stage.strike();
  }
});

async function laneState(stage: Stage): Promise<string> {
  return (await stage.database.pool.query("SELECT state FROM service.lane")).rows[0].state;
}
