import { afterAll, beforeAll, expect, test } from "vitest";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import { findSlot } from "../../src/relay/store/nonces.ts";
import { Dice } from "../chaos/dice.ts";
import { FaultProxy } from "../chaos/fault-proxy.ts";
import { launch, RelayHarness } from "./harness.ts";

let h: RelayHarness;
let liar: FaultProxy;
beforeAll(async () => {
  h = await RelayHarness.start();
  liar = await FaultProxy.start(h.node.url, h.node.url, new Dice(1), async () => undefined);
});
afterAll(async () => {
  await liar?.stop();
  await h?.stop();
});

test.each([
  ["nonce-ahead", "too many"],
  ["nonce-zero", "none"],
])("%s: no lane begins while one of two endpoints says that its wallet has sent %s", async (lie) => {
  const services = h.process({ RPC_URL_GOERLI: `${liar.url},${h.node.url}` });
  const caller = await h.caller();
  const input = launch({ idempotencyKey: lie });
  await services.pool.query("TRUNCATE service.lane CASCADE");
  liar.forced = lie;
  await expect(deployCollection(services, caller, input)).rejects.toMatchObject({
    code: "service_unavailable",
    message: expect.stringContaining("do not agree on how many transactions the paying wallet has sent"),
  });
  expect((await services.pool.query("SELECT FROM service.lane")).rowCount).toBe(0);
  liar.forced = "";
  const count = BigInt(await h.chain.getTransactionCount({ address: h.relayer }));
  const { deployment } = await deployCollection(services, caller, input);
  expect((await findSlot(services.db, deployment.id))?.nonce).toBe(count);
  await h.until(services, deployment.id, ["finalized"]);
});
