import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createFetcher, type Fetcher } from "../../src/outbound/fetcher.ts";

const bomb = gzipSync(Buffer.alloc(200_000_000, 32));
let server: Server;
let base = "";
let sent = 0;
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
  expect(await fetcher.fetch(`${base}/missing`)).toEqual({ fault: "http_status" });
  expect(await fetcher.fetch("http://127.0.0.1:9/")).toEqual({ fault: "fetch_failed" });
});
