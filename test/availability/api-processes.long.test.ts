import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isFree } from "../../src/free-port.ts";
import { ReverseProxy } from "../setup/reverse-proxy.ts";
import { ServiceProcess } from "../setup/service-process.ts";
import { slowness, wait } from "../setup/wait.ts";
import { RelayHarness } from "../transactions/harness.ts";
import { isUnsigned, Load } from "./load.ts";

let h: RelayHarness;
let env: Record<string, string>;
const ports: number[] = [];
const key = randomUUID();
const processes: ServiceProcess[] = [];
/** By port, the newest. */
const apis = new Map<number, ServiceProcess>();
const startApi = async (port: number) => {
  const started = await ServiceProcess.start("api", { ...env, PORT: String(port) });
  processes.push(started);
  apis.set(port, started);
  return started;
};
const startWorker = async () => {
  const started = await ServiceProcess.start("worker", env);
  processes.push(started);
  return started;
};
beforeAll(async () => {
  h = await RelayHarness.start();
  // Not of the range that outgoing connections take their ports from: one could sit on it during a restart.
  for (let port = 20_000 + Math.floor(Math.random() * 10_000); ports.length < 2; port += 1)
    if (await isFree(port)) ports.push(port);
  const shutdown = { SHUTDOWN_DELAY_MS: "3000", SHUTDOWN_GRACE_MS: "20000" };
  env = { ...h.environment(), ...shutdown, RATE_LIMITS: "off", MINTYARD_API_KEY: key, LOG_LEVEL: "warn" };
});
afterAll(async () => {
  await Promise.all(processes.map((started) => started.end("SIGKILL")));
  await h?.stop();
});

test(
  "an API process is killed under load behind the proxy, a worker too: no request fails, what was accepted without a worker is signed by the next, nothing is lost or doubled",
  async () => {
    const [first, second, worker] = await Promise.all([
      startApi(ports[0] ?? 0),
      startApi(ports[1] ?? 0),
      startWorker(),
    ]);
    const proxy = await ReverseProxy.start(ports);
    const load = new Load(proxy.url, key);
    try {
      load.start(4);
      await load.answered(100);
      for (const [index, victim] of [first, second].entries()) {
        await victim.end("SIGKILL");
        await load.answered(25);
        await startApi(ports[index] ?? 0);
        // A request that the first victim refused is not to meet the second one as well.
        await load.settled();
      }
      await worker.end("SIGKILL");
      await wait("an answer while no worker lives", () => load.outcomes.some(isUnsigned));
      const next = await startWorker();
      await load.answered(50);
      await load.stop();
      // What was accepted meanwhile has waited for the next worker, and has its hash.
      const failed = load.outcomes.filter((outcome) => outcome.status !== 200 && !isUnsigned(outcome));
      expect(failed.slice(0, 5)).toEqual([]);
      expect(proxy.repeated).toBeGreaterThan(0);
      const hashes = [...load.deployments.values()];
      expect(hashes).not.toContain(null);
      await h.untilAnnounced(hashes.length);
      const announced = await h.announced();
      expect(new Set(announced.map(({ intentId }) => intentId)).size).toBe(announced.length);
      expect(new Set(hashes).size).toBe(announced.length);
      console.info(`${load.outcomes.length} requests, ${proxy.repeated} repeated, ${hashes.length} deployments`);
      expect(await next.end("SIGTERM")).toBe(0);
    } finally {
      await proxy.stop();
    }
  },
  500_000 * slowness,
);

test(
  "an API process that is stopped answers 503 on /readyz first, finishes what it has, and fails no request",
  async () => {
    for (const port of ports) if (!apis.get(port)?.running) await startApi(port);
    const leaving = apis.get(ports[1] ?? 0);
    const proxy = await ReverseProxy.start(ports, { checkMs: 50 });
    const load = new Load(proxy.url, key);
    try {
      load.start(0);
      await load.answered(50);
      const upload = slowUpload(ports[1] ?? 0, key);
      const direct = new Load(`http://127.0.0.1:${ports[1]}`, key);
      // The head of the upload has come; its body takes four seconds.
      await sleep(300);
      const ended = leaving?.end("SIGTERM");
      const ask = () => direct.send({ method: "GET", path: "/readyz" });
      const readiness = await wait("the end of readiness", ask, { until: ({ status }) => status !== 200 });
      expect(readiness.status).toBe(503);
      expect(JSON.parse(readiness.text)).toMatchObject({ ready: false, draining: true, database: "ok" });
      // Who has not heard of it yet is served still, for the last time on this connection.
      const served = await fetch(`http://127.0.0.1:${ports[1]}/livez`);
      expect([served.status, served.headers.get("connection")]).toEqual([200, "close"]);
      expect(await upload).toMatch(/^HTTP\/1\.1 200 /);
      expect(await ended).toBe(0);
      await load.answered(25);
      await load.stop();
      await direct.stop();
      expect(load.outcomes.filter(({ status }) => status !== 200).slice(0, 5)).toEqual([]);
      expect(load.outcomes.length).toBeGreaterThan(50);
    } finally {
      await proxy.stop();
    }
  },
  300_000 * slowness,
);

/** A file that takes about four seconds to arrive. */
function slowUpload(port: number, authorization: string): Promise<string> {
  const boundary = "slow";
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n`;
  const tail = `\r\n--${boundary}--\r\n`;
  const piece = "x".repeat(2_000);
  const pieces = 20;
  const length = head.length + pieces * piece.length + tail.length;
  return new Promise((done) => {
    const socket = connect(port, "127.0.0.1");
    let answer = "";
    socket.on("data", (chunk) => {
      answer += chunk;
    });
    socket.on("error", (error) => done(String(error)));
    socket.on("close", () => done(answer));
    socket.write(
      `POST /v0/files HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n` +
        `Content-Type: multipart/form-data; boundary=${boundary}\r\nContent-Length: ${length}\r\n\r\n${head}`,
    );
    void (async () => {
      for (let sent = 0; sent < pieces; sent += 1) {
        await sleep(200);
        socket.write(piece);
      }
      socket.write(tail);
    })();
  });
}
