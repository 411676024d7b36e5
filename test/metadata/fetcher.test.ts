import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createFetcher, type Fetcher } from "../../src/outbound/fetcher.ts";
import { Busy } from "../../src/outbound/host-limits.ts";

const bomb = gzipSync(Buffer.alloc(200_000_000, 32));
let server: Server;
let base = "";
let sent = 0;
const served: string[] = [];
const fetcher: Fetcher = createFetcher({ allowPrivate: true });

beforeAll(async () => {
  server = createServer((request, response) => {
    const [, kind, rest] = /^\/(\w+)\/?(.*)$/.exec(request.url ?? "") ?? [];
    if (kind === "loop") response.writeHead(302, { location: `/loop/${Number(rest) + 1}` }).end();
    else if (kind === "hops") {
      if (rest === "0") response.end('{"at":"end"}');
      else response.writeHead(307, { location: `/hops/${Number(rest) - 1}` }).end();
    } else if (kind === "bomb") {
      response.writeHead(200, { "content-encoding": "gzip" }).end(bomb);
    } else if (kind === "stacked") {
      response.writeHead(200, { "content-encoding": "gzip, gzip" }).end(gzipSync(gzipSync("{}")));
    } else if (kind === "endless") {
      const timer = setInterval(() => {
        sent += 65_536;
        response.write(Buffer.alloc(65_536, 32));
      }, 1);
      response.on("close", () => clearInterval(timer));
    } else if (kind === "status") {
      const [status, wait] = rest?.split("/") ?? [];
      served.push(request.url ?? "");
      response.writeHead(Number(status), wait === undefined ? {} : { "retry-after": wait }).end();
    } else response.writeHead(404).end();
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await fetcher.close();
  await new Promise((done) => server.close(done));
});

test("three redirects are followed, a fourth is not", async () => {
  expect(await fetcher.fetch(`${base}/hops/3`)).toMatchObject({ bytes: Buffer.from('{"at":"end"}') });
  expect(await fetcher.fetch(`${base}/hops/4`)).toEqual({ fault: "too_many_redirects" });
  expect(await fetcher.fetch(`${base}/loop/0`)).toEqual({ fault: "too_many_redirects" });
});

test("a bomb of 200 MB is left after 1 MB of what it unpacks to", async () => {
  const before = process.memoryUsage().arrayBuffers;
  expect(await fetcher.fetch(`${base}/bomb`)).toEqual({ fault: "too_large" });
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 2 ** 20);
  expect(await fetcher.fetch(`${base}/stacked`)).toEqual({ fault: "bad_encoding" });
});

test("a body without end is cut off", async () => {
  expect(await fetcher.fetch(`${base}/endless`)).toEqual({ fault: "too_large" });
  expect(sent).toBeLessThan(16 * 2 ** 20);
});

test("a status that is no success, and a server that is not there", async () => {
  expect(await fetcher.fetch(`${base}/missing`)).toEqual({ fault: "http_404" });
  expect(await fetcher.fetch("http://127.0.0.1:9/")).toEqual({ fault: "fetch_failed" });
});

test("each status is a word of its own, with the time that the server wants", async () => {
  for (const status of [401, 403, 404, 410, 500, 502]) {
    expect(await fetcher.fetch(`${base}/status/${status}`)).toEqual({ fault: `http_${status}` });
    expect(await fetcher.fetchHead(`${base}/status/${status}`, 100)).toEqual({ fault: `http_${status}` });
  }
  expect(await fetcher.fetch(`${base}/status/403/60`)).toEqual({ fault: "http_403", waitMs: 60_000 });
});

test.each([
  ["429/3600", { fault: "http_429", waitMs: 3_600_000 }],
  ["503/120", { fault: "http_503", waitMs: 120_000 }],
  ["429", { fault: "http_429" }],
])("after %s nothing more is asked of that host for a while, by documents and by images", async (answer, fault) => {
  const own = createFetcher({ allowPrivate: true });
  try {
    expect(await own.fetch(`${base}/status/${answer}`)).toEqual(fault);
    const before = served.length;
    for (const ask of [own.fetch(`${base}/status/404`), own.fetchHead(`${base}/status/404`, 100)])
      await expect(ask).rejects.toThrow(Busy);
    expect(served.length).toBe(before);
    // Another host of the same server.
    expect(await own.fetch(`${base.replace("127.0.0.1", "localhost")}/status/404`)).toEqual({ fault: "http_404" });
  } finally {
    await own.close();
  }
});

test("a server that fails without such a word is asked again", async () => {
  expect(await fetcher.fetch(`${base}/status/503`)).toEqual({ fault: "http_503" });
  expect(await fetcher.fetch(`${base}/hops/0`)).toMatchObject({ bytes: Buffer.from('{"at":"end"}') });
});
