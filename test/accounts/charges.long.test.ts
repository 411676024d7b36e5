import { execFile } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ApiServer } from "../setup/api-server.ts";
import { bareEnvironment } from "../setup/bare-environment.ts";

let api: ApiServer;
beforeAll(async () => {
  api = await ApiServer.start({ KEY_PEPPER: "of the tests" });
});
afterAll(() => api?.close());

const goerli = 31337;
const ethereum = 31339;

/** What the relay inserts when it accepts a request. @returns the intent's id. */
async function accept(accountId: string, chainId: number, kind = "deploy"): Promise<string> {
  const id = randomUUID();
  await api.database.pool.query(
    `INSERT INTO service.intent (id, root_id, tenant_id, idem_key, req_hash, chain_id, kind, payload, factory, template,
       owner, init_data, salt, predicted_addr)
     VALUES ($1, $1, $2, $3, $4, $5, $6, '{}', $7, $7, $7, '\\x', $4, $7)`,
    [id, accountId, id, randomBytes(32), chainId, kind, randomBytes(20)],
  );
  return id;
}

async function move(id: string, state: string): Promise<void> {
  await api.database.pool.query("UPDATE service.intent SET state = $2, version = version + 1 WHERE id = $1", [
    id,
    state,
  ]);
}

async function charges(key: string) {
  const { body } = await api.graphql(key, "{ viewer { charges { id chain kind usdCents state } } }");
  return body.data.viewer.charges;
}

test("a deployment on Ethereum books 199 USD in the transaction that accepts it; Polygon's kind books nothing", async () => {
  const { id, key } = await api.account("growth");
  await accept(id, goerli);
  expect(await charges(key)).toEqual([]);
  const intent = await accept(id, ethereum);
  expect(await charges(key)).toMatchObject([{ chain: "ethereum", kind: "deploy", usdCents: 19_900, state: "open" }]);
  await move(intent, "cancelled");
  expect(await charges(key)).toMatchObject([{ state: "void" }]);
});

test("what was booked cannot be changed or taken away", async () => {
  const { id } = await api.account("growth");
  await accept(id, ethereum);
  const { pool } = api.database;
  await expect(pool.query("UPDATE service.charge SET usd_cents = 1")).rejects.toThrow("does not change");
  await expect(pool.query("DELETE FROM service.charge")).rejects.toThrow("never deleted");
});

test("sixteen requests at once do not get past a free plan's five contracts", async () => {
  const { id, key } = await api.account("free");
  const results = await Promise.allSettled(Array.from({ length: 16 }, () => accept(id, goerli)));
  const refused = results.filter((result) => result.status === "rejected");
  expect(refused).toHaveLength(11);
  for (const { reason } of refused) expect(reason).toMatchObject({ code: "MY001" });
  const { body } = await api.send("GET", "/v0/me/settings", key);
  expect(body.minting_usage_and_limits.goerli).toMatchObject({
    contract_deployment_usage: { total_contracts_deployed: 5, subscription_contracts_deployed: 5 },
    contract_deployment_limits: { subscription_contracts_included: 5, max_contracts: 5 },
  });
  expect(body.minting_usage_and_limits.rinkeby).toEqual(body.minting_usage_and_limits.goerli);
  expect(body.minting_usage_and_limits.polygon.contract_deployment_usage.total_contracts_deployed).toBe(0);
  // What was refused is not counted, and what a free account may still do is shown, with the same numbers by GraphQL.
  expect(body.transaction_usage_and_limits).toEqual({
    transaction_usage: { transactions_made_today: 5, subscription_transactions_made: 5 },
    transaction_limits: { max_transactions_per_day: 20, max_transactions_per_month: 100 },
  });
  expect(body.request_limits).toEqual({
    max_deploy_requests_per_minute: 60,
    max_deploy_requests_per_day: 300,
    max_upload_requests_per_minute: 120,
    max_upload_requests_per_day: 20_000,
  });
  expect(body.deployment_limits).toEqual({
    max_supply: 5_000,
    max_awaited_deployments: 50,
    max_allowlists: 100,
    max_allowlist_bytes: 16_777_216,
  });
});

test("settings tell what an account's gas of today is and may be, by both APIs, and nothing of another account", async () => {
  const [mine, other] = [await api.account("free"), await api.account("free")];
  const goerliChain = api.services.chains.find(({ id }) => id === goerli);
  if (!goerliChain) throw new Error("no goerli");
  for (const [{ id }, spent] of [
    [mine, 7n],
    [other, 11n],
  ] as const)
    await api.database.pool.query(
      "INSERT INTO service.budget (scope, period, allowed, reserved, spent) VALUES ($1, date_trunc('day', clock_timestamp()), 100, 5, $2)",
      [`tenant:${id}:${goerli}`, String(spent)],
    );
  const { body } = await api.send("GET", "/v0/me/settings", mine.key);
  const max = String(goerliChain.relay.tenantDayWei);
  expect(body.minting_usage_and_limits.goerli).toMatchObject({
    gas_usage: { wei_today: "12", wei_this_month: "0" },
    gas_limits: { max_wei_per_day: max, max_wei_per_month: null },
  });
  const query = `{ viewer { plan { transactionsPerDay transactionsPerMonth deployRequestsPerDay uploadRequestsPerDay }
    usage { transactionsToday transactionsThisPeriod chains { chain gasTodayWei maxGasPerDayWei gasThisMonthWei maxGasPerMonthWei } } } }`;
  const shown = await api.send("POST", "/graphql", mine.key, { query });
  expect(shown.body.errors).toBeUndefined();
  expect(shown.body.data.viewer.plan).toEqual({
    transactionsPerDay: 20,
    transactionsPerMonth: 100,
    deployRequestsPerDay: 300,
    uploadRequestsPerDay: 20_000,
  });
  expect(shown.body.data.viewer.usage).toMatchObject({ transactionsToday: 0, transactionsThisPeriod: 0 });
  expect(shown.body.data.viewer.usage.chains).toContainEqual({
    chain: "goerli",
    gasTodayWei: "12",
    maxGasPerDayWei: max,
    gasThisMonthWei: "0",
    maxGasPerMonthWei: null,
  });
});

test("a request that failed is not counted", async () => {
  const { id } = await api.account("free");
  const first = await accept(id, goerli);
  for (let count = 0; count < 4; count += 1) await accept(id, goerli);
  await expect(accept(id, goerli)).rejects.toMatchObject({ code: "MY001" });
  await move(first, "expired");
  await accept(id, goerli);
});

test("the operator's commands open accounts, change them, settle charges, and leave a trail", async () => {
  const run = async (...args: string[]) => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [join(import.meta.dirname, "../../bin/mintyard.ts"), ...args],
      { env: { ...bareEnvironment, DATABASE_URL: api.database.url, KEY_PEPPER: "of the tests" } },
    );
    return stdout
      .trim()
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  };
  const [made] = await run("accounts", "create", "--name", "studio", "--tier", "growth");
  expect((await api.send("GET", "/v0/me/settings", made.key)).status).toBe(200);
  expect((await api.send("GET", "/v0/me/settings", made.secret)).status).toBe(200);
  const intent = await accept(made.accountId, ethereum);
  const [charge] = (await run("charges", "list", "--state", "open")).filter((row) => row.root_id === intent);
  await run("charges", "settle", charge.id, "--note", "invoice 7");
  expect(await charges(made.key)).toMatchObject([{ state: "settled" }]);
  await move(intent, "expired");
  expect(await charges(made.key)).toMatchObject([{ state: "refund_due" }]);
  await run("accounts", "tier", made.accountId, "scale");
  const [audit] = await run("audit", "verify");
  expect(audit).toMatchObject({ brokenAt: null });
  const { rows } = await api.database.pool.query(
    "SELECT action FROM service.audit_log WHERE actor LIKE 'operator:%' ORDER BY seq",
  );
  expect(rows.map((row) => row.action)).toEqual(["create", "settle", "change"]);
});
