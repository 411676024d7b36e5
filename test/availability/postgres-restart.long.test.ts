import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type EmbeddedPostgres, startPostgres } from "../../src/embedded/postgres.ts";
import { freePorts } from "../../src/free-port.ts";
import { ServiceProcess } from "../setup/service-process.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { measuredSlowness, patient, slowness, wait } from "../setup/wait.ts";
import { RelayHarness } from "../transactions/harness.ts";
import { Load } from "./load.ts";

let h: RelayHarness;
const dir = temporaryFolder();
let postgres: EmbeddedPostgres;
let postgresPort: number;
let base: string;
let api: ServiceProcess;
let worker: ServiceProcess;
const key = randomUUID();
beforeAll(async () => {
  h = await RelayHarness.start();
  const [dbPort = 0, port = 0] = await freePorts(2);
  postgresPort = dbPort;
  postgres = await startPostgres(join(dir, "pg"), postgresPort);
  const env = { ...h.environment(), DATABASE_URL: postgres.url, MINTYARD_DATA_DIR: dir, LOG_LEVEL: "warn" };
  const limits = { RATE_LIMITS: "off", MINTYARD_API_KEY: key, PORT: String(port) };
  api = await ServiceProcess.start("api", { ...env, ...limits });
  worker = await ServiceProcess.start("worker", env);
  base = `http://127.0.0.1:${port}`;
});
afterAll(async () => {
  await Promise.all([api?.end(), worker?.end()]);
  await postgres?.stop();
  await h?.stop();
});

test(
  "PostgreSQL restarts under load, orderly and by a crash: 503 with Retry-After meanwhile, then answers, nothing lost",
  async () => {
    const load = new Load(base, key);
    load.start(2, 50);
    await until(() => load.uploads.length > 5 && load.deployments.size > 1);
    const back: number[] = [];
    for (const signal of ["SIGINT", "SIGQUIT"] as const) {
      const gone = once(postgres.process, "exit");
      postgres.process.kill(signal);
      await gone;
      const down = performance.now();
      const refusals = () => load.outcomes.filter(({ at }) => at > down + 200);
      // Until each kind of request was refused.
      await until(() => new Set(refusals().map(({ kind }) => kind)).size === 4);
      expect((await load.send({ method: "GET", path: "/livez" })).status).toBe(200);
      // What it says may be a second old.
      const readiness = async () => (await load.send({ method: "GET", path: "/readyz" })).status;
      await expect.poll(readiness, patient).toBe(503);
      const refused = refusals();
      expect(new Set(refused.map(({ kind }) => kind))).toEqual(new Set(["read", "query", "upload", "deploy"]));
      expect(refused.filter(({ status, retryAfter }) => status !== 503 || !retryAfter).slice(0, 5)).toEqual([]);
      postgres = await startPostgres(join(dir, "pg"), postgresPort);
      const listening = performance.now();
      const good = await untilGood(load, listening);
      back.push(good - listening);
      const uploads = load.uploads.length;
      const deployments = load.deployments.size;
      await until(() => load.uploads.length > uploads + 3 && load.deployments.size > deployments);
    }
    await load.stop();
    console.info(
      `${load.outcomes.length} requests, ${load.uploads.length} uploads, ${load.deployments.size} deployments; first good answer after ${back.map((ms) => Math.round(ms)).join(" and ")} ms`,
    );
    expect(Math.max(...back)).toBeLessThan(2_000 * measuredSlowness);
    const odd = load.outcomes.filter(({ status, retryAfter }) => status !== 200 && !(status === 503 && retryAfter));
    expect(odd.slice(0, 5)).toEqual([]);
    expect(load.uploads.length).toBeGreaterThan(10);
    expect(load.deployments.size).toBeGreaterThan(3);

    const again = new Load(base, key);
    for (const cid of load.uploads)
      expect((await again.send({ method: "GET", path: `/ipfs/${cid}` })).status, cid).toBe(200);
    // A refused request is sent again under its key; one that has a hash keeps it.
    for (const [name, hash] of load.deployments) {
      await wait(`a hash for ${name}`, async () => {
        await again.deploy(name);
        return again.deployments.get(name);
      });
      expect(again.deployments.get(name)).toMatch(/^0x/);
      if (hash) expect(again.deployments.get(name)).toBe(hash);
      await untilDeployed(again, again.deployments.get(name) ?? "");
    }
    // Asked of the node: one collection for each, and no other.
    const announced = await h.announced();
    expect(announced.length).toBe(load.deployments.size);
    expect(new Set(announced.map(({ intentId }) => intentId)).size).toBe(load.deployments.size);
    await again.stop();
  },
  300_000 * slowness,
);

/** Waits for the load itself, however slow the machine is. */
const until = (done: () => boolean) => wait("the load", done);

async function untilGood(load: Load, since: number): Promise<number> {
  const look = () => load.outcomes.find(({ at, status }) => at >= since && status === 200)?.at ?? 0;
  return await wait("a good answer", look, { lines: () => api.output.split("\n") });
}

async function untilDeployed(load: Load, hash: string): Promise<void> {
  const look = () => load.send({ method: "GET", path: `/v0/contracts/${hash}?chain=goerli` });
  await wait(`deployment ${hash}`, look, { until: ({ status }) => status === 200 });
}
