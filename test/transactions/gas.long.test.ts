import { createWalletClient, type Hex, http, parseEther } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Caller } from "../../src/auth/caller.ts";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import { findDeployedContract } from "../../src/collections/find-deployed-contract.ts";
import type { Services } from "../../src/services.ts";
import { explainIntent } from "../../src/transactions/accept/explain-intent.ts";
import { intrinsicGas } from "../../src/transactions/chain/fees.ts";
import { FaultProxy } from "../chaos/fault-proxy.ts";
import { SeededGenerator } from "../setup/seeded-generator.ts";
import { launch, RelayHarness } from "./harness.ts";

let h: RelayHarness;
let faulty: FaultProxy;
let services: Services;
let caller: Caller;
beforeAll(async () => {
  h = await RelayHarness.start();
  faulty = await FaultProxy.start(h.node.url, h.node.url, new SeededGenerator(1), async () => undefined);
  services = h.process({ RPC_URL_GOERLI: faulty.url });
  caller = await h.caller();
});
afterAll(async () => {
  await faulty?.stop();
  await h?.stop();
});

test.each<[string, Hex]>([
  ["nothing", "0x"],
  ["zeros", `0x${"00".repeat(500)}`],
  ["other bytes", `0x${"ab".repeat(500)}`],
  ["both", `0x${"ab00".repeat(700)}`],
])("a call with %s: the node takes it with the intrinsic gas, and with one less it does not", async (_, data) => {
  const account = privateKeyToAccount(generatePrivateKey());
  await h.chain.setBalance({ address: account.address, value: parseEther("10") });
  const wallet = createWalletClient({ account, transport: http(h.node.url) });
  const send = (gas: bigint) => wallet.sendTransaction({ to: account.address, data, gas, chain: null });
  await expect(send(intrinsicGas(data) - 1n)).rejects.toThrow();
  const hash = await send(intrinsicGas(data));
  expect((await h.chain.waitForTransactionReceipt({ hash })).gasUsed).toBe(intrinsicGas(data));
});

test("an estimate that no transaction could do with takes no nonce", async () => {
  const before = await h.chain.getTransactionCount({ address: h.relayer });
  faulty.forced = "estimate-nothing";
  const input = launch({ idempotencyKey: "nothing" });
  await expect(deployCollection(services, caller, input)).rejects.toMatchObject({ code: "service_unavailable" });
  expect((await services.pool.query("SELECT FROM service.nonce_reservation")).rowCount).toBe(0);
  faulty.forced = "";
  const { deployment } = await deployCollection(services, caller, input);
  await h.until(services, deployment.id, ["finalized"]);
  expect(await h.chain.getTransactionCount({ address: h.relayer })).toBe(before + 1);
});

test("with too low an estimate it runs out of gas, is repeated, and whoever has the first hash finds it", async () => {
  faulty.forced = "estimate-low";
  const { deployment } = await deployCollection(services, caller, launch());
  faulty.forced = "";
  await h.until(services, deployment.id, ["retried"]);
  const { rows } = await services.pool.query("SELECT id FROM service.intent WHERE root_id = $1 AND retry_number = 1", [
    deployment.id,
  ]);
  await h.until(services, rows[0].id, ["finalized"]);
  const first = await h.chain.getTransactionReceipt({ hash: deployment.transactionHash });
  expect(first.status).toBe("reverted");
  const found = await findDeployedContract(services, caller, {
    chain: "goerli",
    transactionHash: deployment.transactionHash,
  });
  expect(found.toLowerCase()).toBe(deployment.contract);
  expect(await h.chain.getCode({ address: deployment.contract })).toMatch(/^0x363d/);
  expect((await explainIntent(services.db, deployment.id))?.join("\n")).toContain("a node estimated too little gas");
});

test("what both tries cost is spent, and nothing stays reserved", async () => {
  let cost = 0n;
  const from = await h.chain.getBlockNumber();
  for (let number = 0n; number <= from; number += 1n) {
    const { transactions } = await h.chain.getBlock({ blockNumber: number, includeTransactions: true });
    for (const { hash, to } of transactions) {
      if (to !== h.factory.address.toLowerCase()) continue;
      const { gasUsed, effectiveGasPrice, from: sender } = await h.chain.getTransactionReceipt({ hash });
      if (sender === h.relayer && number > h.factory.block + 1n) cost += gasUsed * effectiveGasPrice;
    }
  }
  const { rows } = await services.pool.query(
    "SELECT reserved, spent FROM service.budget WHERE scope LIKE 'tenant:%' OR scope = 'global' ORDER BY scope",
  );
  expect(rows).toEqual([
    { reserved: "0", spent: "3" },
    { reserved: "0", spent: cost.toString() },
  ]);
});

test("a node that always estimates too little: the deployment fails for good after its third try", async () => {
  faulty.forced = "estimate-low";
  const { deployment } = await deployCollection(services, caller, launch());
  for (const retry of [1, 2]) {
    const earlier = retry - 1;
    const id = async (wanted: number) =>
      (
        await services.pool.query("SELECT id FROM service.intent WHERE (root_id, retry_number) = ($1, $2)", [
          deployment.id,
          wanted,
        ])
      ).rows[0].id;
    await h.until(services, await id(earlier), ["retried"]);
    if (retry === 2) await h.until(services, await id(2), ["failed_onchain"]);
  }
  faulty.forced = "";
  expect(await h.chain.getCode({ address: deployment.contract })).toBeUndefined();
});
