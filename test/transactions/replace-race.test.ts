import { afterAll, beforeAll, expect, test } from "vitest";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import { getIntent } from "../../src/transactions/store/intents.ts";
import { findReservation, listAttempts } from "../../src/transactions/store/nonces.ts";
import { replaceAttempt } from "../../src/transactions/submit/sign-attempt.ts";
import { goerli, launch, RelayHarness } from "./harness.ts";

let h: RelayHarness;
beforeAll(async () => {
  h = await RelayHarness.start();
});
afterAll(() => h?.stop());

test("two workers that replace the same bytes at once sign one replacement, also when one of them has to reserve more", async () => {
  const [one, two] = [h.process(), h.process()];
  await h.chain.setAutomine(false);
  const { deployment } = await deployCollection(one, await h.caller(), launch());
  await h.untilState(deployment.id, ["in_flight"]);
  const reservation = await findReservation(one.db, deployment.id);
  const attempts = await listAttempts(one.db, deployment.id);
  const [first] = attempts;
  if (!first || !reservation) throw new Error("a signed deployment is wanted");
  const head = (first.head_block ?? 0n) + 3n;
  const fees = { maxFeePerGas: BigInt(first.max_fee), maxPriorityFeePerGas: BigInt(first.tip) };
  // What is reserved pays for this one.
  await one.pool.query(
    "UPDATE service.intent SET reserved_wei = reserved_wei * 2, version = version + 1 WHERE id = $1",
    [deployment.id],
  );
  const enough = await getIntent(one.db, deployment.id);
  expect(
    await replaceAttempt(one, goerli(one), enough, reservation, attempts, { head, fees, dataByteWei: 0n }),
  ).not.toBeNull();

  // The other one read the rows before that, and wants fees that take more.
  const dear = { ...fees, maxFeePerGas: fees.maxFeePerGas * 100n };
  const late = await replaceAttempt(two, goerli(two), enough, reservation, attempts, {
    head,
    fees: dear,
    dataByteWei: 0n,
  });
  expect(late).toBeNull();
  expect(await listAttempts(one.db, deployment.id)).toHaveLength(2);
});
