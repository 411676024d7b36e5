import { type Address, createTestClient, createWalletClient, http, parseEther } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { collectionFactoryAbi } from "../../contracts/abi/collection-factory.ts";
import { readStatus } from "../../src/accounts/read-status.ts";
import { watchStatus } from "../../src/accounts/status-gauges.ts";
import type { Caller } from "../../src/auth/caller.ts";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import { toAddress } from "../../src/db/bytes.ts";
import type { Services } from "../../src/services.ts";
import { relayerRole } from "../../src/signing/rules.ts";
import { createMetrics } from "../../src/telemetry/metrics.ts";
import { findReservation } from "../../src/transactions/store/nonces.ts";
import { ServiceProcess } from "../setup/service-process.ts";
import { patient } from "../setup/wait.ts";
import { goerli, launch, RelayHarness } from "./harness.ts";

let h: RelayHarness;
let worker: ServiceProcess;
let services: Services;
let caller: Caller;
const secondKey = generatePrivateKey();
const second = privateKeyToAccount(secondKey).address.toLowerCase() as Address;
const done = ["confirmed", "finalized"];

beforeAll(async () => {
  h = await RelayHarness.start();
  await h.chain.setBalance({ address: second, value: parseEther("1000") });
  const keys = { RELAYER_KEY_GOERLI: `${h.relayerKey},${secondKey}` };
  services = h.process(keys);
  caller = await h.caller();
  worker = await ServiceProcess.start("worker", { ...h.environment(), ...keys, LOG_LEVEL: "info" });
});
afterEach(() => node().setAutomine(true));
afterAll(async () => {
  await worker?.end();
  await h?.stop();
});

const node = () => createTestClient({ mode: "hardhat", transport: http(h.node.url) });

/** The factory's administrator gives or takes the relayer role. */
async function setRole(functionName: "grantRole" | "revokeRole", wallet: Address, mine = true): Promise<void> {
  const [admin = wallet] = (await h.chain.request({ method: "eth_accounts" } as never)) as Address[];
  const hash = await createWalletClient({ transport: http(h.node.url) }).writeContract({
    account: admin,
    address: h.factory.address,
    abi: collectionFactoryAbi,
    functionName,
    args: [relayerRole, wallet],
    gas: 200_000n,
    // Ahead of what waits; what is mined at once must not raise the fees that deployments are made with.
    ...(mine ? {} : { maxPriorityFeePerGas: 10n ** 12n, maxFeePerGas: 10n ** 13n }),
    chain: null,
  });
  if (mine) await h.chain.waitForTransactionReceipt({ hash });
}

const chainStatus = async () => (await readStatus(services)).chains.find(({ chain }) => chain === "goerli");
const roles = async () => (await chainStatus())?.wallets.map(({ wallet, hasRole }) => ({ wallet, hasRole }));
const reported = (text: string) =>
  worker.output
    .split("\n")
    .filter((line) => line.includes(text))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
const senderOf = async (id: string) => toAddress((await findReservation(services.db, id))?.addr ?? Buffer.alloc(20));

test("a configured wallet without its role is named at the start, in the status, the metrics and the log", async () => {
  await expect.poll(roles, patient).toEqual([
    { wallet: h.relayer, hasRole: true },
    { wallet: second, hasRole: false },
  ]);
  expect((await chainStatus())?.troubles).toContain("wallet_without_role");
  const metrics = createMetrics("test");
  watchStatus(metrics, services);
  const text = await metrics.registry.metrics();
  expect(text).toContain(`mintyard_wallet_has_role{chain="goerli",wallet="${h.relayer}",process="test"} 1`);
  expect(text).toContain(`mintyard_wallet_has_role{chain="goerli",wallet="${second}",process="test"} 0`);
  await expect
    .poll(() => reported("a paying wallet has no relayer role"), patient)
    .toMatchObject([{ chain: "goerli", wallet: second, action: expect.stringContaining("mintyard wallets grant") }]);
});

test("without a role in any wallet a deployment waits, and goes on by itself once it is granted", async () => {
  await setRole("revokeRole", h.relayer);
  const refused = await deployCollection(services, caller, launch({ idempotencyKey: "waits" })).catch((error) => error);
  expect(refused).toMatchObject({
    code: "service_unavailable",
    message: expect.stringContaining("no paying wallet has the factory's relayer role"),
  });
  await expect
    .poll(() => reported("a paying wallet has no relayer role").map(({ wallet }) => wallet), patient)
    .toEqual([second, h.relayer]);
  await expect.poll(roles, patient).toContainEqual({ wallet: h.relayer, hasRole: false });
  await setRole("grantRole", h.relayer);
  await h.untilState(refused.details.deployment, done);
  await expect.poll(roles, patient).toContainEqual({ wallet: h.relayer, hasRole: true });
  await expect
    .poll(() => reported("has the relayer role again"), patient)
    .toMatchObject([{ chain: "goerli", wallet: h.relayer }]);
});

test("a wallet that was granted the role deploys without a restart, and one that lost it is passed by at once", async () => {
  await setRole("grantRole", second);
  await setRole("revokeRole", h.relayer);
  const made = await Promise.all(Array.from({ length: 3 }, () => deployCollection(services, caller, launch())));
  for (const { deployment } of made) {
    await h.untilState(deployment.id, done);
    expect(await senderOf(deployment.id)).toBe(second);
  }
  await setRole("grantRole", h.relayer);
  await expect.poll(() => services.relay.deployers(goerli(services)), patient).toEqual([h.relayer, second]);
});

test("a deployment that is refused because its wallet lost the role on the way is sent by another wallet", async () => {
  await setRole("revokeRole", second);
  await expect.poll(() => services.relay.deployers(goerli(services)), patient).toEqual([h.relayer]);
  await node().setAutomine(false);
  const { deployment } = await deployCollection(services, caller, launch());
  await expect
    .poll(() => h.chain.getTransaction({ hash: deployment.transactionHash }).catch(() => null), patient)
    .not.toBeNull();
  await setRole("revokeRole", h.relayer, false);
  await setRole("grantRole", second, false);
  await node().mine({ blocks: 1 });
  await node().setAutomine(true);
  expect((await h.chain.getTransactionReceipt({ hash: deployment.transactionHash })).status).toBe("reverted");
  await h.untilState(deployment.id, ["retried"]);
  const { rows } = await services.pool.query("SELECT id FROM service.intent WHERE root_id = $1 AND retry_number = 1", [
    deployment.id,
  ]);
  await h.untilState(rows[0].id, done);
  expect(await senderOf(rows[0].id)).toBe(second);
});
