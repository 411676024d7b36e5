import { afterAll, beforeAll, expect, test } from "vitest";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import { untilSigned } from "../../src/relay/until-signed.ts";
import { acceptUpdate } from "../../src/relay/update-intent.ts";
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

test("an update that was mined where its collection did not stand did nothing: it is repeated, and holds", async () => {
  await stage.post();
  const { pool } = stage.database;
  await expect.poll(go("deploy"), { timeout: 60_000 }).toBe("finalized");
  const { rows } = await pool.query("SELECT encode(predicted_addr, 'hex') AS address FROM service.intent");
  const contract = `0x${rows[0].address}` as const;
  const accepted = await acceptUpdate(stage.services, {
    tenantId: stage.caller.accountId,
    chain: stage.chain,
    contract,
    changes: { royaltiesBps: 321n },
    idempotencyKey: "once",
    allowlist: null,
  });
  await untilSigned(stage.services, stage.chain, accepted);
  // As after a reorganisation in which the deployment, from another wallet, is not mined again yet.
  const code = await rpc<string>(ground.url, "eth_getCode", [contract, "latest"]);
  await rpc(ground.url, "anvil_setCode", [contract, "0x"]);
  await stage.mine(2);
  await rpc(ground.url, "anvil_setCode", [contract, code]);
  await expect.poll(go("update"), { timeout: 60_000 }).toBe("finalized");
  const generations = await pool.query("SELECT gen, state FROM service.intent WHERE kind = 'update' ORDER BY gen");
  expect(generations.rows).toEqual([
    { gen: 0, state: "superseded" },
    { gen: 1, state: "finalized" },
  ]);
  const info = await stage.services.rpc(stage.chain).readContract({
    address: contract,
    abi: collectionAbi,
    functionName: "getInfo",
  });
  expect(info.runtimeConfig.royaltiesBps).toBe(321n);
  const lanes = await pool.query("SELECT state FROM service.lane");
  expect(lanes.rows).toEqual([{ state: "open" }]);
  const left = await pool.query("SELECT FROM service.budget WHERE reserved <> 0");
  expect(left.rowCount).toBe(0);

  function go(kind: string) {
    return async () => {
      await stage.mine();
      await stage.work();
      const query = "SELECT state FROM service.intent WHERE kind = $1 ORDER BY gen DESC LIMIT 1";
      return (await pool.query(query, [kind])).rows[0]?.state;
    };
  }
});
