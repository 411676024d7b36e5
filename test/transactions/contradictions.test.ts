import type { Address } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import type { ConfigChanges } from "../../src/transactions/store/payloads.ts";
import { submitIntent } from "../../src/transactions/submit/submit-intent.ts";
import { RelayFixture, TestNodes } from "../chaos/relay-fixture.ts";
import { acceptUpdate } from "./accept.ts";

let nodes: TestNodes;
let fixture: RelayFixture;
beforeAll(async () => {
  nodes = await TestNodes.start();
  fixture = await RelayFixture.setUp(nodes, { factory: {}, honest: true, env: { RPC_QUORUM_GOERLI: "2" } });
});
afterAll(async () => {
  await fixture?.tearDown();
  nodes?.stop();
});

async function states(): Promise<string[]> {
  const { rows } = await fixture.database.pool.query("SELECT state FROM service.intent ORDER BY seq");
  return rows.map(({ state }) => state);
}

test("an endpoint that is away counts among those that have to agree: work goes on, and nothing ends", async () => {
  const alone = await RelayFixture.setUp(nodes, { factory: {}, honest: true, env: { RPC_QUORUM_GOERLI: "2" } });
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
    await alone.tearDown();
  }
});

test("a head that one of two endpoints invents makes nothing final", async () => {
  await fixture.post();
  await fixture.mine();
  fixture.proxy.forced = "head-ahead";
  await fixture.work(6);
  expect(fixture.proxy.met.get("head-ahead")).toBeGreaterThan(5);
  expect(await states()).toEqual(["confirmed"]);
  fixture.proxy.forced = "";
  await fixture.mine(6);
  await fixture.work(2);
  expect(await states()).toEqual(["finalized"]);
});

test("an update is not made from a configuration that one of two endpoints falsifies", async () => {
  const { rows } = await fixture.database.pool.query(
    "SELECT encode(predicted_addr, 'hex') AS address FROM service.intent ORDER BY seq LIMIT 1",
  );
  const contract: Address = `0x${rows[0].address}`;
  const accept = (changes: ConfigChanges) =>
    acceptUpdate(fixture.services, fixture.caller, {
      chain: fixture.chain,
      contract,
      changes,
      idempotencyKey: Object.keys(changes).join(),
    });
  const update = await accept({ royaltiesBps: 250n });
  const config = async () =>
    (
      await fixture.services
        .rpc(fixture.chain)
        .readContract({ address: contract, abi: collectionAbi, functionName: "getInfo" })
    ).runtimeConfig;
  const before = await config();
  fixture.proxy.forced = "config-of-another-date";
  const soon = await submitIntent(fixture.services, fixture.chain, update);
  expect(soon).toMatchObject({
    kind: "waiting",
    reason: "the endpoints do not say the same of this contract's configuration",
  });
  fixture.proxy.forced = "";
  expect(await submitIntent(fixture.services, fixture.chain, update)).toMatchObject({ kind: "signed" });
  await fixture.resend();
  await fixture.mine(2);
  await fixture.work(2);
  expect(await states()).toEqual(["finalized", "confirmed"]);
  // The first endpoint is behind the update, which does not keep the second one from answering.
  const next = await accept({ baseUri: "ipfs://next/" });
  fixture.proxy.forced = "head-stale";
  expect(await submitIntent(fixture.services, fixture.chain, next)).toMatchObject({ kind: "signed" });
  fixture.proxy.forced = "";
  await fixture.resend();
  await fixture.mine(8);
  await fixture.work(3);
  expect(await states()).toEqual(["finalized", "finalized", "finalized"]);
  expect(await config()).toEqual({ ...before, royaltiesBps: 250n, baseURI: "ipfs://next/" });
});

test("a receipt that one of two endpoints falsifies ends nothing, and is forgotten", async () => {
  await fixture.post();
  await fixture.mine();
  fixture.proxy.forced = "receipt-reverted-here";
  await fixture.work();
  expect(await states()).toEqual(["finalized", "finalized", "finalized", "mined_reverted"]);
  await fixture.mine(8);
  for (let round = 0; round < 6; round += 1) {
    await fixture.work();
    expect(["in_flight", "mined_reverted"]).toContain((await states())[3]);
  }
  fixture.proxy.forced = "";
  await fixture.work(4);
  expect(await states()).toEqual(["finalized", "finalized", "finalized", "finalized"]);
  expect(await fixture.finish(30_000)).toEqual([]);
});
