import { afterAll, beforeAll, expect, test } from "vitest";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import { findReservation } from "../../src/transactions/store/nonces.ts";
import { FaultProxy } from "../chaos/fault-proxy.ts";
import { SeededGenerator } from "../setup/seeded-generator.ts";
import { launch, RelayHarness } from "./harness.ts";
import { loseRows } from "./lost-rows.ts";

let h: RelayHarness;
let faulty: FaultProxy;
beforeAll(async () => {
  h = await RelayHarness.start();
  faulty = await FaultProxy.start(h.node.url, h.node.url, new SeededGenerator(1), async () => undefined);
});
afterAll(async () => {
  await faulty?.stop();
  await h?.stop();
});

test.each([
  ["nonce-ahead", "too many"],
  ["nonce-zero", "none"],
])("%s: no wallet begins while one of two endpoints says that its wallet has sent %s", async (fault) => {
  const services = h.process({ RPC_URL_GOERLI: `${faulty.url},${h.node.url}` });
  const caller = await h.caller();
  const input = launch({ idempotencyKey: fault });
  await services.pool.query("TRUNCATE service.relayer_wallet CASCADE");
  faulty.forced = fault;
  await expect(deployCollection(services, caller, input)).rejects.toMatchObject({
    code: "service_unavailable",
    message: expect.stringContaining("do not agree on how many transactions the paying wallet has sent"),
  });
  expect((await services.pool.query("SELECT FROM service.relayer_wallet")).rowCount).toBe(0);
  faulty.forced = "";
  const count = BigInt(await h.chain.getTransactionCount({ address: h.relayer }));
  const { deployment } = await deployCollection(services, caller, input);
  expect((await findReservation(services.db, deployment.id))?.nonce).toBe(count);
  await h.until(services, deployment.id, ["finalized"]);
});

test("a wallet whose first nonces are all lost: what lies between those that are taken over is recorded", async () => {
  const services = h.process();
  const caller = await h.caller();
  const ask = async (idempotencyKey: string) => {
    const input = launch({ idempotencyKey });
    const { deployment } = await deployCollection(services, caller, input);
    return { input, ...deployment, nonce: (await findReservation(services.db, deployment.id))?.nonce };
  };
  const [lowest, middle, highest] = [await ask("lowest"), await ask("middle"), await ask("highest")];
  for (const { id } of [lowest, middle, highest]) await h.until(services, id, ["finalized"]);
  await loseRows(services.pool, [lowest.id, middle.id, highest.id], h.relayer);
  await services.pool.query("TRUNCATE service.relayer_wallet CASCADE");

  const after = h.process();
  for (const { input, id, transactionHash, nonce } of [highest, lowest]) {
    expect((await deployCollection(after, caller, input)).deployment.transactionHash).toBe(transactionHash);
    expect(await findReservation(after.db, id)).toMatchObject({ nonce });
  }
  await h.until(after, lowest.id, ["finalized"]);
  const { rows } = await after.pool.query(
    `SELECT s.nonce, s.intent_id, s.state, '0x' || encode(a.hash, 'hex') AS hash FROM service.nonce_reservation s
     LEFT JOIN service.attempt a USING (chain_id, addr, nonce) ORDER BY s.nonce`,
  );
  const recorded = ({ nonce, transactionHash }: typeof lowest, intent_id: string | null) => ({
    nonce,
    intent_id,
    state: "mined",
    hash: transactionHash,
  });
  expect(rows).toEqual([recorded(lowest, lowest.id), recorded(middle, null), recorded(highest, highest.id)]);
  // What was forgotten is not taken for another installation's.
  expect((await after.pool.query("SELECT FROM service.external_transaction")).rowCount).toBe(0);
});
