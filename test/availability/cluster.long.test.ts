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
import { type BackupBucket, startBackupBucket } from "./backup-bucket.ts";
import { Cluster, type DatabaseHost, missingPrograms, pageCommand } from "./cluster.ts";
import { judgeLoad } from "./judge-load.ts";
import { Load, type Outcome } from "./load.ts";

const reason = missingPrograms.length > 0 ? ` (skipped: this machine has no ${missingPrograms.join(", ")})` : "";

/** What docs/cluster.md promises: from the last write before a leader dies, or is moved, to the first one after it. */
const promisedMs = { death: 30_000, onPurpose: 15_000 };

/** `deadlock_detected`, https://www.postgresql.org/docs/15/errcodes-appendix.html */
const deadlock = "40P01";

let h: RelayHarness;
let cluster: Cluster;
let bucket: BackupBucket;
let api: ServiceProcess;
let worker: ServiceProcess;
let indexer: ServiceProcess;
let base: string;
let load: Load;
const dir = temporaryFolder();
const key = randomUUID();
beforeAll(async () => {
  if (reason !== "") return;
  await mkdir(join(dir, "cluster"), { mode: 0o755 });
  bucket = await startBackupBucket(join(dir, "cluster", "authority.pem"));
  const [harness, started, [port = 0]] = await Promise.all([
    RelayHarness.start(),
    Cluster.start(join(dir, "cluster"), bucket),
    freePorts(1),
  ]);
  h = harness;
  cluster = started;
  base = `http://127.0.0.1:${port}`;
  await startApi();
  await startOthers();
}, 120_000 * slowness);
afterAll(async () => {
  await endService();
  await cluster?.stop();
  await bucket?.stop();
  await h?.stop();
});

const environment = () => ({
  ...{ ...h.environment(), ...cluster.environment(), MINTYARD_DATA_DIR: join(dir, "data"), LOG_LEVEL: "warn" },
});

async function startApi(): Promise<void> {
  const settings = { RATE_LIMITS: "off", MINTYARD_API_KEY: key, PORT: new URL(base).port };
  api = await ServiceProcess.start("api", { ...environment(), ...settings });
}

async function startOthers(): Promise<void> {
  [worker, indexer] = await Promise.all([
    ServiceProcess.start("worker", environment()),
    ServiceProcess.start("indexer", environment(), ["--chain", "goerli"]),
  ]);
}

async function endService(): Promise<void> {
  await Promise.all([api?.end(), worker?.end(), indexer?.end()]);
}

function showOnFailure(): void {
  onTestFailed(() => {
    const outputs = [api, worker, indexer].map(({ output }) => output.slice(-3_000));
    console.log([...cluster.lines(), ...outputs].join("\n"));
  });
}

test.skipIf(reason !== "")(
  `leaders are killed and cut off under load: writes come back in time, reads go on, nothing is lost or done twice${reason}`,
  async () => {
    showOnFailure();
    load = new Load(base, key);
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
    await lose("on purpose", leader, async () => void (await leader.run(pageCommand("switchover"))));
    await cluster.untilWhole();

    leader = await cluster.leader();
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
    expect(Math.max(...Object.values(windows))).toBeLessThan(promisedMs.death * measuredSlowness);
    expect(windows["on purpose"]).toBeLessThan(promisedMs.onPurpose * measuredSlowness);
    expect(Math.min(...readsMeanwhile)).toBeGreaterThan(0);
    expect([api.running, worker.running, indexer.running]).toEqual([true, true, true]);
    await judgeLoad(load, judged());
  },
  600_000 * slowness,
);

const judged = () => ({ again: new Load(base, key), h, cluster, indexer });

test.skipIf(reason !== "")(
  `after a mistake the database goes back to the moment before it, and the chain tells the rest${reason}`,
  async () => {
    showOnFailure();
    const leader = await cluster.leader();
    const backUp = () => leader.run(pageCommand("backup.sh"));
    await backUp();
    const before = load;
    load = new Load(base, key);
    load.start(2, 100);
    await progress(load);
    // Of what came since.
    await backUp();
    await progress(load);
    const [kept, moment] = [load.uploads.length, await ask(leader, "SELECT now()::text AS found")];
    await progress(load);
    const more = Array.from({ length: 10 }, () => load.deploy(randomUUID()));
    await Promise.all([...more, load.stop()]);
    // The service goes on writing: who drops a schema under it may have to ask twice.
    await wait("the schema to be dropped", () =>
      ask(leader, "DROP SCHEMA service CASCADE").then(
        () => true,
        (error: { code?: string }) => {
          if (error.code !== deadlock) throw error;
          return false;
        },
      ),
    );

    await endService();
    await expect(leader.run(pageCommand("restore.sh"))).rejects.toThrow(/stop Patroni first/);
    for (const host of [...cluster.hosts.filter((one) => one !== leader), leader]) await host.end();
    const restore = (when: string) => pageCommand("restore.sh").replace("2026-01-31 14:05:00+01", when);
    // To the end of the log, as without any host, and so with the mistake; then to moments that never were, and the right one.
    const [, timeline = ""] = /TIMELINE (\d+)/.exec(await leader.run(restore(""))) ?? [];
    await expect(leader.run(restore("2001-01-01 00:00:00+00"))).rejects.toThrow(/unable to find backup set/);
    const tomorrow = new Date(Date.now() + 86_400_000)
      .toISOString()
      .replace("T", " ")
      .replace(/\.\d+Z$/, "+00");
    await expect(leader.run(restore(tomorrow))).rejects.toThrow(/before configured recovery target/);
    expect(await leader.run(restore(moment), { TIMELINE: timeline })).toContain("restored");
    leader.startPatroni();
    await wait("the leader", async () => (await cluster.members()).some(({ role }) => role === "leader"));
    for (const host of cluster.hosts) {
      if (host === leader) continue;
      await host.run(pageCommand("cluster.env; mv"));
      host.startPatroni();
    }
    await cluster.untilWhole();
    const rows = await ask(leader, "SELECT count(*)::text AS found FROM service.intent");
    const asked = before.deployments.size + load.deployments.size;
    console.info(`${rows} of ${asked} requests in the database of ${moment}`);
    expect(Number(rows)).toBeGreaterThan(before.deployments.size);
    expect(Number(rows)).toBeLessThan(asked);
    await startOthers();
    await startApi();

    load.uploads.splice(kept);
    for (const [name, hash] of before.deployments) load.deployments.set(name, hash);
    await judgeLoad(load, judged());
    expect(await ask(leader, "SELECT (taken_at < now())::text AS found FROM service.last_backup")).toBe("true");
  },
  600_000 * slowness,
);

async function ask(host: DatabaseHost, sql: string): Promise<string> {
  const client = new pg.Client({ connectionString: cluster.urlOf(host) });
  await client.connect();
  try {
    const { rows } = await client.query<{ found: string }>(sql);
    return rows[0]?.found ?? "";
  } finally {
    await client.end();
  }
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
