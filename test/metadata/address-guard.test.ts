import { createServer } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isPublicAddress } from "../../src/outbound/address-guard.ts";
import { createFetcher, type Fetcher } from "../../src/outbound/fetcher.ts";
import { fitsHeader, resolverOf, ssrfCases } from "./ssrf-cases.ts";
import { listen, type Serving } from "./strange-server.ts";

let connections = 0;
const servers: Serving[] = [];
let port = 0;
let gateway: Serving;
let guarded: Fetcher;

beforeAll(async () => {
  const secret = () =>
    createServer((_request, response) => response.end('{"secret":true}')).on("connection", () => {
      connections += 1;
    });
  const listener = await listen(secret());
  port = listener.port;
  const sixth = await listen(secret(), "::1", port).catch(() => null);
  gateway = await listen(
    createServer((request, response) => {
      const target = decodeURIComponent(request.url?.slice(1) ?? "");
      response.writeHead(302, { location: target }).end();
    }),
  );
  servers.push(listener, gateway, ...(sixth ? [sixth] : []));
  guarded = createFetcher({
    allowPrivate: false,
    // The listener's own port is allowed here, so that only the address can be what is refused.
    ports: [String(port), "80", "443"],
    resolve: resolverOf(ssrfCases),
  });
});
afterAll(async () => {
  await guarded.close();
  for (const server of servers) await server.close();
});

test("more than 200 cases are distinguished", () => {
  expect(new Set(ssrfCases.map(({ url, what }) => `${url} ${what}`)).size).toBeGreaterThanOrEqual(200);
});

test.each(ssrfCases)("$what is not reached", async ({ url }) => {
  expect(await guarded.fetch(url.replace("PORT", String(port)))).toEqual({ fault: "address_refused" });
});

test("none of them is reached by a redirect of a trusted gateway, nor by the ranged read of an image", async () => {
  for (const { what, url } of ssrfCases.filter(fitsHeader)) {
    const target = `${gateway.url}/${encodeURIComponent(url.replace("PORT", String(port)))}`;
    expect([what, await guarded.fetch(target, { trusted: true })]).toEqual([what, { fault: "address_refused" }]);
    expect([what, await guarded.fetchHead(target, 64, { trusted: true })]).toEqual([
      what,
      { fault: "address_refused" },
    ]);
  }
});

test("nothing of all this connected to the listener, which does answer to who may", async () => {
  expect(connections).toBe(0);
  const open = createFetcher({ allowPrivate: true });
  const answer = await open.fetch(`http://127.0.0.1:${port}/`);
  await open.close();
  expect("bytes" in answer && Buffer.from(answer.bytes).toString()).toBe('{"secret":true}');
  expect(connections).toBe(1);
});

test("what the clouds answer to their own machines is not public, in any form", () => {
  const clouds = [
    "169.254.169.254",
    "169.254.170.2",
    "168.63.129.16",
    "192.0.0.192",
    "100.100.100.200",
    "169.254.42.42",
  ];
  const mapped = clouds.map((address) => `::ffff:${address}`);
  const sixth = [
    "fd00:ec2::254",
    "fd00:ec2::23",
    "fd20:ce::254",
    "fd00:c1::a9fe:a9fe",
    "::168.63.129.16",
    "64:ff9b::a83f:8110",
  ];
  expect([...clouds, ...mapped, ...sixth].filter(isPublicAddress)).toEqual([]);
  for (const neighbour of ["168.63.129.15", "168.63.129.17"]) expect(isPublicAddress(neighbour)).toBe(true);
});

test("addresses of the public internet are public", () => {
  expect(["93.184.216.34", "1.1.1.1", "2606:4700::1111"].filter((address) => !isPublicAddress(address))).toEqual([]);
});
