import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, expect, onTestFailed, test } from "vitest";
import { freePorts } from "../../src/free-port.ts";
import { ServiceProcess } from "../setup/service-process.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { measuredSlowness, slowness, wait } from "../setup/wait.ts";
import { RelayHarness } from "../transactions/harness.ts";
import { Cluster, type DatabaseHost, missingPrograms } from "./cluster.ts";
import { Load, type Outcome } from "./load.ts";

const reason = missingPrograms.length > 0 ? ` (skipped: this machine has no ${missingPrograms.join(", ")})` : "";

/** What docs/cluster.md promises: from the last write before a leader dies to the first one after it. */
const promisedMs = 30_000;

let h: RelayHarness;
let cluster: Cluster;
let api: ServiceProcess;
let worker: ServiceProcess;
let indexer: ServiceProcess;
let base: string;
const dir = temporaryFolder();
const key = randomUUID();
beforeAll(async () => {
  if (reason !== "") return;
  await mkdir(join(dir, "cluster"), { mode: 0o755 });
  const [harness, started, [port = 0]] = await Promise.all([
    RelayHarness.start(),
    Cluster.start(join(dir, "cluster")),
    freePorts(1),
  ]);
  h = harness;
  cluster = started;
  const env = { ...h.environment(), ...cluster.environment(), MINTYARD_DATA_DIR: join(dir, "data"), LOG_LEVEL: "warn" };
  api = await ServiceProcess.start("api", {
    ...{ ...env, RATE_LIMITS: "off", MINTYARD_API_KEY: key, PORT: String(port) },
  });
  [worker, indexer] = await Promise.all([
    ServiceProcess.start("worker", env),
    ServiceProcess.start("indexer", env, ["--chain", "goerli"]),
  ]);
  base = `http://127.0.0.1:${port}`;
}, 120_000 * slowness);
afterAll(async () => {
  await Promise.all([api?.end(), worker?.end(), indexer?.end()]);
  await cluster?.stop();
  await h?.stop();
});

test.skipIf(reason !== "")(
  `leaders are killed and cut off under load: writes come back in time, reads go on, nothing is lost or done twice${reason}`,
  async () => {
    onTestFailed(() => {
      console.log(
        [...cluster.lines(), api.output.slice(-3_000), worker.output.slice(-3_000), indexer.output.slice(-3_000)].join(
          "\n",
        ),
      );
    });
    const load = new Load(base, key);
    // Every leader has writes under way, and most of the machine is left to elect one.
    load.start(0, 100);
    let over = false;
    const clients = [1, 2].map(async () => {
      while (!over) await deployAtLast(load, randomUUID(), () => over);
    });
    await progress(load);

    const windows: Record<string, number> = {};
    const readsMeanwhile: number[] = [];
    const lose = async (how: string, host: DatabaseHost, harm: () => Promise<void> | void) => {
      const at = performance.now();
      await harm();
      await wait("another leader", async () => {
        const leader = (await cluster.members()).find(({ role }) => role === "leader");
        return leader !== undefined && leader.name !== host.name;
      });
      await progress(load);
      const { from, to } = longestWithoutWrite(load.outcomes, at);
      windows[how] = to - from;
      readsMeanwhile.push(
        load.outcomes.filter((item) => item.kind === "read" && item.status === 200 && item.at > from && item.at < to)
          .length,
      );
    };

    let leader = await cluster.leader();
    await lose("power", leader, () => leader.killAll());
    leader.start();
    await cluster.untilWhole();

    leader = await cluster.leader();
    await lose("PostgreSQL", leader, () => leader.killPostgres());
    await cluster.untilWhole();

    leader = await cluster.leader();
    // It was connected before, and does not go through HAProxy.
    const stray = new pg.Client({ connectionString: cluster.urlOf(leader) });
    stray.on("error", () => undefined);
    await stray.connect();
    await stray.query("CREATE TABLE public.stray (note text)");
    await lose("cut off", leader, () => leader.cutOff());
    const answered = stray.query("INSERT INTO public.stray VALUES ('of the old leader')").then(
      () => true,
      () => false,
    );
    leader.reconnect();
    await cluster.untilWhole();
    expect(await answered, "a leader that was cut off acknowledged a commit").toBe(false);
    await stray.end().catch(() => undefined);

    await progress(load);
    over = true;
    await Promise.all([...clients, load.stop()]);
    console.info(
      `${load.outcomes.length} requests, ${load.outcomes.filter(({ status }) => status === 0).length} broken, ${load.deployments.size} deployments; without a write for ${Object.entries(
        windows,
      )
        .map(([how, ms]) => `${(ms / 1_000).toFixed(1)} s (${how})`)
        .join(", ")}; reads meanwhile ${readsMeanwhile.join(", ")}`,
    );
    expect(Math.max(...Object.values(windows))).toBeLessThan(promisedMs * measuredSlowness);
    expect(Math.min(...readsMeanwhile)).toBeGreaterThan(0);
    expect([api.running, worker.running, indexer.running]).toEqual([true, true, true]);
    await judge(load);
  },
  600_000 * slowness,
);

/** Nothing is lost, doubled or wrong: by the files, the chain and the rows themselves. */
async function judge(load: Load): Promise<void> {
  // What broke without an answer was repeated, too.
  const fine = ({ status, retryAfter }: Outcome) => status === 200 || status === 0 || (status === 503 && retryAfter);
  const odd = load.outcomes.filter((outcome) => !fine(outcome));
  expect(odd.slice(0, 5)).toEqual([]);
  const again = new Load(base, key);
  // At most 32 at a time, which is what its agent has connections for.
  await Promise.all(
    load.uploads.map(async (cid) => {
      const { status } = await again.send({ method: "GET", path: `/ipfs/${cid}` });
      expect(status, cid).toBe(200);
    }),
  );
  await Promise.all([...load.deployments].map(([name, hash]) => confirm(again, name, hash)));
  const head = Number(await h.chain.getBlockNumber());
  const indexed = async () => {
    const { text } = await again.send({ method: "GET", path: "/status" });
    const { chains } = JSON.parse(text) as { chains: { indexedBlock: string | null }[] };
    return Number(chains[0]?.indexedBlock ?? 0);
  };
  await wait("the index", indexed, { until: (block) => block >= head, lines: () => indexer.output.split("\n") });
  await again.stop();
  const announced = await h.announced();
  expect(announced.length).toBe(load.deployments.size);
  expect(new Set(announced.map(({ intentId }) => intentId)).size).toBe(load.deployments.size);

  const client = new pg.Client({ connectionString: cluster.urlOf(await cluster.leader()) });
  await client.connect();
  const { rows: hashes } = await client.query<{ hash: string }>(
    "SELECT '0x' || encode(hash, 'hex') AS hash FROM service.attempt",
  );
  const stored = new Set(hashes.map(({ hash }) => hash));
  expect([...load.deployments.values()].filter((hash) => hash && !stored.has(hash))).toEqual([]);
  const { rows } = await client.query(
    `SELECT count(DISTINCT intent_id)::int AS intents, (max(nonce) - min(nonce) + 1 - count(*))::int AS gaps,
       (SELECT count(*)::int FROM service.intent) AS requests FROM service.nonce_reservation WHERE state <> 'external'`,
  );
  expect(rows).toEqual([{ intents: load.deployments.size, gaps: 0, requests: load.deployments.size }]);
  const { rows: stray } = await client.query("SELECT FROM public.stray");
  expect(stray).toEqual([]);
  await client.end();
}

/** A deployment has its hash, the one that was answered if there was one, and ends as a collection. */
async function confirm(load: Load, name: string, hash: string | null): Promise<void> {
  await wait(`a hash for ${name}`, async () => {
    await load.deploy(name);
    return load.deployments.get(name);
  });
  const found = load.deployments.get(name);
  if (hash) expect(found, name).toBe(hash);
  const look = () => load.send({ method: "GET", path: `/v0/contracts/${found}?chain=goerli` });
  await wait(`deployment ${name}`, look, { until: ({ status }) => status === 200 });
}

/** As clients should: the same request under the same key, until it is answered. */
async function deployAtLast(load: Load, name: string, over: () => boolean): Promise<void> {
  while (!over()) {
    await load.deploy(name);
    await sleep(500);
    if (load.deployments.get(name)) return;
  }
}

/** Until uploads and deployments were answered again, several of each. */
async function progress(load: Load): Promise<void> {
  const since = performance.now();
  const good = (kind: string) =>
    load.outcomes.filter((item) => item.kind === kind && item.status === 200 && item.at > since);
  await wait("writes", () => good("upload").length > 5 && good("deploy").length > 2, { lines: () => cluster.lines() });
}

/** The longest time in which no write was answered. */
function longestWithoutWrite(outcomes: readonly Outcome[], since: number): { from: number; to: number } {
  const isWrite = ({ kind, status }: Outcome) => (kind === "upload" || kind === "deploy") && status === 200;
  const times = outcomes.filter((item) => isWrite(item) && item.at > since).map(({ at }) => at);
  let longest = { from: since, to: since };
  let from = since;
  for (const to of times.sort((a, b) => a - b)) {
    if (to - from > longest.to - longest.from) longest = { from, to };
    from = to;
  }
  return longest;
}
