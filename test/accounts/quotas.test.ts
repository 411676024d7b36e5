import { randomBytes, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { questionsOfAccount } from "../../src/accounts/admit-address.ts";
import { addressBlock } from "../../src/accounts/sign-up.ts";
import { forOneUpload, LargeRequest } from "../../src/auth/large-requests.ts";
import { defaultPlans } from "../../src/auth/plans.ts";
import { perDay } from "../../src/auth/rate-limit.ts";
import { takeAllowlist } from "../../src/collections/allowlist-tree.ts";
import type { ServiceError } from "../../src/errors/errors.ts";
import { refreshesOfDay } from "../../src/nfts/refresh-metadata.ts";
import { ApiServer } from "../setup/api-server.ts";
import { addressOf, nobody } from "../setup/nft-fixture.ts";
import { send } from "../setup/send.ts";
import { wait } from "../setup/wait.ts";

let api: ApiServer;
beforeAll(async () => {
  api = await ApiServer.start({
    TRUSTED_PROXIES: "127.0.0.1",
    LOCAL_GOERLI: "false",
    SIGN_UPS_PER_HOUR: "5",
    SIGN_UPS_PER_DAY: "100",
  });
});
afterAll(() => api?.close());

const goerli = 31337;

/** What the relay inserts when it accepts a request. @returns the intent's id. */
async function accept(
  accountId: string,
  kind: "deploy" | "update" | "mint",
  gas: number | null = null,
): Promise<string> {
  const id = randomUUID();
  await api.database.pool.query(
    `INSERT INTO service.intent (id, root_id, tenant_id, idem_key, req_hash, chain_id, kind, payload, factory, template,
       owner, init_data, salt, predicted_addr, gas)
     VALUES ($1, $1, $2, $3, $4, $5, $6, '{"tokens": [{"tokenId": "1"}]}', $7, $7, $7, '\\x', $4, $7, $8)`,
    [id, accountId, id, randomBytes(32), goerli, kind, randomBytes(20), gas],
  );
  return id;
}

async function move(id: string, ...states: string[]): Promise<void> {
  for (const state of states)
    await api.database.pool.query("UPDATE service.intent SET state = $2, version = version + 1 WHERE id = $1", [
      id,
      state,
    ]);
}

let nextNonce = 0;
/** The nonce that an intent got, filled by an empty transaction. */
async function cancelWithNonce(id: string): Promise<void> {
  const { pool } = api.database;
  const addr = Buffer.alloc(20, 7);
  await pool.query(
    "INSERT INTO service.relayer_wallet (chain_id, addr, genesis_hash, next_nonce) VALUES ($1, $2, $3, 1) ON CONFLICT DO NOTHING",
    [goerli, addr, randomBytes(32)],
  );
  await pool.query(
    "INSERT INTO service.nonce_reservation (chain_id, addr, nonce, intent_id, kind) VALUES ($1, $2, $3, $4, 'update')",
    [goerli, addr, nextNonce++, id],
  );
  await move(id, "assigned", "signed", "in_flight", "mined_cancellation", "cancelled");
}

async function signUpFrom(address: string): Promise<number> {
  const request = { headers: { "X-Forwarded-For": address }, body: { name: "Ada" } };
  return (await send(`${api.url}/v0/signup`, request)).status;
}

test("updates count like deployments: a free account has twenty of both in a day, however many come at once", async () => {
  const { id } = await api.account("free");
  for (let count = 0; count < 5; count += 1) await accept(id, "deploy");
  const results = await Promise.allSettled(Array.from({ length: 30 }, () => accept(id, "update")));
  expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(15);
  for (const result of results)
    if (result.status === "rejected")
      expect(result.reason).toMatchObject({
        code: "MY001",
        message: expect.stringMatching(/20 deployments and updates .* until 00:00 UTC.*update of their base URI/),
      });
  const paid = await api.account("growth");
  for (let count = 0; count < 25; count += 1) await accept(paid.id, "update");
});

test("a request counts once for each half million gas that it begins, in the day and among mints", async () => {
  const { id, key } = await api.account("free");
  await accept(id, "update", 500_000);
  for (let count = 0; count < 3; count += 1) await accept(id, "update", 3_000_000);
  await expect(accept(id, "deploy", 1_000_000)).rejects.toMatchObject({
    code: "MY001",
    message: expect.stringMatching(/20 deployments and updates .*counts 2 times, for its 1000000 gas/),
  });
  await accept(id, "deploy", 499_999);
  for (let count = 0; count < 33; count += 1) await accept(id, "mint", 1_500_000);
  await expect(accept(id, "mint", 500_001)).rejects.toMatchObject({ code: "MY001" });
  await accept(id, "mint", 1);
  const { body } = await send(`${api.url}/graphql`, {
    key,
    body: { query: "{ viewer { usage { transactionsToday } } }" },
  });
  expect(body).toMatchObject({ data: { viewer: { usage: { transactionsToday: 20 } } } });
});

test("old clients read a number for each limit, also where the plan has none", async () => {
  for (const tier of ["free", "growth", "enterprise"] as const) {
    const { key } = await api.account(tier);
    const { body } = await send(`${api.url}/v0/me/settings`, { key });
    const { data_usage_and_limits: reads, minting_usage_and_limits: minting } = body;
    const numbers = [reads.data_limits, minting.goerli.minting_limits, minting.polygon.contract_deployment_limits];
    for (const value of numbers.flatMap((limits) => Object.values(limits))) expect(value).toBeTypeOf("number");
  }
});

test("the guide for those who migrate names the limits that a free key has", async () => {
  const guide = await readFile(new URL("../../docs/migrating.md", import.meta.url), "utf8");
  const plan = defaultPlans.free;
  for (const figure of [
    `${plan.transactionsPerDay} deployments and updates in a day (UTC), ${plan.transactionsPerMonth} in a month`,
    `transfer ${plan.maxMints} tokens`,
    `deploy ${plan.maxContracts} contracts`,
    `${plan.deployRequestsPerDay} requests in a day that may deploy or mint, ${plan.deploysPerMinute} in a minute`,
    `read ${plan.readsPerSecond} times in a second, ${Number(plan.requestsPerMonth).toLocaleString("en")} times in a month`,
    `${Number(plan.uploadRequestsPerDay).toLocaleString("en")} files in a day, ${plan.uploadsPerMinute} in a minute`,
  ])
    expect(guide).toContain(figure);
});

test("a cancelled request is not counted only if it cost nothing", async () => {
  const { id } = await api.account("free");
  const made: string[] = [];
  for (let count = 0; count < 20; count += 1) made.push(await accept(id, "update"));
  const [first = "", second = ""] = made;
  await cancelWithNonce(first);
  await expect(accept(id, "update")).rejects.toMatchObject({ code: "MY001" });
  await move(second, "cancelled");
  await accept(id, "update");
  await expect(accept(id, "update")).rejects.toMatchObject({ code: "MY001" });
});

test("a month has its own number, whatever the days allow", async () => {
  const { pool } = api.database;
  await pool.query("UPDATE service.plan SET transactions_per_month = 3 WHERE tier = 'free'");
  const { id } = await api.account("free");
  for (let count = 0; count < 3; count += 1) await accept(id, "update");
  await expect(accept(id, "update")).rejects.toMatchObject({ code: "MY001", message: expect.stringMatching(/month/) });
  await pool.query("UPDATE service.plan SET transactions_per_month = 100 WHERE tier = 'free'");
});

test.each([
  ["192.0.2.77", "192.0.2.0/24"],
  ["::ffff:192.0.2.77", "192.0.2.0/24"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1::/48"],
  ["nobody", "?"],
  [null, "?"],
])("the block of %s is %s", (address, block) => expect(addressBlock(address)).toBe(block));

test("open sign-up counts blocks of addresses, not addresses", async () => {
  // A block has a twentieth of a day's hundred, three of them at once.
  const wanted = [200, 200, 200, 429, 429, 429];
  const statuses: number[] = [];
  for (let last = 1; last <= 6; last += 1) statuses.push(await signUpFrom(`198.51.100.${last}`));
  expect(statuses).toEqual(wanted);
  const v6: number[] = [];
  for (let last = 1; last <= 6; last += 1) v6.push(await signUpFrom(`2001:db8:7:${last}::1`));
  expect(v6).toEqual(wanted);
});

test("all together have a day's number; whoever it refuses is not charged for the try", async () => {
  const statuses: number[] = [];
  for (let block = 0; block < 60; block += 1) statuses.push(await signUpFrom(`10.1.${block}.1`));
  expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(perDay(100).burst + 1);
  expect(statuses.at(-1)).toBe(429);
  const { rows } = await api.database.pool.query(
    "SELECT k FROM service.rate WHERE k LIKE 'signup%:10.1.59.%' AND tat > extract(epoch FROM clock_timestamp()) + 1",
  );
  expect(rows).toEqual([]);
});

test("eight keys made at once beside 98 others: an account never has more than a hundred", async () => {
  const { id, key } = await api.account("free");
  await api.database.pool.query(
    "INSERT INTO service.api_key (account_id, name, scopes) SELECT $1, 'more', '{read}' FROM generate_series(1, 98)",
    [id],
  );
  const make = () => api.graphql(key, `mutation { createKey(name: "k", scopes: [READ]) { key userErrors { code } } }`);
  const answers = await Promise.all(Array.from({ length: 8 }, make));
  const made = answers.filter(({ body }) => body.data?.createKey?.key);
  expect(made).toHaveLength(1);
  const { rows } = await api.database.pool.query(
    "SELECT count(*)::int AS n FROM service.api_key WHERE account_id = $1 AND revoked_at IS NULL",
    [id],
  );
  expect(rows).toEqual([{ n: 100 }]);
});

test("each mutation of a GraphQL operation counts on its own, whatever it is called", async () => {
  const { pool } = api.database;
  await pool.query("UPDATE service.plan SET deploy_requests_per_day = 20 WHERE tier = 'free'");
  const { key } = await api.account("free");
  const keys = Array.from({ length: 8 }, (_, index) => `k${index}: createKey(name: "k", scopes: [READ]) { key }`);
  const first = await api.graphql(key, `mutation { ${keys.join("\n")} }`);
  const second = await api.graphql(key, `mutation { ${keys.join("\n")} }`);
  await pool.query("UPDATE service.plan SET deploy_requests_per_day = 300 WHERE tier = 'free'");
  expect(Object.keys(first.body.data)).toHaveLength(8);
  expect(second.body.errors).toMatchObject([{ extensions: { code: "rate_limit_exceeded" } }]);
});

test("a free account's requests that may spend have a day's number, whatever becomes of them", async () => {
  const { pool } = api.database;
  await pool.query("UPDATE service.plan SET deploy_requests_per_day = 6 WHERE tier = 'free'");
  const { key } = await api.account("free");
  const statuses: number[] = [];
  for (let count = 0; count < 5; count += 1)
    statuses.push((await api.send("POST", "/v0/contracts/collections", key, {})).status);
  await pool.query("UPDATE service.plan SET deploy_requests_per_day = 300 WHERE tier = 'free'");
  expect(statuses).toEqual([422, 422, 422, 429, 429]);
});

test("a free account has so many tokens a day read again, of a contract as many as it has, and a paid one is not counted", async () => {
  const [free, paid] = [await api.account("free"), await api.account("growth")];
  const contract = addressOf(0x71);
  const { burst } = refreshesOfDay;
  const tokens = Array.from({ length: burst + 1 }, (_, id) => ({
    contract,
    tokenId: BigInt(id),
    from: nobody,
    to: contract,
  }));
  await api.nfts.add(tokens);
  const refresh = async (key: string, more: string) =>
    (
      await api.graphql(
        key,
        `mutation { refreshMetadata(chain: "goerli", contract: "${contract}" ${more}) { status } }`,
      )
    ).body;
  const refusal = (code: string) => [{ extensions: expect.objectContaining({ code }) }];
  expect((await refresh(free.key, "")).errors).toMatchObject(refusal("plan_limit_exceeded"));
  expect((await refresh(free.key, 'tokenId: "1"')).data.refreshMetadata.status).toBe("ADDED");
  await api.services.auth.limiter.take(`refresh-day:${free.id}`, refreshesOfDay, burst - 1);
  expect((await refresh(free.key, 'tokenId: "2"')).errors).toMatchObject(refusal("rate_limit_exceeded"));
  expect((await refresh(paid.key, "")).data.refreshMetadata.status).toBe("ADDED");
});

test("what a free account asks nodes with its key has a day's number of its own", async () => {
  const [free, paid] = [await api.account("free"), await api.account("growth")];
  const ask = async (key: string) => (await api.graphql(key, "{ status { database } }")).status;
  const { limiter } = api.services.auth;
  for (const { id } of [free, paid])
    await limiter.take(`open-day:account:${id}`, questionsOfAccount, questionsOfAccount.burst - 1);
  expect([await ask(free.key), await ask(free.key), await ask(free.key)]).toEqual([200, 429, 429]);
  expect([await ask(paid.key), await ask(paid.key)]).toEqual([200, 200]);
});

test("a large request counts as many: files and bytes of a directory, entries of a list", async () => {
  const { id, key } = await api.account("free");
  const caller = { accountId: id, tier: "free" as const, requestId: "test" };
  const left = async (path: string, method: string) =>
    Number((await api.send(method, path, key)).headers.get("ratelimit-remaining"));
  const upload = await left("/v0/metadata/directory?dry_run=true", "POST");
  expect(upload).toBeGreaterThanOrEqual(118);
  const price = new LargeRequest(api.services.auth.limiter, caller, "upload");
  const begun = performance.now();
  for (let files = 1; files <= 25_000; files += 1) await price.count(files / forOneUpload.files, "it");
  // 25,000 files are 100 uploads, of which the request itself was one. Two a second come back.
  const taken = upload - (await left("/v0/metadata/directory?dry_run=true", "POST"));
  expect(taken + ((performance.now() - begun) / 1_000) * 2).toBeGreaterThanOrEqual(99);
  // An address that is none costs nothing else.
  const list = Array.from({ length: 100_000 }, () => "x");
  const take = () => takeAllowlist(api.services, caller, list).catch((error: unknown) => error);
  for (let lists = 0; lists < 3; lists += 1) expect(await take()).toMatchObject({ code: "invalid_address" });
  // One a second comes back, so a slow machine may take a list more.
  const refusal = await wait("a refused list", take, {
    until: (error) => (error as ServiceError).code !== "invalid_address",
  });
  expect(refusal).toMatchObject({
    code: "rate_limit_exceeded",
    message: expect.stringContaining("a presale list of 100000 wallets counts as 20 requests"),
    details: { requests: 20, bucket: "deploy" },
  });
});
