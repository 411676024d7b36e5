import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ApiServer } from "../setup/api-server.ts";

let api: ApiServer;
let key: string;
beforeAll(async () => {
  api = await ApiServer.start();
  key = (await api.account("enterprise")).key;
});
afterAll(() => api?.close());

type Drip = { head: string; byte: string };

/** A client that sends one byte at a time for as long as it is let. @returns how long that was. */
function attack({ head, byte }: Drip): Promise<number> {
  const started = performance.now();
  return new Promise((done) => {
    const socket: Socket = connect(api.port, "127.0.0.1", () => socket.write(head));
    const timer = setInterval(() => socket.write(byte), 200);
    socket.on("error", () => undefined);
    socket.resume();
    socket.once("close", () => {
      clearInterval(timer);
      done(performance.now() - started);
    });
  });
}

test("three hundred clients that drip are thrown out while honest ones are served, uploads over a slow line too", async () => {
  const body = (path: string, type: string) =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${key}\r\nContent-Type: ${type}\r\nContent-Length: 900000\r\n\r\n`;
  const kinds: Drip[] = [
    { head: "", byte: "" },
    { head: "GET /v0/me/settings HTTP/1.1\r\nHost: x\r\n", byte: "X" },
    { head: body("/v0/contracts/collections", "application/json"), byte: " " },
    { head: body("/graphql", "application/json"), byte: " " },
    { head: body("/v0/files", "multipart/form-data; boundary=b"), byte: "-" },
  ];
  const attackers = Array.from({ length: 300 }, (_, index) => attack(kinds[index % kinds.length] as Drip));
  let over = false;
  const gone = Promise.all(attackers).then((times) => {
    over = true;
    return times;
  });
  const honest: { status: number; ms: number }[] = [];
  const upload = slowUpload();
  while (!over) {
    const started = performance.now();
    const { status } = await api.send("GET", "/v0/me/settings", key);
    honest.push({ status, ms: performance.now() - started });
    await new Promise((done) => setTimeout(done, 100));
  }
  const times = await gone;
  expect(honest.filter(({ status }) => status !== 200)).toEqual([]);
  expect(honest.length).toBeGreaterThan(10);
  expect(await upload).toContain("200 OK");
  const sorted = honest.map(({ ms }) => ms).sort((a, b) => a - b);
  const p99 = sorted[Math.floor(sorted.length * 0.99)] ?? 0;
  // Figures for the reader; how busy the machine is must not decide the test.
  console.info(`last attacker gone after ${Math.max(...times).toFixed(0)} ms; honest p99 ${p99.toFixed(0)} ms`);
});

/** 40 KB in twelve seconds: slow, but it comes. */
async function slowUpload(): Promise<string> {
  const content = "x".repeat(40_000);
  const part = `--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n${content}\r\n--b--\r\n`;
  const head = `POST /v0/files HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: ${key}\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: ${part.length}\r\n\r\n`;
  const socket = connect(api.port, "127.0.0.1");
  let answer = "";
  socket.on("data", (chunk) => {
    answer += chunk;
  });
  const closed = new Promise((done) => socket.once("close", done));
  socket.on("error", () => undefined);
  socket.write(head);
  for (let sent = 0; sent < part.length; sent += 1_700) {
    socket.write(part.slice(sent, sent + 1_700));
    await new Promise((done) => setTimeout(done, 500));
  }
  await closed;
  return answer.slice(0, 200);
}

test("headers that never end and headers that are too large get an answer with a request id", async () => {
  const answer = await new Promise<string>((done) => {
    const socket = connect(api.port, "127.0.0.1", () =>
      socket.write(`GET / HTTP/1.1\r\nHost: x\r\nX-Big: ${"y".repeat(40_000)}\r\n\r\n`),
    );
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk;
    });
    socket.on("error", () => undefined);
    socket.once("close", () => done(text));
  });
  expect(answer).toContain("431 ");
  expect(answer).toMatch(/X-Request-Id: req_[0-9a-f]{24}/);
});
