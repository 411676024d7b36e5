import { createHash } from "node:crypto";
import type { Address } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { questionsOfDay } from "../../src/accounts/admit-address.ts";
import { send } from "../setup/send.ts";
import { patient } from "../setup/wait.ts";
import { HttpApi } from "./http-api.ts";
import { LaunchFixture } from "./launch-fixture.ts";

// What is asked without a key, over HTTP: each test comes from addresses of its own.
const wallets = Array.from({ length: 31 }, (_, index) => walletOf(index));
let fixture: LaunchFixture;
let api: HttpApi;
let collection: string;

beforeAll(async () => {
  fixture = await LaunchFixture.start();
  api = await HttpApi.start(fixture.h.process({ TRUSTED_PROXIES: "127.0.0.0/8", LOCAL_GOERLI: "false" }));
  await fixture.deployed({ presale_whitelisted_addresses: wallets, presale_mint_start: "2022-07-01" });
  const { rows } = await api.services.pool.query(
    "SELECT '0x' || encode(predicted_addr, 'hex') AS address FROM service.intent WHERE kind = 'deploy'",
  );
  collection = rows[0].address;
});
afterAll(async () => {
  await api?.stop();
  await fixture?.stop();
});

function walletOf(index: number): Address {
  return `0x${createHash("sha256").update(`wallet ${index}`).digest("hex").slice(0, 40)}`;
}

/** One question for each wallet, in one operation. */
async function ask(server: HttpApi, asked: readonly string[], headers: Record<string, string>) {
  const fields = asked.map(
    (wallet, index) =>
      `a${index}: eligibility(chain: "goerli", collection: "${collection}", wallet: "${wallet}") { eligible reason proof }`,
  );
  return await server.post("/graphql", { query: `{ ${fields.join(" ")} }` }, { Authorization: "", ...headers });
}
const from = (address: string) => ({ "X-Forwarded-For": address });

/** What the node was asked while `run` ran: calls of contracts, and requests that had any. */
async function nodeWork(run: () => Promise<void>): Promise<{ calls: number; requests: number }> {
  const { seen } = fixture.h.proxy;
  const before = seen.length;
  await run();
  const methods = seen.slice(before);
  return {
    calls: methods.filter((method) => method === "eth_call").length,
    // Each begins with the chain's id, in the same breath.
    requests: methods.filter((method) => method === "eth_chainId").length,
  };
}

test("thirty aliases with one question are three calls of the contract; thirty wallets are two requests to the node", async () => {
  const same = await nodeWork(async () => {
    const { body, status } = await ask(api, Array(30).fill(wallets[0]), from("198.51.100.1"));
    expect(status).toBe(200);
    expect(Object.values(body["data"] as object)).toEqual(Array(30).fill(expect.objectContaining({ eligible: true })));
  });
  expect(same.calls).toBeLessThanOrEqual(3);
  const different = await nodeWork(async () => {
    const { body } = await ask(api, wallets.slice(1), from("198.51.100.2"));
    expect(Object.values(body["data"] as object)).toEqual(Array(30).fill(expect.objectContaining({ eligible: true })));
  });
  expect(different.calls).toBeLessThanOrEqual(32);
  // The root and start of the collection, if they are not known any more; then all wallets.
  expect(different.requests).toBeLessThanOrEqual(2);
  // Callers at once share as those of one request do.
  const crowd = await nodeWork(async () => {
    await Promise.all(
      Array.from({ length: 20 }, (_, index) => ask(api, [wallets[0] ?? ""], from(`198.51.100.${100 + index}`))),
    );
  });
  expect(crowd.calls).toBeLessThanOrEqual(6);
});

test.each([
  ["eligibility", async (count: number, address: string) => await ask(api, wallets.slice(0, count), from(address))],
  [
    "status",
    async (count: number, address: string) => {
      const fields = Array.from({ length: count }, (_, index) => `s${index}: status { database }`);
      return await api.post("/graphql", { query: `{ ${fields.join(" ")} }` }, { Authorization: "", ...from(address) });
    },
  ],
])("each alias of %s is taken from the bucket of the caller's address", async (name, send) => {
  const net = name === "status" ? "203.0.113" : "192.0.2";
  const one = await send(1, `${net}.1`);
  const thirty = await send(30, `${net}.2`);
  expect(thirty.status).toBe(200);
  const left = (reply: { headers: Headers }) => Number(reply.headers.get("ratelimit-remaining"));
  expect([one.headers.get("ratelimit-bucket"), one.headers.get("ratelimit-limit")]).toEqual(["open", "60"]);
  expect([left(one), left(thirty)]).toEqual([59, 30]);
  // More at once than the bucket holds, whatever it gains meanwhile.
  const flood = await Promise.all(Array.from({ length: 40 }, () => send(30, `${net}.3`)));
  const refused = flood.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThan(0);
  for (const { headers, body } of refused) {
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    const [error] = body["errors"] as unknown as { extensions: Record<string, string> }[];
    expect(error?.extensions).toMatchObject({
      code: "rate_limit_exceeded",
      fix: expect.stringContaining("Retry-After"),
    });
  }
  // Another address is not held up; nor is a caller with a key, who pays from the account's reads.
  expect((await send(1, `${net}.4`)).status).toBe(200);
  const keyed = await api.post("/graphql", { query: "{ status { database } }" }, from(`${net}.3`));
  expect([keyed.status, keyed.headers.get("ratelimit-bucket")]).toEqual([200, "read"]);
  // A key that is none does not change what anybody may ask.
  const wrong = await api.post(
    "/graphql",
    { query: "{ status { database } }" },
    {
      Authorization: "<your API key>",
      ...from(`${net}.5`),
    },
  );
  expect([wrong.status, wrong.headers.get("ratelimit-bucket")]).toEqual([200, "open"]);
});

test("what is said of the service is read once for all who ask at once", async () => {
  let statements = 0;
  const count = () => {
    statements += 1;
  };
  api.services.pool.on("acquire", count);
  try {
    await Promise.all(
      Array.from({ length: 40 }, async () => {
        expect((await send(`${api.base}/status`)).status).toBe(200);
      }),
    );
  } finally {
    api.services.pool.off("acquire", count);
  }
  // Twice, if a second passed meanwhile; a busy machine may need some more.
  expect(statements).toBeLessThan(20);
});

test("an address has so many questions in a day, most of them at once, of IPv6 a whole /64; then it is told to take a key", async () => {
  const { limiter } = api.services.auth;
  const day = questionsOfDay;
  for (const [client, address] of [
    ["198.51.100.70", "198.51.100.70"],
    ["2001:db8:7:1::/64", "2001:db8:7:1::9"],
  ]) {
    expect((await limiter.take(`open-day:${client}`, day, day.burst - 20)).allowed).toBe(true);
    expect((await ask(api, wallets.slice(0, 10), from(address ?? ""))).status).toBe(200);
    const { status, body } = await ask(api, wallets.slice(0, 30), from(address ?? ""));
    expect(status).toBe(429);
    expect(JSON.stringify(body["errors"])).toContain(
      `has in a day without a key, ${Math.round(day.burst + day.perSecond * 86_400)}; with a key you have your own`,
    );
  }
});

test("beyond what readers may ask of the node they are refused at once, and the relay is not", async () => {
  const services = fixture.h.process({ TRUSTED_PROXIES: "127.0.0.0/8", READER_CALLS_PER_SECOND: "1" });
  const poor = await HttpApi.start(services);
  // Not as long as a whole request may take.
  fixture.h.proxy.delay("eth_call", 300);
  try {
    // Two calls may come at once; root and start are both.
    const { status, headers, body } = await ask(poor, wallets.slice(0, 10), from("198.51.100.50"));
    expect([status, Number(headers.get("retry-after"))]).toEqual([503, 1]);
    const [error] = body["errors"] as unknown as { message: string; extensions: Record<string, string> }[];
    expect(error?.extensions["code"]).toBe("service_unavailable");
    expect(error?.message).toContain("for readers");
    const [chain] = services.chains;
    if (!chain) throw new Error("no chain");
    const [head] = await services.relay
      .nodes(chain)
      .first((node) => node.ask([{ method: "eth_blockNumber", params: [] }]));
    expect(head).toHaveProperty("result");
  } finally {
    fixture.h.proxy.heal();
    await poor.stop();
  }
  await expect.poll(async () => (await ask(api, [wallets[0] ?? ""], from("198.51.100.60"))).status, patient).toBe(200);
});

test("a balance that somebody asked for is free to ask again; of others an address asks so many and no more, whosever they are", async () => {
  const balance = (address: string) =>
    api.get(`/console/balance/goerli/${address}`, { Authorization: "", ...from("198.51.100.77") });
  expect(await balance("0x12")).toMatchObject({ status: 422, body: { error: { code: "invalid_address" } } });
  for (let asked = 0; asked < 70; asked += 1)
    expect(await balance(collection)).toMatchObject({ status: 200, body: { wei: "0" } });
  // All at once: one a second comes back, and asked one by one a busy machine would never use them up.
  const others = await Promise.all(Array.from({ length: 300 }, async (_, at) => (await balance(walletOf(at))).status));
  expect(others.filter((status) => status === 200).length).toBeGreaterThanOrEqual(25);
  expect(new Set(others)).toEqual(new Set([200, 429]));
});
