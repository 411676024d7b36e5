import { Agent, request } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { FailureThrottle, uncountedOfDay } from "../../src/accounts/failure-throttle.ts";
import { ApiServer } from "../setup/api-server.ts";
import { patient } from "../setup/wait.ts";

let api: ApiServer;
beforeAll(async () => {
  api = await ApiServer.start({ TRUSTED_PROXIES: "127.0.0.1" });
});
afterAll(() => api?.close());

interface Sent {
  method?: string;
  path: string;
  address: string;
  key?: string;
  body?: string;
  agent?: Agent;
}

/** @returns the status, or 0 for a connection that ended without an answer. */
function send({ method = "POST", path, address, key, body, agent }: Sent): Promise<number> {
  return new Promise((done) => {
    const headers = {
      ...{ "X-Forwarded-For": address, "Content-Type": "application/json" },
      ...(key === undefined ? {} : { Authorization: key }),
      ...(body === undefined ? {} : { "Content-Length": Buffer.byteLength(body) }),
    };
    const outgoing = request({ port: api.port, host: "127.0.0.1", method, path, headers, agent }, (answer) => {
      answer.resume().once("end", () => done(answer.statusCode ?? 0));
    });
    outgoing.once("error", () => done(0));
    outgoing.end(body);
  });
}

const many = JSON.stringify({
  query: `{ ${Array.from({ length: 30 }, (_, at) => `a${at}: status { database }`).join(" ")} }`,
});
const failing: [string, Omit<Sent, "address">][] = [
  ["questions beyond the rate of an address", { path: "/graphql", body: many }],
  ["documents without an answer", { path: "/graphql", body: JSON.stringify({ query: "{ nothing }" }) }],
  ["known documents that cost nothing", { path: "/graphql", body: JSON.stringify({ query: "{ __typename }" }) }],
  ["keys that nobody has", { method: "GET", path: "/v0/me/settings", key: "2c9b1a54-1f0e-4b5e-9c7e-0a4a35f4a7b1" }],
];

test.each(failing)("%s, sent without a pause on ten connections, are begun slowly", async (_name, what) => {
  const address = `10.9.0.${failing.findIndex(([, one]) => one === what) + 1}`;
  const account = await api.account("enterprise");
  // A key that this process does not know yet is not distinguished from a guess there.
  const page = { path: "/v0/me/settings", method: "GET", address, key: account.key };
  expect(await send(page)).toBe(200);
  const startedAt = performance.now();
  let [answered, stopped] = [0, false];
  const attackers = Array.from({ length: 10 }, async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    while (!stopped) if ((await send({ ...what, address, agent })) > 0) answered += 1;
    agent.destroy();
  });
  // More than may begin at once: the pace is felt by then, on a machine of any speed.
  await expect.poll(() => answered, patient).toBeGreaterThan(130);
  // Beside them, and from the same address, a request that is counted is answered.
  expect(await send(page)).toBe(200);
  stopped = true;
  await Promise.all(attackers);
  // A hundred at once, those that were under way then, and 25 in each second.
  const seconds = (performance.now() - startedAt) / 1_000;
  expect(answered).toBeLessThan(100 + 20 + 25 * (seconds + 1));
});

test("of requests that wait those beyond the queue are refused, and each of the others has its turn", async () => {
  const pace = new FailureThrottle();
  for (let at = 0; at < 500; at += 1) pace.charge("address x");
  let begun = 0;
  const letIn = Array.from({ length: 60 }, () => pace.begin("address x", () => (begun += 1)));
  expect(letIn.filter((one) => !one)).toHaveLength(10);
  expect(begun).toBe(0);
  pace.begin("address y", () => (begun += 100));
  expect(begun).toBe(100);
  await expect.poll(() => begun, patient).toBe(150);
});

test("what an account's rate counts is never slowed, however it ends", async () => {
  const { key } = await api.account("enterprise");
  for (let round = 0; round < 5; round += 1) {
    const path = "/v0/nfts/0x00000000000000000000000000000000000000a1/1?chain=nowhere";
    const replies = Array.from({ length: 60 }, () => send({ method: "GET", path, address: "10.9.2.1", key }));
    const statuses = new Set(await Promise.all(replies));
    expect([...statuses].filter((status) => status < 400 || status === 429)).toEqual([]);
  }
});

test("once the day's are used up one is begun every few seconds", async () => {
  const pace = new FailureThrottle();
  for (let at = 0; at < uncountedOfDay.burst + 10; at += 1) pace.charge("address x");
  const startedAt = performance.now();
  const begun: number[] = [];
  let others = 0;
  for (let at = 0; at < 3; at += 1) pace.begin("address x", () => begun.push(performance.now()));
  pace.begin("address y", () => (others += 1));
  expect([begun, others]).toEqual([[], 1]);
  await expect.poll(() => begun.length, patient).toBeGreaterThanOrEqual(2);
  expect((begun[1] ?? 0) - startedAt).toBeGreaterThan(1_000 / uncountedOfDay.perSecond - 10);
});

test("more than twenty of them are begun one after the other, and those of others in between", async () => {
  const pace = new FailureThrottle();
  for (let at = 0; at < 30; at += 1) pace.charge("address x");
  let begun = 0;
  const letIn = Array.from({ length: 60 }, () => pace.begin("address x", () => (begun += 1)));
  expect(begun).toBe(1);
  // It has seventy left, so none is refused.
  expect(letIn).not.toContain(false);
  pace.begin("address y", () => (begun += 100));
  expect(begun).toBe(101);
  await expect.poll(() => begun, patient).toBe(160);
});
