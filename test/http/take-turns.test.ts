import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { workOf } from "../../src/admission/pay-for-work.ts";
import { throttleOf } from "../../src/admission/throttle-failures.ts";
import { shortReads } from "../../src/long-work.ts";
import { createApp } from "../../src/server/app.ts";
import { takeTurns } from "../../src/server/take-turns.ts";
import { ApiServer } from "../setup/api-server.ts";

let api: ApiServer;
beforeAll(async () => {
  api = await ApiServer.start({ TRUSTED_PROXIES: "127.0.0.1" });
});
afterAll(() => api?.close());

/** Requests that have all come before the first of them is looked at; each is named by its address. */
async function together(addresses: string[], listener: (request: IncomingMessage, response: ServerResponse) => void) {
  const arrived: [IncomingMessage, ServerResponse][] = [];
  const server: Server = createServer((...pair) => {
    if (arrived.push(pair) < addresses.length) return;
    arrived.sort(([one], [other]) => addresses.indexOf(nameOf(one)) - addresses.indexOf(nameOf(other)));
    for (const [request, response] of arrived) listener(request, response);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v0/me/settings`;
  await Promise.all(addresses.map((address) => fetch(url, { headers: { "X-Forwarded-For": address } })));
  server.closeAllConnections();
  server.close();
}

const nameOf = ({ headers }: IncomingMessage) => String(headers["x-forwarded-for"]);

test("requests that came together are begun in turns of the event loop of their own, address by address", async () => {
  let turn = 0;
  let ended = false;
  const tick = () => {
    turn += 1;
    if (!ended) setImmediate(tick);
  };
  tick();
  const begun: [string, number][] = [];
  const listener = takeTurns(api.services, (request, response) => {
    begun.push([nameOf(request), turn]);
    // As long as a turn lasts.
    for (const end = performance.now() + 1; performance.now() < end; );
    response.end();
  });
  const many = ["10.8.0.1", "10.8.0.1", "10.8.0.1", "10.8.0.1"];
  await together([...many, "10.8.0.2"], listener);
  ended = true;
  expect(new Set(begun.map(([, at]) => at)).size).toBe(5);
  // The newcomer goes before the rest of those who came in a crowd.
  expect(begun.map(([address]) => address).indexOf("10.8.0.2")).toBeLessThan(3);
});

test("fast-path reads that are under way go first, and not for ever", async () => {
  let begun = 0;
  const listener = takeTurns(api.services, (_request, response) => {
    begun += 1;
    response.end();
  });
  shortReads.underWay += 1;
  try {
    const done = together(["10.8.1.1", "10.8.1.2"], (request, response) => {
      listener(request, response);
      expect(begun).toBe(0);
    });
    await done;
    expect(begun).toBe(2);
  } finally {
    shortReads.underWay -= 1;
  }
});

/** One request for each route of the router, parameters filled in. */
function everyRoute(): { method: string; path: string }[] {
  const routes = createApp(api.services).routes.map(({ method, path }) => ({
    method: method === "ALL" ? "GET" : method,
    path: path.replace(/:chain\b/, "goerli").replace(/:(contract|collection|address)\b/g, `0x${"a1".repeat(20)}`),
  }));
  const named = routes.map(({ method, path }) => ({ method, path: path.replace(/:\w+(\{[^}]*\})?/g, "1") }));
  return [...new Map(named.map((route) => [`${route.method} ${route.path}`, route])).values()];
}

test("whatever is asked without a key costs whoever asks: no route of the router is free, but for the sign of life", async () => {
  const unpriced: string[] = [];
  const routes = everyRoute();
  expect(routes.length).toBeGreaterThan(80);
  for (const [at, { method, path }] of routes.entries()) {
    const address = `10.9.${at >> 8}.${at & 255}`;
    const answer = await fetch(api.url + path, { method, headers: { "X-Forwarded-For": address }, redirect: "manual" });
    await answer.body?.cancel();
    const owner = `address ${address}`;
    const isPriced = () =>
      throttleOf(api.services).charged(owner) > 0 ||
      workOf(api.services).paid(owner) > 0 ||
      answer.headers.get("ratelimit-bucket") === "open";
    // What nothing counted is charged when the answer has been sent.
    for (let turn = 0; turn < 100 && !isPriced(); turn += 1) await new Promise((done) => setTimeout(done, 1));
    if (!isPriced()) unpriced.push(`${method} ${path}`);
  }
  expect(unpriced).toEqual(["GET /livez"]);
});
