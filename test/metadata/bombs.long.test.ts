import { execFile } from "node:child_process";
import { createServer, type ServerResponse } from "node:http";
import { createServer as createTcpServer } from "node:net";
import { promisify } from "node:util";
import { brotliCompressSync, constants, deflateSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { measuredSlowness, slowness } from "../setup/wait.ts";
import { images } from "./corpus.ts";
import { listen, type Serving } from "./strange-server.ts";

const run = promisify(execFile);
const mb = 2 ** 20;

/** Sends the same piece for ever. */
function endless(piece: Uint8Array, everyMs: number) {
  return (response: ServerResponse) => {
    const timer = setInterval(() => response.write(piece), everyMs);
    response.on("close", () => clearInterval(timer));
  };
}

const compressed = (encoding: string, body: Uint8Array) => (response: ServerResponse) =>
  response.writeHead(200, { "content-encoding": encoding }).end(body);
const plain = (body: string | Uint8Array) => (response: ServerResponse) => response.end(body);
const zeros = Buffer.alloc(200 * mb, 32);
const quick = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };

/** What a server may send, and what comes of it. */
const bombs: Record<string, [fault: string | RegExp, send: (response: ServerResponse) => unknown]> = {
  "200 MB in gzip": ["too_large", compressed("gzip", gzipSync(zeros, { level: 1 }))],
  "200 MB in brotli": ["too_large", compressed("br", brotliCompressSync(zeros, quick))],
  "200 MB in deflate": ["too_large", compressed("deflate", deflateSync(zeros, { level: 1 }))],
  "gzip in gzip": ["bad_encoding", compressed("gzip, gzip", gzipSync(gzipSync(zeros, { level: 1 })))],
  "a length of 1 TB": [
    "too_large",
    (response) => response.writeHead(200, { "content-length": 2 ** 40 }).write(zeros.subarray(0, 2 * mb)),
  ],
  "a stream without end": ["too_large", endless(Buffer.alloc(65_536, 32), 1)],
  "a byte a second": ["fetch_timeout", endless(Buffer.from(" "), 1_000)],
  "200 bytes a second": ["fetch_timeout", endless(Buffer.from(" ".repeat(20)), 100)],
  "no answer": ["fetch_timeout", () => undefined],
  "headers and no body": [
    "fetch_timeout",
    (response) => response.writeHead(200, { "content-length": 10 }).flushHeaders(),
  ],
  "1 MB of opening brackets": ["too_complex", plain("[".repeat(mb))],
  "1 MB of opening braces with names": ["too_complex", plain('{"a":'.repeat(200_000))],
  "a number of 400,000 digits' size": ["read", plain('{"a":1e400000,"b":-1e400000}')],
  "a number of 1 MB": ["read", plain(`{"a":${"9".repeat(mb - 16)}}`)],
  "a string of 1 MB": ["read", plain(`{"name":"${"x".repeat(mb - 16)}"}`)],
  "a string of escapes": ["read", plain(`{"name":"${"\\u0000".repeat(170_000)}"}`)],
  "1 MB of line ends in a string": ["not_json", plain(`{"name":"${"\n".repeat(mb - 16)}"}`)],
  "5,000 line ends in a string": ["read", plain(`{"name":"${"\n".repeat(5_000)}"}`)],
  "1 MB of commas": ["not_json", plain(`[${",".repeat(mb - 16)}]`)],
  "1 MB of white space": ["not_json", plain(" ".repeat(mb - 1))],
  "half a million short members": ["too_complex", plain(`{${'"a":1,'.repeat(170_000)}"b":2}`)],
  "half a million list items": ["read", plain(`{"a":[${"1,".repeat(500_000)}1]}`)],
  "an encoded text in an encoded text": [
    "not_an_object",
    plain(JSON.stringify(JSON.stringify(`{"a":"${"\\".repeat(100_000)}"}`))),
  ],
  "an image without end?head": [/^head of 65536/, endless(Buffer.concat([images.png(3, 4), Buffer.alloc(65_536)]), 1)],
  "an SVG of one attribute?head": [/^head of 65536, width null/, plain(`<svg width="${"1".repeat(mb)}"`)],
  "an SVG of 30,000 spaces?head": [/^head of/, plain(`<svg ${" ".repeat(30_000)}${"<svg ".repeat(5_000)}`)],
  "a JPEG of empty segments?head": [
    /^head of/,
    plain(Buffer.concat([Buffer.from("ffd8", "hex"), Buffer.alloc(mb, Buffer.from("ffe00000", "hex"))])),
  ],
  "a box of no size?head": [
    /^head of/,
    plain(Buffer.concat([Buffer.from("0000000c6674797061766966000000", "hex"), Buffer.alloc(mb)])),
  ],
};

let server: Serving;
let raw: Serving;

beforeAll(async () => {
  const sends = Object.values(bombs);
  server = await listen(
    createServer((request, response) => {
      const [, send] = sends[Number(/^\/(\d+)/.exec(request.url ?? "")?.[1] ?? "-1")] ?? [];
      response.on("error", () => undefined);
      if (send) send(response);
      else response.end('{"name":"warm"}');
    }),
  );
  // Headers that never end; Node's own server would not send them.
  const tcp = createTcpServer((socket) => {
    socket.on("error", () => undefined);
    socket.write("HTTP/1.1 200 OK\r\n");
    const timer = setInterval(() => socket.write(`x-${Date.now()}: ${"y".repeat(1_000)}\r\n`), 5);
    socket.on("close", () => clearInterval(timer));
  });
  await new Promise<void>((done) => tcp.listen(0, "127.0.0.1", done));
  const { port } = tcp.address() as { port: number };
  raw = { url: `http://127.0.0.1:${port}`, port, close: async () => void tcp.close() };
});
afterAll(async () => {
  await server.close();
  await raw.close();
});

test("no answer of a server holds the reader for long or makes it grow by more than 64 MB", async () => {
  const names = [...Object.keys(bombs), "headers without end"];
  const urls = Object.keys(bombs).map((name, at) => `${server.url}/${at}${name.endsWith("?head") ? "?head" : ""}`);
  const { stdout } = await run(
    process.execPath,
    ["test/metadata/bombs-process.ts", `${server.url}/warm`, ...urls, raw.url],
    {
      timeout: 170_000 * slowness,
    },
  );
  const results: { fault: string; ms: number; grownMb: number }[] = JSON.parse(stdout);
  if (process.env["SHOW_FIGURES"])
    for (const [at, { ms, grownMb }] of results.entries())
      process.stdout.write(`${names[at]}: ${ms} ms, ${grownMb} MB\n`);
  const wanted = [...Object.values(bombs).map(([fault]) => fault), "fetch_failed"];
  expect(results).toHaveLength(names.length);
  for (const [at, { fault, ms, grownMb }] of results.entries()) {
    expect([names[at], fault]).toEqual([
      names[at],
      typeof wanted[at] === "string" ? wanted[at] : expect.stringMatching(wanted[at] ?? ""),
    ]);
    expect([names[at], grownMb <= 64 || `${grownMb} MB`]).toEqual([names[at], true]);
    // Ten seconds is the reader's own limit; the rest is for a busy machine.
    expect([names[at], ms < 30_000 * measuredSlowness || ms]).toEqual([names[at], true]);
  }
});
