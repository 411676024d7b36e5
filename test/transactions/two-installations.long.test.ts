import { execFile } from "node:child_process";
import { join } from "node:path";
import { createWalletClient, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readStatus } from "../../src/accounts/read-status.ts";
import { watchStatus } from "../../src/accounts/status-gauges.ts";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import type { Services } from "../../src/services.ts";
import { createMetrics } from "../../src/telemetry/metrics.ts";
import { bareEnvironment } from "../setup/bare-environment.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { ServiceProcess } from "../setup/service-process.ts";
import { patient } from "../setup/wait.ts";
import { launch, RelayHarness } from "./harness.ts";

const root = join(import.meta.dirname, "../..");

/** One installation: a database and a worker of its own. */
interface Installation {
  services: Services;
  worker: ServiceProcess;
  database: TestDatabase;
  env: Record<string, string>;
}

let h: RelayHarness;
let one: Installation;
let two: Installation;
beforeAll(async () => {
  h = await RelayHarness.start();
  one = await install(h.database);
  two = await install(await createTestDatabase());
});
afterAll(async () => {
  await one?.worker.end();
  await two?.worker.end();
  await h?.stop();
  await two?.database.drop();
});

async function install(database: TestDatabase): Promise<Installation> {
  const env = { ...h.environment(), DATABASE_URL: database.url, LOG_LEVEL: "info" };
  const worker = await ServiceProcess.start("worker", env);
  return { services: h.process({ DATABASE_URL: database.url }), worker, database, env };
}

async function deploy({ services, database }: Installation): Promise<string> {
  const { deployment } = await deployCollection(services, await h.caller("growth", services), launch());
  // Where both took one nonce, the request goes on with another one.
  const state = async () => {
    const query = "SELECT state FROM service.intent WHERE root_id = $1 ORDER BY retry_number DESC LIMIT 1";
    return (await database.pool.query(query, [deployment.id])).rows[0]?.state;
  };
  await expect.poll(state, patient).toMatch(/^(confirmed|finalized)$/);
  return deployment.id;
}

/** What a command says, whatever its exit code. */
async function mintyard(line: string, { env }: Installation): Promise<string> {
  const own = { ...bareEnvironment, HOME: process.env["HOME"] };
  return await new Promise((done) =>
    execFile(process.execPath, ["bin/mintyard.ts", line], { cwd: root, env: { ...own, ...env } }, (_, stdout) =>
      done(stdout),
    ),
  );
}

const chainOf = async ({ services }: Installation) =>
  (await readStatus(services)).chains.find(({ chain }) => chain === "goerli");
const recordedBy = ({ worker }: Installation) =>
  worker.output
    .split("\n")
    .filter((line) => line.includes("two installations use one paying wallet"))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
const externalOf = async (installation: Installation) =>
  (await chainOf(installation))?.wallets[0]?.externalTransactions;

test("a wallet that one installation uses alone is nobody else's, whatever it sends", async () => {
  await deploy(one);
  await deploy(one);
  expect(await chainOf(one)).toMatchObject({ troubles: expect.not.arrayContaining(["wallet_shared"]) });
  expect(recordedBy(one)).toEqual([]);
});

test("an idle installation notices that another one deploys with its wallet, and says so everywhere", async () => {
  const id = await deploy(two);
  await expect.poll(() => externalOf(one), patient).toBe(1);
  expect((await chainOf(one))?.troubles).toContain("wallet_shared");
  await expect
    .poll(() => recordedBy(one), patient)
    .toMatchObject([
      { chain: "goerli", wallet: h.relayer, deployment: id, action: expect.stringContaining("a wallet of its own") },
    ]);
  const metrics = createMetrics("test");
  watchStatus(metrics, one.services);
  expect(await metrics.registry.metrics()).toContain(
    `mintyard_wallet_external_transactions_total{chain="goerli",wallet="${h.relayer}",process="test"} 1`,
  );
  expect(await mintyard("wallets", one)).toMatch(
    /has its role, ANOTHER INSTALLATION sent 1 transactions, the last seen 20/,
  );
  expect(await mintyard("doctor", one)).toMatch(
    /FAIL W2 no other installation has used a paying wallet.*: 1 faults\n.*\n {7}fix: another installation/,
  );
});

test("both go on deploying, each collection stands once, and the other one notices too", async () => {
  const made = await Promise.all([deploy(one), deploy(two), deploy(one), deploy(two)]);
  const announced = await h.announced();
  expect(announced).toHaveLength(7);
  expect(new Set(announced.map(({ intentId }) => intentId)).size).toBe(7);
  expect(new Set(made).size).toBe(4);
  await expect.poll(() => externalOf(one), patient).toBe(3);
  await expect.poll(() => externalOf(two), patient).toBe(2);
});

test("a plain transfer of an operator is named as such, and not as another installation", async () => {
  const before = [await externalOf(one), recordedBy(one).length];
  const wallet = createWalletClient({ account: privateKeyToAccount(h.relayerKey), transport: http(h.node.url) });
  const hash = await wallet.sendTransaction({ to: `0x${"12".repeat(20)}`, value: 1n, chain: null });
  await h.chain.waitForTransactionReceipt({ hash });
  await expect.poll(async () => (await chainOf(one))?.walletStates[0]?.state, patient).toBe("reconcile");
  expect(one.worker.output).toContain("external transactions from the paying wallet");
  expect([await externalOf(one), recordedBy(one).length]).toEqual(before);
});
