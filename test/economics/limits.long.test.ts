import { readFile, writeFile } from "node:fs/promises";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { parseGwei } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { questionsOfDay } from "../../src/accounts/admit-address.ts";
import { defaultPlans } from "../../src/auth/plans.ts";
import { knownChains } from "../../src/chains.ts";
import { loadConfig } from "../../src/config/config.ts";
import { mostFailed, shownOfEndpoint } from "../../src/events/webhook-results.ts";
import { createServices } from "../../src/processes/create-services.ts";
import { createRelayMemory } from "../../src/relay/track/loop-steps.ts";
import { createHttpServer } from "../../src/server/http-server.ts";
import type { Services } from "../../src/services.ts";
import { createMetrics } from "../../src/telemetry/metrics.ts";
import { goerli, launch, RelayHarness, randomAddress } from "../relay/harness.ts";
import { relayRound } from "../relay/round.ts";
import { createIndexedDatabase } from "../setup/database.ts";
import { send } from "../setup/send.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { wait } from "../setup/wait.ts";
import { type Cost, Meter } from "./meter.ts";
import { pricesEur } from "./prices.ts";
import { costOf, describeCosts, messageMs } from "./rows.ts";
import { compareTable, withTable } from "./table.ts";

const document = join(import.meta.dirname, "../../docs/limits.md");
const free = defaultPlans.free;
/** The number that this file is about, as an operator has it by default. */
const dayEur = 1;
const noKeyDayEur = 0.05;

let h: RelayHarness;
let services: Services;
let worker: Services;
let server: Server;
const dir = temporaryFolder();
let key: string;
let meter: Meter;
const seen: Record<string, Cost> = {};

beforeAll(async () => {
  h = await RelayHarness.start(async () => (await createIndexedDatabase([31337])).database);
  const env = { MINTYARD_DATA_DIR: dir, COIN_EUR_GOERLI: String(pricesEur.coin), BUDGET_TENANT_DAY_GOERLI: "200" };
  const config = loadConfig({ ...h.environment(), MAX_FEE_GWEI_GOERLI: "3000", ...env });
  services = createServices(config, "test", { tenants: true });
  worker = h.process();
  server = createHttpServer(services, { metrics: createMetrics("api") });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  meter = new Meter(h.proxy, h.database.pool);
  seen["sign-up"] = await meter.measure(1, async () => {
    key = (await ask("POST", "/v0/signup", { name: "Ada" })).api_key;
  });
});
afterAll(async () => {
  server?.closeAllConnections();
  await new Promise((done) => server?.close(done));
  await services?.auth.usage.flush();
  await services?.content.close();
  await services?.pool.end();
  await h?.stop();
});

async function ask(method: string, path: string, body?: unknown, authorization = key) {
  const { port } = server.address() as AddressInfo;
  return (await send(`http://127.0.0.1:${port}${path}`, { method, key: authorization, body })).body;
}

/** What Polygon costs on a usual day; empty blocks make it cheaper. */
async function usualFees(): Promise<void> {
  await h.chain.setNextBlockBaseFeePerGas({ baseFeePerGas: parseGwei("50") });
  await h.chain.mine({ blocks: 1 });
}

const graphql = (query: string, authorization = key) => ask("POST", "/graphql", { query }, authorization);

function deployment(index: number) {
  const { ownerAddress, treasuryAddress } = launch();
  return {
    chain: "goerli",
    name: `Limits ${index}`,
    symbol: "LIM",
    max_supply: 100,
    mint_price: 0.01,
    tokens_per_mint: 5,
    owner_address: ownerAddress,
    treasury_address: treasuryAddress,
    public_mint_start_date: "2022-07-12T11:30:48Z",
    public_mint_start: "2022-07-12T11:30:48+00:00",
    metadata_updatable: true,
    royalties_share: 500,
    royalties_address: ownerAddress,
    base_uri: "",
    prereveal_token_uri: `ipfs://bafkreiepfwroxy47wzvllrfyu5dwecz6blkiztzmc3r3frryasdve74zii/${"a".repeat(500)}`,
    presale_mint_start: "2022-07-11T11:30:48+00:00",
    presale_whitelisted_addresses: [ownerAddress],
  };
}

/** Until nothing is under way; rounds that find nothing to do are not counted to anybody. */
async function settle(): Promise<void> {
  const memory = createRelayMemory();
  const look = async () => {
    const { rows } = await h.database.pool.query(
      "SELECT FROM service.intent WHERE state NOT IN ('finalized', 'failed_onchain', 'cancelled', 'expired', 'retried')",
    );
    if (rows.length > 0) await relayRound(worker, goerli(worker), memory);
    return rows.length;
  };
  await wait("the end of all requests", look, { until: (open) => open === 0 });
}

async function account(): Promise<{ id: string; spent: bigint; reserved: bigint }> {
  const { rows } = await h.database.pool.query(
    "SELECT sum(spent) AS spent, sum(reserved) AS reserved, split_part(min(scope), ':', 2) AS id FROM service.budget WHERE scope LIKE 'tenant:%'",
  );
  return { id: rows[0].id, spent: BigInt(rows[0].spent ?? 0), reserved: BigInt(rows[0].reserved ?? 0) };
}

let gasOfOne = 0;
let reservedBySpent = 0;

test("a free account does everything it can: each deployment and update costs what its plan counts", async () => {
  let reserved = 0n;
  const hashes: `0x${string}`[] = [];
  seen["deployment"] = await meter.measure(free.maxContracts ?? 0, async (index) => {
    await usualFees();
    const answer = await ask("POST", "/v0/contracts/collections", deployment(index));
    expect(answer, JSON.stringify(answer)).toMatchObject({ response: "OK" });
    hashes.push(answer.transaction_hash);
    reserved += (await account()).reserved;
    await settle();
  });
  const [{ address = "" } = {}] = (
    await h.database.pool.query("SELECT '0x' || encode(predicted_addr, 'hex') AS address FROM service.intent LIMIT 1")
  ).rows;
  const update = (bps: number) =>
    graphql(`mutation { updateCollection(input: { chain: "goerli", collection: "${address}", royaltiesBps: ${bps},
      prerevealTokenUri: "ipfs://${"b".repeat(400)}${bps}" }) { update { transactionHash } userErrors { code message } } }`);
  const updates = (free.transactionsPerDay ?? 0) - (free.maxContracts ?? 0);
  seen["update"] = await meter.measure(updates, async (index) => {
    await usualFees();
    const answer = await update(100 + index);
    const hash = answer.data?.updateCollection.update?.transactionHash;
    expect(hash, JSON.stringify(answer)).toMatch(/^0x/);
    hashes.push(hash);
    reserved += (await account()).reserved;
    await settle();
  });
  // And not one more of either.
  expect((await ask("POST", "/v0/contracts/collections", deployment(99))).error.code).toBe("plan_limit_exceeded");
  expect((await update(999)).data.updateCollection.userErrors).toMatchObject([{ code: "plan_limit_exceeded" }]);
  const receipts = await Promise.all(hashes.map((hash) => h.chain.getTransactionReceipt({ hash })));
  const cost = receipts.reduce((sum, { gasUsed, effectiveGasPrice }) => sum + gasUsed * effectiveGasPrice, 0n);
  expect((await account()).spent).toBe(cost);
  gasOfOne = Math.max(...receipts.map(({ gasUsed }) => Number(gasUsed)));
  reservedBySpent = Number((reserved * 100n) / cost) / 100;
  const allowed = goerli(services).relay.freeAccountDayWei ?? 0n;
  expect(cost).toBeLessThanOrEqual(allowed);
  expect((Number(allowed) / 1e18) * pricesEur.coin).toBeLessThanOrEqual(dayEur);
});

test("however dear the gas is, an account's day of it is what the operator's number says", async () => {
  const config = loadConfig({
    ...h.environment(),
    COIN_EUR_GOERLI: String(pricesEur.coin),
    FREE_ACCOUNT_DAY_EUR: "0.02",
    MAX_FEE_GWEI_GOERLI: "3000",
  });
  const tight = createServices(config, "test");
  const { deployCollection } = await import("../../src/collections/deploy-collection.ts");
  const caller = await h.caller("free");
  await usualFees();
  const answers = await Promise.allSettled(Array.from({ length: 5 }, () => deployCollection(tight, caller, launch())));
  await tight.pool.end();
  await settle();
  const refused = answers.flatMap((answer) => (answer.status === "rejected" ? [answer.reason] : []));
  expect(refused.length).toBeGreaterThan(0);
  for (const error of refused) expect(error).toMatchObject({ code: "rate_limit_exceeded" });
  const { rows } = await h.database.pool.query(
    "SELECT coalesce(sum(spent + reserved), 0) AS wei FROM service.budget WHERE scope LIKE $1",
    [`tenant:${caller.accountId}:%`],
  );
  expect((Number(rows[0].wei) / 1e18) * pricesEur.coin).toBeLessThanOrEqual(0.02);
});

test("everything else that a key can ask for", async () => {
  seen["dry run"] = await meter.measure(5, (index) =>
    ask("POST", "/v0/contracts/collections?dry_run=true", deployment(1_000 + index)),
  );
  seen["key"] = await meter.measure(5, (index) =>
    graphql(`mutation { createKey(name: "k${index}", scopes: [READ]) { key userErrors { code } } }`),
  );
  seen["upload"] = await meter.measure(5, (index) => {
    const form = new FormData();
    form.append("file", new Blob([`file ${index}`], { type: "text/plain" }), `${index}.txt`);
    return ask("POST", "/v0/files", form);
  });
  const wallet = randomAddress();
  seen["read"] = await meter.measure(20, () => ask("GET", `/v0/accounts/${wallet}?chain=ethereum`));
  seen["read (GraphQL)"] = await meter.measure(10, () => graphql("{ viewer { id usage { requestsThisPeriod } } }"));
});

test("what needs no key", async () => {
  const [{ address = "" } = {}] = (
    await h.database.pool.query("SELECT '0x' || encode(predicted_addr, 'hex') AS address FROM service.intent LIMIT 1")
  ).rows;
  seen["status"] = await meter.measure(10, () => ask("GET", "/status", undefined, ""));
  const question = `{ eligibility(chain: "goerli", collection: "${address}", wallet: "${randomAddress()}") { eligible } }`;
  seen["eligibility"] = await meter.measure(10, () => graphql(question, ""));
  seen["sale"] = await meter.measure(1, () => ask("GET", `/mint/goerli/${address}/sale`, undefined, ""));
  seen["refused"] = await meter.measure(10, () => ask("GET", "/v0/nfts?chain=goerli", undefined, ""));
});

const take = (name: string): Cost => costOf(seen, name);

/** Without gas, which has limits of its own. */
function eurOf({ rpcCalls, rows, processorMs }: Cost): number {
  const { rpcCall, rowDay, processorSecond } = pricesEur;
  return rpcCalls * rpcCall + rows * rowDay + (processorMs / 1_000) * processorSecond;
}

const dearest = (...names: string[]) => Math.max(...names.map((name) => eurOf(take(name))));

test("a free account costs the operator at most a euro a day on Polygon, gas at its limit included", () => {
  const { relay } = loadConfig({
    DATABASE_URL: "postgres://localhost/none",
    RPC_URL_POLYGON: "http://127.0.0.1:9",
  }).chains[0] ?? { relay: null };
  expect(knownChains["polygon"]?.id).toBe(137);
  const gas = (Number(relay?.freeAccountDayWei ?? Number.NaN) / 1e18) * pricesEur.coin;
  const transactions = free.transactionsPerDay ?? Number.NaN;
  const spending = (free.deployRequestsPerDay ?? Number.NaN) - transactions;
  const day = {
    gas,
    transactions: transactions * dearest("deployment", "update"),
    // Dry runs, refused requests, keys: whichever is dearest, all day.
    requests: spending * dearest("dry run", "key"),
    uploads: (free.uploadRequestsPerDay ?? Number.NaN) * dearest("upload"),
    messages: (free.webhookTriesPerDay ?? Number.NaN) * (messageMs / 1_000) * pricesEur.processorSecond,
    deliveries: (free.maxWebhooks ?? Number.NaN) * (shownOfEndpoint + mostFailed) * 7 * pricesEur.rowDay,
    disk: (Number(free.storageBytes) / 1e9) * pricesEur.gigabyteDay,
    // A month's reads in one day.
    reads: Number(free.requestsPerMonth) * dearest("read", "read (GraphQL)"),
  };
  const sum = Object.values(day).reduce((total, part) => total + part, 0);
  expect(sum, JSON.stringify(day)).toBeLessThanOrEqual(dayEur);
});

test("a block of addresses without a key costs at most five cents a day, in what is bounded", () => {
  const { signUpsPerDay } = services.config;
  expect((signUpsPerDay / 20) * eurOf(take("sign-up"))).toBeLessThanOrEqual(noKeyDayEur);
  // And an address that asks all its questions of a day, at the price of the calls that they cause.
  const { rpcCalls } = take("eligibility");
  expect(questionsOfDay.burst * rpcCalls * pricesEur.rpcCall).toBeLessThanOrEqual(noKeyDayEur);
});

test("the table in docs/limits.md says what was measured", async () => {
  const rows = describeCosts({ seen, gasOfOne, reservedBySpent, dayEur });
  const text = await readFile(document, "utf8");
  if (process.env["LIMITS_WRITE"] === "1") await writeFile(document, withTable(text, rows));
  else expect(compareTable(text, rows)).toEqual([]);
});
