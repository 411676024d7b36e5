import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadConfig } from "../../src/config/config.ts";
import { migrate } from "../../src/db/admin/migrate.ts";
import { readReplication, requireSynchronous } from "../../src/db/replicas/replication.ts";
import { type EmbeddedPostgres, startPostgres, startServer } from "../../src/embedded/postgres.ts";
import { freePorts } from "../../src/free-port.ts";
import { ensureNftViews } from "../../src/indexing/nft-views.ts";
import { createServices } from "../../src/processes/create-services.ts";
import { createLogger } from "../../src/telemetry/log.ts";
import { addressOf, NftFixture, nobody } from "../setup/nft-fixture.ts";
import { send } from "../setup/send.ts";
import { ServiceProcess } from "../setup/service-process.ts";
import { startStandby } from "../setup/standby.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { patient, slowness, wait } from "../setup/wait.ts";

const [contract, alice] = [addressOf(0xc1), addressOf(0xa1)];
const key = randomUUID();

const dir = temporaryFolder();
let primary: EmbeddedPostgres;
let standby: EmbeddedPostgres;
let standbyPort: number;
let pool: pg.Pool;
let nfts: NftFixture;
let api: ServiceProcess;
let base: string;
beforeAll(async () => {
  const [primaryPort = 0, second = 0, port = 0] = await freePorts(3);
  standbyPort = second;
  primary = await startPostgres(join(dir, "primary"), primaryPort);
  await migrate(primary.url);
  pool = new pg.Pool({ connectionString: primary.url });
  pool.on("error", () => undefined);
  const [fixture] = await NftFixture.create(pool, [31337]);
  if (!fixture) throw new Error("no fixture");
  // The process publishes views of its own over the chains that it finds here.
  await ensureNftViews(primary.url);
  await pool.query(
    "INSERT INTO nft.index_version (schema_name, chain_id, genesis_hash, live) VALUES ('c31337_test', 31337, '0x', true)",
  );
  nfts = fixture;
  await nfts.add(mints(1n, 30n));
  standby = await startStandby(primary, join(dir, "primary"), join(dir, "standby"), standbyPort);
  api = await ServiceProcess.start("api", {
    ...{ DATABASE_URL: primary.url, DATABASE_REPLICA_URLS: standby.url, REPLICA_MAX_LAG_SECONDS: "6" },
    ...{ PORT: String(port), MINTYARD_API_KEY: key, MINTYARD_DATA_DIR: join(dir, "data"), LOG_LEVEL: "warn" },
    ...{ RPC_URL_GOERLI: "http://127.0.0.1:9", CHAIN_ID_GOERLI: "31337", LOCAL_GOERLI: "true", RATE_LIMITS: "off" },
  });
  base = `http://127.0.0.1:${port}`;
});
afterAll(async () => {
  await api?.end();
  await pool?.end();
  await standby?.stop();
  await primary?.stop();
});

function mints(from: bigint, to: bigint) {
  const ids = Array.from({ length: Number(to - from) + 1 }, (_, index) => from + BigInt(index));
  return ids.map((tokenId) => ({ contract, tokenId, from: nobody, to: alice }));
}

interface Answer {
  status: number;
  /** Block that the answer says it has at least. */
  block: number;
  text: string;
}

/** @param minBlock makes it wait for a block, and so ask the primary. */
async function read(path: string, minBlock?: number, body?: unknown): Promise<Answer> {
  const wanted: Record<string, string> = minBlock === undefined ? {} : { "X-Min-Block": `goerli:${minBlock}` };
  const { status, headers, text } = await send(base + path, { key, body, headers: wanted });
  return { status, block: Number(headers.get("x-indexed-block")), text };
}

const accountPage = `/v0/accounts/${alice}?chain=goerli&page_size=50`;
const query = `query ($a: Address!) { account(address: $a) { nfts(chain: "goerli", first: 20) { totalCount nodes { tokenId contract { address } } } } }`;

async function reasons(): Promise<string[]> {
  const { reasons: all } = JSON.parse((await read("/readyz")).text) as { reasons: string[] };
  return all.filter((reason) => reason.startsWith("replica"));
}

const until = (what: string, done: () => Promise<boolean>) => wait(what, done, { lines: () => api.output.split("\n") });

async function metric(name: string): Promise<number> {
  const line = (await read("/metrics")).text.split("\n").find((text) => text.startsWith(name));
  return Number(line?.split(" ").at(-1) ?? Number.NaN);
}

const inUse = () => until("the standby is used", async () => (await reasons()).length === 0);
const tokensOf = ({ text }: Answer) => Number((JSON.parse(text) as { total: number }).total);

test("an operator learns whether a standby that follows would lose what was answered", async () => {
  expect(await readReplication(pool)).toEqual({ standbys: 1, synchronous: false });
  expect(api.output).toContain("standbys follow asynchronously");
  const mayFailOver = requireSynchronous(primary.url, true, createLogger("test", "silent"));
  await expect(mayFailOver).rejects.toThrow("DATABASE_FAILOVER: commits wait for no standby");
  await pool.query("ALTER SYSTEM SET synchronous_standby_names = '*'");
  await pool.query("SELECT pg_reload_conf()");
  await expect.poll(() => readReplication(pool), patient).toEqual({ standbys: 1, synchronous: true });
  await requireSynchronous(primary.url, true, createLogger("test", "silent"));
  await pool.query("ALTER SYSTEM RESET synchronous_standby_names");
  await pool.query("SELECT pg_reload_conf()");
  await expect.poll(() => readReplication(pool), patient).toEqual({ standbys: 1, synchronous: false });
});

test("reads of the index are answered by the standby, with the bytes that the primary gives", async () => {
  await inUse();
  const before = await metric("mintyard_replica_reads_total");
  for (const path of [
    accountPage,
    "/v0/nfts?chain=goerli",
    `/v0/nfts/${contract}?chain=goerli`,
    `/v0/nfts/${contract}/7?chain=goerli`,
    `/v0/transactions/nfts/${contract}?chain=goerli`,
    `/v0/search?text=x&chain=goerli`,
  ]) {
    const [there, here] = [await read(path), await read(path, 0)];
    expect(there.status, `${path} ${there.text}`).toBe(200);
    expect(there.text, path).toBe(here.text);
  }
  const body = { query, variables: { a: alice } };
  for (const round of [1, 2, 3]) {
    const [there, here] = [await read("/graphql", undefined, body), await read("/graphql", 0, body)];
    expect(JSON.parse(there.text).data, `round ${round}`).toEqual(JSON.parse(here.text).data);
    expect(JSON.parse(there.text).data.account.nfts.totalCount).toBe(30);
  }
  // Said by the process, and by the standby itself.
  expect(await metric("mintyard_replica_reads_total")).toBeGreaterThanOrEqual(before + 9);
  const client = new pg.Client({ connectionString: standby.url });
  await client.connect();
  const { rows } = await client.query<{ query: string }>(
    "SELECT query FROM pg_stat_activity WHERE application_name = 'mintyard-api-replica'",
  );
  await client.end();
  // A connection that was just made has asked nothing yet.
  const asked = rows.map(({ query: text }) => text.trim()).filter(Boolean);
  expect(asked.length).toBeGreaterThan(0);
  expect(asked.filter((text) => !/^(select|with)\b/i.test(text))).toEqual([]);
  expect(await metric("mintyard_replica_fallbacks_total")).toBe(0);
});

test("a standby works under the tenants' role; a server that takes writes gets no reads", async () => {
  const config = loadConfig({
    DATABASE_URL: primary.url,
    DATABASE_REPLICA_URLS: `${standby.url},${primary.url}`,
    RPC_URL_GOERLI: "http://127.0.0.1:9",
    CHAIN_ID_GOERLI: "31337",
  });
  const services = createServices(config, "test", { tenants: true, replicas: true });
  const { pool: index } = services.index;
  await until("it is known", async () => index.replicas()[0]?.trouble === null);
  expect(index.replicas()).toMatchObject([{ trouble: null }, { trouble: "not_a_standby" }]);
  for (let round = 0; round < 4; round += 1) {
    const { rows } = await index.query({ text: "SELECT current_user AS role, inet_server_port() AS port" });
    expect(rows).toEqual([{ role: "mintyard_api", port: standbyPort }]);
  }
  await expect(services.index.db.transaction().execute(async () => 1)).rejects.toThrow("transactions");
  await index.end();
  await services.pool.end();
});

test("a standby that stops replaying is detected by the answers' block, then gets no reads until it has caught up", async () => {
  await inUse();
  const client = new pg.Client({ connectionString: standby.url });
  await client.connect();
  await client.query("SELECT pg_wal_replay_pause()");
  const old = (await read(accountPage)).block;
  const block = await nfts.add(mints(31n, 40n));
  // Who waits for a block gets what is in it, whatever the standby has.
  expect(tokensOf(await read(accountPage, block))).toBe(40);
  await until("it is behind", async () => {
    const answer = await read(accountPage);
    // The block that an answer names is true of this answer, whoever gave it.
    if (answer.block >= block) expect(tokensOf(answer)).toBe(40);
    else expect(answer.block).toBe(old);
    return (await reasons()).includes("replica 1: behind");
  });
  // Gauges are as old as the last look at everything.
  await until("its lag is reported", async () => (await metric("mintyard_replica_lag_seconds")) > 6);
  const reads = await metric("mintyard_replica_reads_total");
  expect(tokensOf(await read(accountPage))).toBe(40);
  expect(await metric("mintyard_replica_reads_total")).toBe(reads);
  const status = JSON.parse((await read("/status")).text);
  expect(status.replicas).toMatchObject([{ replica: "1", trouble: "behind" }]);
  // It degrades the service and takes no process out.
  expect((await read("/readyz")).status).toBe(200);
  await client.query("SELECT pg_wal_replay_resume()");
  await client.end();
  await inUse();
  expect(tokensOf(await read(accountPage))).toBe(40);
  expect(await metric("mintyard_replica_reads_total")).toBeGreaterThan(reads);
});

test(
  "kill -9 of the standby under load fails no request; when it is back it gets reads again",
  async () => {
    await inUse();
    let over = false;
    let asked = 0;
    const odd: string[] = [];
    const client = async (path: string, body?: unknown) => {
      for (; !over; asked += 1) {
        const { status, text } = await read(path, undefined, body).catch((error) => ({
          status: 0,
          text: String(error),
        }));
        if (status !== 200 || text.startsWith('{"errors"')) odd.push(`${status} ${text.slice(0, 300)}`);
      }
    };
    const body = { query, variables: { a: alice } };
    const load = [accountPage, accountPage, "/v0/nfts?chain=goerli", `/v0/transactions/nfts/${contract}?chain=goerli`]
      .map((path) => client(path))
      .concat(client("/graphql", body), client("/graphql", body));
    for (let kill = 0; kill < 2; kill += 1) {
      const start = asked;
      await until("the load runs", async () => asked > start + 100);
      const gone = once(standby.process, "exit");
      standby.process.kill("SIGKILL");
      await gone;
      await until("it is missed", async () => (await reasons()).includes("replica 1: unreachable"));
      expect(api.output).toContain('"trouble":"unreachable"');
      const then = asked;
      await until("the primary answers", async () => asked > then + 100);
      standby = await restarted();
      await inUse();
    }
    over = true;
    await Promise.all(load);
    expect(odd.slice(0, 5)).toEqual([]);
    const reads = await metric("mintyard_replica_reads_total");
    await read(accountPage);
    expect(await metric("mintyard_replica_reads_total")).toBeGreaterThan(reads);
  },
  240_000 * slowness,
);

test("after a failover: a promoted standby gets no reads as a replica, and carries on as the primary", async () => {
  await inUse();
  const client = new pg.Client({ connectionString: standby.url });
  await client.connect();
  const { rows } = await client.query<{ pg_promote: boolean }>("SELECT pg_promote()");
  expect(rows).toEqual([{ pg_promote: true }]);
  await until("it is noticed", async () => (await reasons()).includes("replica 1: not_a_standby"));
  expect(tokensOf(await read(accountPage))).toBe(40);

  const gone = once(primary.process, "exit");
  primary.process.kill("SIGKILL");
  await gone;
  await api.end();
  const [port = 0] = await freePorts(1);
  api = await ServiceProcess.start("api", {
    ...{ DATABASE_URL: standby.url, PORT: String(port), MINTYARD_API_KEY: key, MINTYARD_DATA_DIR: join(dir, "data") },
    ...{ RPC_URL_GOERLI: "http://127.0.0.1:9", CHAIN_ID_GOERLI: "31337", LOCAL_GOERLI: "true", LOG_LEVEL: "warn" },
  });
  base = `http://127.0.0.1:${port}`;
  expect(tokensOf(await read(accountPage))).toBe(40);
  const form = new FormData();
  form.append("file", new File(["kept by the new primary"], "note.txt", { type: "text/plain" }));
  const upload = await send(`${base}/v0/files`, { key, body: form });
  expect(upload.status, upload.text).toBe(200);
  const { ipfs_url: kept } = upload.body;
  const found = await client.query("SELECT u.cid FROM service.upload u WHERE position(u.cid in $1) > 0", [kept]);
  expect(found.rows).toHaveLength(1);
  await client.end();
});

/** A killed server's last processes may hold its files for a moment. */
async function restarted(): Promise<EmbeddedPostgres> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await startServer(join(dir, "standby"), standbyPort);
    } catch (error) {
      if (tries === 10) throw error;
      await sleep(500);
    }
  }
}
