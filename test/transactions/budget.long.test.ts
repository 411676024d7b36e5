import { parseEther } from "viem";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import type { Caller } from "../../src/auth/caller.ts";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import type { DeployCollectionInput } from "../../src/collections/deployment-input.ts";
import { monthGasShare } from "../../src/config/chain-settings.ts";
import type { ServiceError } from "../../src/errors/errors.ts";
import type { Services } from "../../src/services.ts";
import { cancelIntent } from "../../src/transactions/accept/cancel-intent.ts";
import { getIntent } from "../../src/transactions/store/intents.ts";
import { listAttempts } from "../../src/transactions/store/nonces.ts";
import { createRelayMemory } from "../../src/transactions/track/loop-steps.ts";
import { goerli, launch, RelayHarness } from "./harness.ts";
import { relayRound } from "./round.ts";

/** What an operator of a public chain has who sets nothing, and a chain that takes long to be final. */
const asPublic = {
  MAX_FEE_GWEI_GOERLI: "300",
  BUDGET_TENANT_DAY_GOERLI: "2",
  BUDGET_CHAIN_HOUR_GOERLI: "5",
  FINALITY_GOERLI: "500",
};
const gwei = 10n ** 9n;

let h: RelayHarness;
beforeAll(async () => {
  h = await RelayHarness.start();
});
afterAll(() => h?.stop());
beforeEach(async () => {
  await h.chain.setNextBlockBaseFeePerGas({ baseFeePerGas: gwei });
  await h.chain.mine({ blocks: 12 });
  await h.database.pool.query("TRUNCATE service.budget_entry, service.budget");
});
afterEach(async () => {
  await h.chain.setNextBlockBaseFeePerGas({ baseFeePerGas: gwei / 10n });
  await h.chain.setAutomine(true);
  await h.chain.mine({ blocks: 1 });
  const { rows } = await h.database.pool.query(
    "SELECT id FROM service.intent WHERE state NOT IN ('confirmed', 'finalized', 'cancelled', 'expired', 'retried')",
  );
  // What one test left under way is no business of the next one.
  const rest = h.process({ FINALITY_GOERLI: "500", MAX_FEE_GWEI_GOERLI: "10000" });
  for (const { id } of rows) {
    await cancelIntent(rest, (await getIntent(rest.db, id)).tenant_id, id).catch(() => null);
    await h.until(rest, id, ["mined", "mined_cancellation", "confirmed", "finalized", "cancelled"]);
  }
});

/** A request of about 8 KB: the largest that a deployment takes. */
const large = () => launch({ prerevealTokenUri: `ipfs://bafkrei${"a".repeat(7_900)}` });

interface Place {
  scope: string;
  reserved: bigint;
  spent: bigint;
  allowed: bigint;
}

async function places(like: string): Promise<Place[]> {
  const { rows } = await h.database.pool.query(
    "SELECT scope, sum(reserved) AS reserved, sum(spent) AS spent, sum(allowed) AS allowed FROM service.budget WHERE scope LIKE $1 GROUP BY 1",
    [like],
  );
  return rows.map((row) => ({
    scope: row.scope,
    reserved: BigInt(row.reserved),
    spent: BigInt(row.spent),
    allowed: BigInt(row.allowed),
  }));
}

async function place(like: string): Promise<Place> {
  const [found] = await places(like);
  return found ?? { scope: like, reserved: 0n, spent: 0n, allowed: 0n };
}

const ofChain = () => place(`chain:${h.node.id}`);

async function refusalOf(services: Services, caller: Caller, input: DeployCollectionInput): Promise<ServiceError> {
  return await deployCollection(services, caller, input).then(
    () => Promise.reject(new Error("it was accepted")),
    (error: ServiceError) => error,
  );
}

/** Deploys one and says what it reserved. */
async function reservationOfOne(services: Services, input = launch()): Promise<bigint> {
  const { deployment } = await deployCollection(services, await h.caller(), input);
  const reserved = BigInt((await getIntent(services.db, deployment.id)).reserved_wei);
  await h.until(services, deployment.id, ["confirmed"]);
  await h.database.pool.query("TRUNCATE service.budget_entry, service.budget");
  return reserved;
}

async function costOf(hash: `0x${string}`): Promise<bigint> {
  const { gasUsed, effectiveGasPrice } = await h.chain.getTransactionReceipt({ hash });
  return gasUsed * effectiveGasPrice;
}

test("three free keys with as many large deployments as their days hold leave almost all of the hour to a paid one", async () => {
  const api = h.process(asPublic);
  // Each counts five times, for its two million gas.
  for (const free of [await h.caller("free"), await h.caller("free"), await h.caller("free")])
    for (let count = 0; count < 4; count += 1) await deployCollection(api, free, large());
  const { reserved, spent } = await ofChain();
  expect(reserved + spent).toBeLessThan(parseEther("0.5"));
  await deployCollection(api, await h.caller("growth"), large());
});

test("what a transaction cost replaces its reservation when it is in a block, and a reorganisation puts it back", async () => {
  const api = h.process(asPublic);
  await h.chain.setAutomine(false);
  const snapshot = await h.chain.snapshot();
  const { deployment } = await deployCollection(api, await h.caller("free"), launch());
  const before = await ofChain();
  expect(before.spent).toBe(0n);
  // One round may miss on a busy machine, and then the block has nothing of it.
  await h.until(api, deployment.id, ["in_flight"]);
  await h.chain.mine({ blocks: 1 });
  await h.until(api, deployment.id, ["confirmed"]);
  const cost = await costOf(deployment.transactionHash);
  for (const like of ["chain%", "free%", "tenant:%"])
    for (const { scope, ...wei } of await places(like))
      if (scope !== "free") expect(wei, scope).toMatchObject({ reserved: 0n, spent: cost });
  expect(await place("global")).toMatchObject({ reserved: 0n, spent: 1n });
  await h.chain.revert({ id: snapshot });
  // The other branch has to be as long, or it is a node that lags.
  await h.chain.mine({ blocks: 1, interval: 7 });
  await h.until(api, deployment.id, ["in_flight"]);
  expect(await ofChain()).toMatchObject({ reserved: before.reserved, spent: 0n });
  await h.chain.setAutomine(true);
  await h.chain.mine({ blocks: 1 });
  await h.until(api, deployment.id, ["confirmed"]);
  expect(await ofChain()).toMatchObject({ reserved: 0n, spent: await costOf(deployment.transactionHash) });
});

test("free accounts together keep to their share of hour and day, and paid ones always have the rest", async () => {
  const one = await reservationOfOne(h.process(asPublic));
  // Room for about twelve reservations, a quarter of which is the free accounts'.
  const cap = (Number(one * 14n) / 1e18).toFixed(18);
  const env = { ...asPublic, BUDGET_CHAIN_HOUR_GOERLI: cap, BUDGET_CHAIN_DAY_GOERLI: cap, BUDGET_FREE_SHARE: "25" };
  const api = h.process(env);
  await h.chain.setAutomine(false);
  const answers = await Promise.allSettled(
    Array.from({ length: 10 }, async () => deployCollection(api, await h.caller("free"), launch())),
  );
  const refused = answers.flatMap((answer) => (answer.status === "rejected" ? [answer.reason as ServiceError] : []));
  expect(refused.length).toBeGreaterThan(5);
  expect(refused.length).toBeLessThan(10);
  for (const error of refused) {
    expect(error.code).toBe("service_unavailable");
    expect(error.message).toMatch(/free accounts/);
    expect(error.retryAfterSeconds).toBeGreaterThan(0);
  }
  for (const { scope, reserved, spent } of await places("free%"))
    if (scope !== "free") expect(reserved + spent, scope).toBeLessThanOrEqual((one * 14n) / 4n);
  for (let count = 0; count < 6; count += 1) await deployCollection(api, await h.caller("growth"), launch());
});

test("what free accounts cost together is bounded in euros, however many there are; paid ones are not in it", async () => {
  const one = await reservationOfOne(h.process(asPublic));
  // A coin is worth ten euros; room for about three reservations.
  const most = (Number(one * 32n) / 1e18).toFixed(6);
  const api = h.process({
    ...asPublic,
    COIN_EUR_GOERLI: "10",
    FREE_ACCOUNT_DAY_EUR: "50",
    FREE_ACCOUNTS_DAY_EUR: most,
  });
  await h.chain.setAutomine(false);
  const answers = await Promise.allSettled(
    Array.from({ length: 6 }, async () => deployCollection(api, await h.caller("free"), launch())),
  );
  const refused = answers.flatMap((answer) => (answer.status === "rejected" ? [answer.reason as ServiceError] : []));
  expect(refused.length).toBeGreaterThanOrEqual(3);
  expect(refused.length).toBeLessThan(6);
  for (const error of refused)
    expect(error).toMatchObject({ code: "service_unavailable", details: { limit: "free-eur" } });
  await deployCollection(api, await h.caller("growth"), launch());
  const done = answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value.deployment] : []));
  await h.chain.setAutomine(true);
  await h.chain.mine({ blocks: 1 });
  for (const { id } of done) await h.until(api, id, ["confirmed"]);
  const costs = await Promise.all(done.map(({ transactionHash }) => costOf(transactionHash)));
  const { spent, reserved } = await place("free-eur");
  // Millionths of a euro, each rounded up.
  const worth = Number(costs.reduce((sum, cost) => sum + cost, 0n)) / 1e11;
  expect(reserved).toBe(0n);
  expect(Number(spent) - worth).toBeGreaterThanOrEqual(0);
  expect(Number(spent) - worth).toBeLessThan(10 + worth / 1_000);
});

test("a free account's month is bounded beside its day, what was spent before counts, and a paid one has no such limit", async () => {
  const one = await reservationOfOne(h.process(asPublic));
  // A coin is worth ten euros: room for about three reservations, and for many in a day.
  const month = ((Number(one) * 32) / (Number(monthGasShare) / 100) / 1e18).toFixed(6);
  const api = h.process({
    ...asPublic,
    COIN_EUR_GOERLI: "10",
    FREE_ACCOUNT_DAY_EUR: "50",
    FREE_ACCOUNT_MONTH_EUR: month,
    FREE_ACCOUNTS_DAY_EUR: "50",
  });
  const caller = await h.caller("free");
  // Two thirds of it on another day of the month.
  await h.database.pool.query(
    `INSERT INTO service.budget (scope, period, allowed, spent)
     VALUES ($1, date_trunc('month', clock_timestamp()), $2, $2)`,
    [`tenant-month:${caller.accountId}:${h.node.id}`, String(one * 2n)],
  );
  const { deployment } = await deployCollection(api, caller, launch());
  const error = await refusalOf(api, caller, launch());
  expect(error).toMatchObject({ code: "rate_limit_exceeded", details: { limit: "tenant-month" } });
  expect(error.message).toMatch(/in a month \(UTC\)/);
  await deployCollection(api, await h.caller("free"), launch());
  await deployCollection(api, await h.caller("growth"), launch());
  await h.until(api, deployment.id, ["confirmed"]);
  expect(await place(`tenant-month:${caller.accountId}:%`)).toMatchObject({
    reserved: 0n,
    spent: one * 2n + (await costOf(deployment.transactionHash)),
  });
});

test("a limit that only waits for blocks is waited for; when it does not help, Retry-After is true", async () => {
  const one = await reservationOfOne(h.process(asPublic));
  const api = h.process({ ...asPublic, BUDGET_TENANT_DAY_GOERLI: (Number((one * 17n) / 10n) / 1e18).toFixed(18) });
  const caller = await h.caller("growth");
  await h.chain.setAutomine(false);
  const first = await deployCollection(api, caller, launch());
  const error = await refusalOf(api, caller, launch());
  expect(error).toMatchObject({ code: "rate_limit_exceeded" });
  expect(error.retryAfterSeconds).toBeLessThanOrEqual(60);
  await relayRound(api, goerli(api), createRelayMemory());
  const begun = performance.now();
  const second = deployCollection(api, caller, launch()).catch((refusal: ServiceError) => ({
    refusal,
    afterMs: performance.now() - begun,
  }));
  await h.chain.setAutomine(true);
  await h.chain.mine({ blocks: 1 });
  await h.until(api, first.deployment.id, ["confirmed"]);
  const answer = await second;
  if (!("refusal" in answer)) return;
  // On a busy machine the block is seen later than anybody waits; then there is room for the next one.
  expect(answer.refusal).toMatchObject({ code: "rate_limit_exceeded" });
  expect(answer.afterMs).toBeGreaterThan(2_000);
  await deployCollection(api, caller, launch());
});

test("what was really spent counts until the day ends: a chain's daily cap is refused until then", async () => {
  const one = await reservationOfOne(h.process(asPublic));
  const cap = (Number((one * 14n) / 10n) / 1e18).toFixed(18);
  const api = h.process({ ...asPublic, BUDGET_CHAIN_DAY_GOERLI: cap });
  const taken: string[] = [];
  let refusal: ServiceError | null = null;
  for (let count = 0; count < 12 && !refusal; count += 1) {
    const answer = await deployCollection(api, await h.caller("growth"), launch()).catch(
      (error: ServiceError) => error,
    );
    if (answer instanceof Error) refusal = answer;
    else {
      taken.push(answer.deployment.id);
      await h.until(api, answer.deployment.id, ["confirmed"]);
    }
  }
  expect(taken.length).toBeGreaterThan(0);
  expect(refusal).toMatchObject({ code: "service_unavailable" });
  const midnight = new Date();
  midnight.setUTCHours(24, 0, 0, 0);
  const left = (midnight.getTime() - Date.now()) / 1000;
  expect(Math.abs((refusal?.retryAfterSeconds ?? 0) - left)).toBeLessThan(30);
});

test("fees that rise manyfold between reservation and block: replacements go on, and what is spent stays below the cap", async () => {
  const one = await reservationOfOne(h.process(asPublic));
  const cap = one * 16n;
  const env = {
    ...asPublic,
    BUDGET_CHAIN_HOUR_GOERLI: (Number(cap) / 1e18).toFixed(18),
    BUMP_AFTER_BLOCKS_GOERLI: "1",
  };
  const api = h.process(env);
  await h.chain.setAutomine(false);
  const asked = await Promise.allSettled(
    Array.from({ length: 8 }, async () => deployCollection(api, await h.caller("growth"), launch())),
  );
  const taken = asked.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value.deployment] : []));
  expect(taken.length).toBe(8);
  const reserved = (await ofChain()).reserved;
  // So dear that the cap has room for some of them, and not for all.
  const fee = BigInt((await listAttempts(api.db, taken[0]?.id ?? ""))[0]?.max_fee ?? 0);
  const peak = fee * 5n;
  const memory = createRelayMemory();
  await relayRound(api, goerli(api), memory);
  for (let block = 0; block < 12; block += 1) {
    await h.chain.setNextBlockBaseFeePerGas({ baseFeePerGas: peak });
    await h.chain.mine({ blocks: 1 });
    await relayRound(api, goerli(api), memory);
    const now = await ofChain();
    expect(now.reserved + now.spent).toBeLessThanOrEqual(cap);
    for (const { id } of taken)
      for (const { max_fee, gas } of await listAttempts(api.db, id))
        expect(BigInt(max_fee) * BigInt(gas)).toBeLessThanOrEqual(BigInt((await getIntent(api.db, id)).reserved_wei));
  }
  // Some were dear enough to be mined, with a reservation that was raised; the rest waits for the cap.
  let cost = 0n;
  let mined = 0;
  for (const { id } of taken) {
    const { mined_cost_wei: wei } =
      (await h.database.pool.query("SELECT mined_cost_wei FROM service.nonce_reservation WHERE intent_id = $1", [id]))
        .rows[0] ?? {};
    if (wei === null) continue;
    mined += 1;
    cost += BigInt(wei);
  }
  expect(mined).toBeGreaterThan(0);
  expect(cost).toBeGreaterThan(reserved / 8n);
  expect(cost).toBeLessThanOrEqual(cap);
  const waiting = await Promise.all(taken.map(async ({ id }) => (await getIntent(api.db, id)).hold_reason));
  expect(waiting).toContain("budget");
});
