import { readFile, writeFile } from "node:fs/promises";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { parseGwei } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { defaultPlans } from "../../src/auth/plans.ts";
import { knownChains } from "../../src/chains.ts";
import { loadConfig } from "../../src/config/config.ts";
import { createServices } from "../../src/processes/create-services.ts";
import { createHttpServer } from "../../src/server/http-server.ts";
import type { Services } from "../../src/services.ts";
import { createMetrics } from "../../src/telemetry/metrics.ts";
import { createRelayMemory } from "../../src/transactions/track/loop-steps.ts";
import { createIndexedDatabase } from "../setup/database.ts";
import type { NftFixture } from "../setup/nft-fixture.ts";
import { send } from "../setup/send.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { wait } from "../setup/wait.ts";
import { goerli, launch, RelayHarness } from "../transactions/harness.ts";
import { OwnWorker } from "../transactions/own-worker.ts";
import { relayRound } from "../transactions/round.ts";
import { buildPages } from "../web/web-fixture.ts";
import { attackTable } from "./attack-table.ts";
import { type Bill, type Billed, billed as billOf, billOfAccount, billOfAddress, sumOf } from "./bill.ts";
import { Meter } from "./meter.ts";
import { listOperations } from "./operations.ts";
import { pricesEur } from "./prices.ts";
import { describeCosts, describeOperations } from "./rows.ts";
import { Stage } from "./stage.ts";
import { compareTable, costsTable, operationsTable, withTable } from "./table.ts";
import { attackEverything } from "./walk.ts";

const document = join(import.meta.dirname, "../../docs/limits.md");
const free = defaultPlans.free;
/** The numbers that this file is about, as an operator has them by default. */
const dayEur = 1;
const monthEur = 5;
const noKeyDayEur = 0.05;

let h: RelayHarness;
let services: Services;
let worker: Services;
let server: Server;
const dir = temporaryFolder();
let key: string;
let stage: Stage;
let index: NftFixture | undefined;
let billed: Billed[] = [];
/** The same as a machine has it that is three times as fast: what holds there holds here, whatever else this one does. */
let billedElsewhere: Billed[] = [];
const faster = 3;

beforeAll(async () => {
  h = await RelayHarness.start(
    async () => {
      const made = await createIndexedDatabase([31337]);
      [index] = made.nfts;
      return made.database;
    },
    { withOperator: true },
  );
  const env = { MINTYARD_DATA_DIR: dir, COIN_EUR_GOERLI: String(pricesEur.coin), BUDGET_TENANT_DAY_GOERLI: "200" };
  const config = loadConfig({ ...h.environment(), MAX_FEE_GWEI_GOERLI: "3000", ...env });
  worker = h.process();
  services = OwnWorker.within(createServices(config, "test", { tenants: true, withoutSigner: true }), worker);
  server = createHttpServer(services, { metrics: createMetrics("api") });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  key = (await ask("POST", "/v0/signup", { name: "Ada" })).api_key;
});
afterAll(async () => {
  await stage?.close();
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
  for (let index = 0; index < (free.maxContracts ?? 0); index += 1) {
    await usualFees();
    const answer = await ask("POST", "/v0/contracts/collections", deployment(index));
    expect(answer, JSON.stringify(answer)).toMatchObject({ response: "OK" });
    hashes.push(answer.transaction_hash);
    reserved += (await account()).reserved;
    await settle();
  }
  const [{ address = "" } = {}] = (
    await h.database.pool.query("SELECT '0x' || encode(predicted_addr, 'hex') AS address FROM service.intent LIMIT 1")
  ).rows;
  const update = (bps: number) =>
    graphql(`mutation { updateCollection(input: { chain: "goerli", collection: "${address}", royaltiesBps: ${bps},
      prerevealTokenUri: "ipfs://${"b".repeat(400)}${bps}" }) { update { transactionHash } userErrors { code message } } }`);
  const updates = (free.transactionsPerDay ?? 0) - (free.maxContracts ?? 0);
  for (let index = 0; index < updates; index += 1) {
    await usualFees();
    const answer = await update(100 + index);
    const hash = answer.data?.updateCollection.update?.transactionHash;
    expect(hash, JSON.stringify(answer)).toMatch(/^0x/);
    hashes.push(hash);
    reserved += (await account()).reserved;
    await settle();
  }
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
  const tight = OwnWorker.within(createServices(config, "test"));
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

/** Each in turn, so that what one attack causes is not counted to another. */
test("every operation is attacked with a key and without one", async () => {
  await buildPages();
  const folder = join(dir, "attacked");
  stage = await Stage.open(h, folder);
  if (!index) throw new Error("no index");
  const attacker = await stage.signUp();
  const target = await stage.prepare(stage.asker(attacker), index);
  const outgoing = () => stage.hostile.requests;
  const { proxy, database } = h;
  const { clientMs } = stage;
  const meter = new Meter({ proxy, pool: database.pool, dataDir: folder, outgoing, clientMs });
  const startedAt = process.cpuUsage();
  const found = await attackEverything(stage, meter, target, attacker);
  const { user, system } = process.cpuUsage(startedAt);
  billed = found.map(billOf);
  billedElsewhere = found.map((one) => {
    const { processorMs, databaseMs } = one.cost;
    return billOf({
      ...one,
      cost: { ...one.cost, processorMs: processorMs / faster, databaseMs: databaseMs / faster },
    });
  });
  for (const { attacker: who, operation, worst, statuses, cost, bound, dayEur: eur, monthEur: month } of billed)
    console.info(JSON.stringify({ who, operation, worst, statuses: statuses.join(), bound, eur, month, ...cost }));
  console.info(`${found.length} attacks, ${((user + system) / 1e6).toFixed(0)} s of this process`);
  const attacked = new Set(found.map(({ operation }) => operation));
  const left = listOperations().filter((operation) => !attacked.has(operation));
  expect(left.filter((operation) => !("cannotCost" in (attackTable[operation] ?? {})))).toEqual([]);
  // A request that broke the service would cost nothing here.
  const broken = found.filter(({ statuses }) => statuses.some((status) => status === 0 || status === 500));
  expect(broken.map(({ operation, worst }) => [operation, worst])).toEqual([]);
});

/** A free account's share of gas on Polygon, where it is the only chain. */
function gasEur(wei: "freeAccountDayWei" | "freeAccountMonthWei"): number {
  const { relay } = loadConfig({
    DATABASE_URL: "postgres://localhost/none",
    RPC_URL_POLYGON: "http://127.0.0.1:9",
  }).chains[0] ?? { relay: null };
  expect(knownChains["polygon"]?.id).toBe(137);
  return (Number(relay?.[wei] ?? Number.NaN) / 1e18) * pricesEur.coin;
}

/** Calls, rows and bytes are the same on every machine; of processor time there is as much as this one and its other work take. */
function expectAtMost(most: number, whose: string, of: (billed: readonly Billed[]) => Bill): void {
  const [here, elsewhere] = [of(billed), of(billedElsewhere)];
  console.info(`${whose}: ${sumOf(here).toFixed(3)} EUR`, JSON.stringify(here));
  expect(sumOf(elsewhere), JSON.stringify(here)).toBeLessThanOrEqual(most);
}

test("a free account costs the operator at most a euro a day, with everything used up by the dearest there is", () => {
  const gas = gasEur("freeAccountDayWei");
  expectAtMost(dayEur, "a free account's day", (all) => billOfAccount(all, 1, gas));
});

test("and at most five euros a month", () => {
  const gas = gasEur("freeAccountMonthWei");
  expectAtMost(monthEur, "a free account's month", (all) => billOfAccount(all, 30, gas));
});

test("an address without a key costs at most five cents a day", () => {
  expectAtMost(noKeyDayEur, "an address's day", billOfAddress);
});

test("the tables in docs/limits.md say what was measured", async () => {
  const writes = process.env["LIMITS_WRITE"] === "1";
  const headroom = writes ? 2 : 1;
  const costs = describeCosts({ billed, gasOfOne, reservedBySpent, dayEur, monthEur, headroom });
  const operations = describeOperations(billed, headroom);
  const text = await readFile(document, "utf8");
  if (writes) await writeFile(document, withTable(withTable(text, costsTable, costs), operationsTable, operations));
  else
    expect([...compareTable(text, costsTable, costs), ...compareTable(text, operationsTable, operations)]).toEqual([]);
});
