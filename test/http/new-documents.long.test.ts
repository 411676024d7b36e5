import { afterAll, beforeAll, expect, test } from "vitest";
import { DocumentBudget } from "../../src/accounts/document-budget.ts";
import { ApiServer } from "../setup/api-server.ts";
import { send } from "../setup/send.ts";

let api: ApiServer;
beforeAll(async () => {
  api = await ApiServer.start({ TRUSTED_PROXIES: "127.0.0.1" });
});
afterAll(() => api?.close());

/** A document from one address. */
async function post(query: string, address: string, key?: string) {
  const { status, headers, body } = await send(`${api.url}/graphql`, {
    key,
    headers: { Accept: "application/json", "X-Forwarded-For": address },
    body: { query, ...(query.includes("query q1 ") ? { operationName: "q1" } : {}) },
  });
  return { status, headers, error: body.errors?.[0] };
}

const repeat = (count: number, text: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => text(at)).join(" ");

test.each([
  ["fields under one name", `{ ${repeat(60, () => "status { database }")} }`, "pairs of fields"],
  [
    "fields under one name, below others",
    `{ ${repeat(8, () => `status { ${repeat(10, () => "database")} }`)} }`,
    "pairs",
  ],
  ["many fragments", `{ ...f0 } ${repeat(60, (at) => `fragment f${at} on Query { __typename }`)}`, "50 fragments"],
  [
    "fragments that double",
    `{ status { ...f0 } } ${repeat(30, (at) => `fragment f${at} on ServiceStatus { ...f${at + 1} ...f${at + 1} }`)}
     fragment f30 on ServiceStatus { database }`,
    "1000 fields",
  ],
  [
    "fragments in a circle",
    "{ ...f } fragment f on Query { status { ...g } } fragment g on ServiceStatus { chains { ...g } }",
    "",
  ],
  ["many operations", repeat(40, (at) => `query q${at} { __typename }`), "30 operations"],
])("%s are refused before they are validated", async (_name, query, bound) => {
  const { error } = await post(query, "10.0.0.1");
  expect(error.extensions).toMatchObject({ code: "GRAPHQL_VALIDATION_FAILED", fix: expect.any(String) });
  expect(error.message).toContain(bound === "" ? "a document may have" : bound);
});

test("of hundreds of unknown names in a document a few are reported", async () => {
  const query = `{ ${repeat(500, (at) => `unknown${at}`)} }`;
  const { body } = await send(`${api.url}/graphql`, { headers: { "X-Forwarded-For": "10.0.0.2" }, body: { query } });
  expect(body.errors.length).toBeLessThanOrEqual(6);
});

test("a large body without a key is refused unread", async () => {
  const { status, error } = await post(`{ status { database } } #${"x".repeat(200_000)}`, "10.0.0.3");
  expect([status, error?.extensions?.code ?? error?.code]).toEqual([401, undefined]);
});

/** Sends documents nobody has seen before until one is refused; twenty at once, so that time which comes back is used too. */
async function exhaust(address: string, query: (at: number) => string) {
  for (let at = 0; at < 2_000; at += 20) {
    const replies = await Promise.all(Array.from({ length: 20 }, (_, more) => post(query(at + more), address)));
    const refused = replies.find(({ status }) => status === 429);
    if (refused) return refused;
  }
  return null;
}

test("an address that sends new documents runs out of processor time, alone, and known documents go on", async () => {
  const known = "{ status { database } }";
  for (let round = 0; round < 2; round += 1) expect((await post(known, "10.1.0.1")).error).toBeUndefined();
  const account = await api.account("growth");
  expect((await post("{ viewer { name } }", "10.1.0.1", account.key)).error).toBeUndefined();
  const costly = (at: number) =>
    `{ a${at}: status { ${repeat(40, (n) => `x${n}: database`)} ${repeat(300, (n) => `no${n}`)} } }`;
  const refused = await exhaust("10.1.0.1", costly);
  expect(refused?.error.extensions).toMatchObject({
    code: "rate_limit_exceeded",
    retryAfterSeconds: expect.any(Number),
  });
  expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
  for (let round = 0; round < 20; round += 1) expect((await post(known, "10.1.0.1")).status).toBe(200);
  // Behind the same address a key that works has its own time, and so has another address.
  expect((await post("{ viewer { name tier } }", "10.1.0.1", account.key)).status).toBe(200);
  expect((await post("{ status { database chains { chain } } }", "10.1.0.2")).status).toBe(200);
});

test("the schema costs each time, although its document is known", async () => {
  const query = `{ __schema { types { name fields { name args { name type { name } } type { name ofType { name } } } } } }`;
  expect((await exhaust("10.1.0.3", () => query))?.status).toBe(429);
});

test("new documents are looked at one by one, and what else has come is done in between", async () => {
  const budget = new DocumentBudget(true);
  const order: string[] = [];
  const documents = Array.from({ length: 5 }, async () => {
    await budget.admit("address x");
    order.push("document");
  });
  let ended = false;
  const others = (async () => {
    while (!ended) {
      await new Promise((done) => setImmediate(done));
      order.push("other");
    }
  })();
  await Promise.all(documents);
  ended = true;
  await others;
  expect(order.join(" ")).not.toContain("document document");
  // Accounts take turns here too, and the queue is bounded.
  const crowd = await Promise.allSettled(Array.from({ length: 100 }, () => budget.admit("address y")));
  expect(crowd.filter(({ status }) => status === "rejected")).toHaveLength(36);
});

test("after a document that took long, others are answered before the next one", async () => {
  const budget = new DocumentBudget(true);
  await budget.admit("address z");
  budget.charge("address z", 20);
  const before = performance.now();
  await budget.admit("address of somebody else");
  expect(performance.now() - before).toBeGreaterThan(45);
});

test("cheap documents of one owner come at a pace once it has used some time, and others do not wait for them", async () => {
  const budget = new DocumentBudget(true);
  budget.charge("address u", 100);
  await budget.admit("address u");
  const before = performance.now();
  let waiting = 6;
  const documents = Array.from({ length: 6 }, async () => {
    await budget.admit("address u");
    waiting -= 1;
  });
  await budget.admit("address v");
  expect(waiting).toBeGreaterThan(0);
  await Promise.all(documents);
  expect(performance.now() - before).toBeGreaterThan(25);
});
