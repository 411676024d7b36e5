import { afterAll, beforeAll, expect, test } from "vitest";
import type { Services } from "../../src/services.ts";
import { FaultProxy } from "../chaos/fault-proxy.ts";
import { SeededGenerator } from "../setup/seeded-generator.ts";
import { ProductScenario, randomAddress, uri } from "./scenario.ts";

let s: ProductScenario;
let faulty: FaultProxy;
/** A process with two endpoints that have to agree; the first one is faulty. */
let two: Services;
beforeAll(async () => {
  s = await ProductScenario.start();
  faulty = await FaultProxy.start(s.h.node.url, s.h.node.url, new SeededGenerator(1), async () => undefined);
  two = s.h.process({ RPC_URL_GOERLI: `${faulty.url},${s.h.node.url}`, RPC_QUORUM_GOERLI: "2" });
});
afterAll(async () => {
  await faulty?.stop();
  await s?.stop();
});

test("one endpoint's word refuses no mint where two have to agree", async () => {
  const contract = await s.contract();
  faulty.forced = "estimate-error";
  const asked = s.mint({ contract, tokens: [{ to: randomAddress(), uri }] }, two);
  // The faulty endpoint also holds the signing back: what counts is that the request was not called impossible.
  await expect(asked).rejects.toMatchObject({ code: "service_unavailable" });
  faulty.forced = "";
});

test("what both endpoints refuse is refused for good", async () => {
  const contract = await s.contract();
  const before = await s.sent();
  const to = s.h.operator?.address ?? "";
  await expect(s.mint({ contract, tokens: [{ to, uri }] }, two)).rejects.toMatchObject({ code: "value_error" });
  expect(await s.sent()).toBe(before);
});

test("while the operator is stopped, mints are told to come again, and do", async () => {
  const contract = await s.contract();
  const token = { to: randomAddress(), uri };
  const before = await s.sent();
  await s.h.pauseOperator(true);
  const asked = s.mint({ contract, tokens: [token] });
  await expect(asked).rejects.toMatchObject({ code: "service_unavailable", retryAfterSeconds: expect.any(Number) });
  expect(await s.sent()).toBe(before);
  // Also where the first endpoint refuses it in other words.
  faulty.forced = "estimate-error";
  await expect(s.mint({ contract, tokens: [token] }, two)).rejects.toMatchObject({ code: "service_unavailable" });
  faulty.forced = "";
  await s.h.pauseOperator(false);
  await s.ended(await s.mint({ contract, tokens: [token] }));
});
