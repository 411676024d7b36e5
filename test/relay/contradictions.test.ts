import type { Address } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import { acceptUpdate } from "../../src/relay/requests/update-intent.ts";
import type { ConfigChanges } from "../../src/relay/store/config-changes.ts";
import { submitIntent } from "../../src/relay/submit/submit-intent.ts";
import { Ground, Stage } from "../chaos/stage.ts";

let ground: Ground;
let stage: Stage;
beforeAll(async () => {
  ground = await Ground.start();
  stage = await Stage.set(ground, { factory: {}, honest: true, env: { RPC_QUORUM_GOERLI: "2" } });
});
afterAll(async () => {
  await stage?.strike();
  ground?.stop();
});

async function states(): Promise<string[]> {
  const { rows } = await stage.database.pool.query("SELECT state FROM service.intent ORDER BY seq");
  return rows.map(({ state }) => state);
}

test("an endpoint that is away counts among those that have to agree: work goes on, and nothing ends", async () => {
  const alone = await Stage.set(ground, { factory: {}, honest: true, env: { RPC_QUORUM_GOERLI: "2" } });
  try {
    const state = async () => (await alone.database.pool.query("SELECT state FROM service.intent")).rows[0]?.state;
    alone.proxy.forced = "connection-reset";
    await alone.post();
    await alone.mine(8);
    await alone.work(6);
    expect(await state()).toBe("mined");
    alone.proxy.forced = "";
    await alone.work(3);
    expect(await state()).toBe("finalized");
  } finally {
    await alone.strike();
  }
});

test("a head that one of two endpoints invents makes nothing final", async () => {
  await stage.post();
  await stage.mine();
  stage.proxy.forced = "head-ahead";
  await stage.work(6);
  expect(stage.proxy.met.get("head-ahead")).toBeGreaterThan(5);
  expect(await states()).toEqual(["confirmed"]);
  stage.proxy.forced = "";
  await stage.mine(6);
  await stage.work(2);
  expect(await states()).toEqual(["finalized"]);
});

test("an update is not made from a configuration that one of two endpoints falsifies", async () => {
  const { rows } = await stage.database.pool.query(
    "SELECT encode(predicted_addr, 'hex') AS address FROM service.intent ORDER BY seq LIMIT 1",
  );
  const contract: Address = `0x${rows[0].address}`;
  const accept = (changes: ConfigChanges) =>
    acceptUpdate(stage.services, {
      tenantId: stage.caller.accountId,
      chain: stage.chain,
      contract,
      changes,
      idempotencyKey: Object.keys(changes).join(),
      allowlist: null,
    });
  const update = await accept({ royaltiesBps: 250n });
  const config = async () =>
    (
      await stage.services
        .rpc(stage.chain)
        .readContract({ address: contract, abi: collectionAbi, functionName: "getInfo" })
    ).runtimeConfig;
  const before = await config();
  stage.proxy.forced = "config-of-another-date";
  const soon = await submitIntent(stage.services, stage.chain, update);
  expect(soon).toMatchObject({
    kind: "waiting",
    reason: "the endpoints do not say the same of this collection's configuration",
  });
  stage.proxy.forced = "";
  expect(await submitIntent(stage.services, stage.chain, update)).toMatchObject({ kind: "signed" });
  await stage.resend();
  await stage.mine(2);
  await stage.work(2);
  expect(await states()).toEqual(["finalized", "confirmed"]);
  // The first endpoint is behind the update, which does not keep the second one from answering.
  const next = await accept({ baseUri: "ipfs://next/" });
  stage.proxy.forced = "head-stale";
  expect(await submitIntent(stage.services, stage.chain, next)).toMatchObject({ kind: "signed" });
  stage.proxy.forced = "";
  await stage.resend();
  await stage.mine(8);
  await stage.work(3);
  expect(await states()).toEqual(["finalized", "finalized", "finalized"]);
  expect(await config()).toEqual({ ...before, royaltiesBps: 250n, baseURI: "ipfs://next/" });
});

test("a receipt that one of two endpoints falsifies ends nothing, and is forgotten", async () => {
  await stage.post();
  await stage.mine();
  stage.proxy.forced = "receipt-reverted-here";
  await stage.work();
  expect(await states()).toEqual(["finalized", "finalized", "finalized", "mined_reverted"]);
  await stage.mine(8);
  for (let round = 0; round < 6; round += 1) {
    await stage.work();
    expect(["in_flight", "mined_reverted"]).toContain((await states())[3]);
  }
  stage.proxy.forced = "";
  await stage.work(4);
  expect(await states()).toEqual(["finalized", "finalized", "finalized", "finalized"]);
  expect(await stage.finish(30_000)).toEqual([]);
});
