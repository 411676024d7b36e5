import { execFile } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { parseEther, parseGwei } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { migrate } from "../../src/db/admin/migrate.ts";
import { createDatabase } from "../../src/db/pool/pool.ts";
import { type EmbeddedPostgres, startPostgres } from "../../src/embedded/postgres.ts";
import { freePorts } from "../../src/free-port.ts";
import { ensureNftViews } from "../../src/indexing/nft-views.ts";
import { startTestChain, type TestChain } from "../setup/local-chain.ts";
import { addressOf, NftFixture, nobody } from "../setup/nft-fixture.ts";
import { ServiceProcess } from "../setup/service-process.ts";
import { startStandby } from "../setup/standby.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { patient } from "../setup/wait.ts";
import { directClient, RelayHarness } from "../transactions/harness.ts";
import { hasPrometheus, Prometheus } from "./prometheus.ts";
import { askedBy, boardQueries, readAlerts, root, runbooks } from "./rules.ts";

const needs = hasPrometheus ? "" : " (skipped: Debian's package prometheus is not there)";
const key = randomUUID();
const run = promisify(execFile);

const dir = temporaryFolder();
let primary: EmbeddedPostgres;
let standby: EmbeddedPostgres;
let standbyPool: pg.Pool;
let pool: pg.Pool;
let chain: RelayHarness;
let second: TestChain;
let prometheus: Prometheus;
let ports: { api: number; faulty: number; worker: number };
const processes: ServiceProcess[] = [];
/** What a test has ended already. */
const ended = new Set<object>();
const endOnce = async (part: object | undefined, end: () => Promise<unknown>) => {
  if (!part || ended.has(part)) return;
  ended.add(part);
  await end();
};

const poolOf = (url: string) => {
  const made = new pg.Pool({ connectionString: url, max: 2 });
  made.on("error", () => undefined);
  return made;
};

/** What both programs are told. The API knows a chain more, whose rows no worker touches. */
const environment = () => ({
  ...chain.environment(),
  ...{ DATABASE_URL: primary.url, LOG_LEVEL: "warn", RATE_LIMITS: "off", MINTYARD_DATA_DIR: join(dir, "data") },
  RPC_URL_GOERLI: `${chain.proxy.url},${second.url}`,
});
const start = async (program: string, env: Record<string, string>) => {
  const started = await ServiceProcess.start(program, { ...environment(), ...env });
  processes.push(started);
  return started;
};
const startApi = async (port: number, env: Record<string, string> = {}) =>
  await start("api", {
    ...{ PORT: String(port), MINTYARD_API_KEY: key, DATABASE_REPLICA_URLS: standby.url },
    ...{ RPC_URL_POLYGON: "http://127.0.0.1:9", CHAIN_ID_POLYGON: "31338", LOCAL_POLYGON: "true", ...env },
  });

describe.skipIf(!hasPrometheus)(`a Prometheus that reads the rules${needs}`, () => {
  beforeAll(async () => {
    const [one = 0, two = 0, api = 0, faulty = 0, worker = 0, port = 0] = await freePorts(6);
    ports = { api, faulty, worker };
    primary = await startPostgres(join(dir, "primary"), one, { archive_mode: "on" });
    await migrate(primary.url);
    pool = poolOf(primary.url);
    await pool.query("ALTER SYSTEM SET archive_command = 'true'");
    await pool.query("SELECT pg_reload_conf()");
    await pretendIndex();
    standby = await startStandby(primary, join(dir, "primary"), join(dir, "standby"), two);
    standbyPool = poolOf(standby.url);
    second = await startTestChain();
    chain = await RelayHarness.start(async () => ({
      ...{ url: primary.url, pool, db: createDatabase(pool) },
      drop: async () => undefined,
    }));
    // A wallet opens once every endpoint counts as many transactions of it.
    const nonce = await chain.chain.getTransactionCount({ address: chain.relayer });
    await directClient(second).setNonce({ address: chain.relayer, nonce });
    prometheus = await Prometheus.start(dir, port, {
      "mintyard-api": [`127.0.0.1:${api}`],
      "mintyard-worker": [`127.0.0.1:${worker}`],
    });
  });
  afterAll(async () => {
    await Promise.all(processes.map((one) => one.end("SIGKILL")));
    await prometheus?.stop();
    await chain?.stop();
    await endOnce(second, () => second.stop());
    await endOnce(pool, () => pool.end());
    await endOnce(standbyPool, () => standbyPool.end());
    await endOnce(standby, () => standby.stop());
    await endOnce(primary, () => primary.stop());
  });

  test("fires while nothing is watched, and is silent beside a healthy service", async () => {
    await prometheus.until("MintyardNotWatched", "MintyardProcessDown");
    await startApi(ports.api);
    await start("worker", { METRICS_PORT: String(ports.worker) });
    const deployed = await deploy("Healthy");
    expect(deployed.status, await deployed.clone().text()).toBeLessThan(300);
    await chain.untilAnnounced(1);
    const workers = async () => (await fetch(`http://127.0.0.1:${ports.worker}/metrics`)).text();
    await expect.poll(workers, patient).toMatch(/mintyard_wallet_balance\{.*\} \d/);
    await prometheus.untilSilent();
  });

  test("what the rules and the board ask for is what these processes export", async () => {
    const metrics = async () =>
      await Promise.all(
        [ports.api, ports.worker].map(async (port) => await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()),
      );
    const asked = [...readAlerts().map(({ expr }) => expr), ...boardQueries()].flatMap((query) => askedBy(query).names);
    // An indexer's, a wallet's without its role, marks that are not set, what is there while something waits, and those of S3,
    // which test/ipfs/s3-store.long.test.ts reads.
    const elsewhere =
      /^mintyard_(rpc_refused|intents$|wallet_has_role|wallet_foreign|database_max|free_accounts|store_)|^nodejs_gc/;
    // A worker exports what it saw in its last round: a round or a scrape may lack one.
    const missing = async () => {
      const exported = new Set((await metrics()).join("\n").match(/^[a-z]\w+(?=[ {])/gm));
      return [...new Set(asked)].filter((name) => !exported.has(name) && !elsewhere.test(name));
    };
    await expect.poll(missing, patient).toEqual([]);
    const texts = await metrics();
    const worker = async () => await (await fetch(`http://127.0.0.1:${ports.worker}/metrics`)).text();
    await expect.poll(worker, patient).toMatch(/mintyard_transaction_seconds_count\{[^}]*stage="mined"[^}]*\} 1/);
    expect(texts[1]).toMatch(/mintyard_endpoint_head_block\{[^}]*endpoint="0",host="127.0.0.1:\d+"/);
    expect(texts.join("\n")).not.toContain(new URL(primary.url).password);
  });

  test("every command of the runbooks works", async () => {
    const blocks = runbooks().flatMap(({ name, text }) =>
      [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = ""]) => ({ name, block })),
    );
    expect(blocks.length).toBeGreaterThan(38);
    const failed: string[] = [];
    const env = { ...process.env, ...environment(), TMPDIR: dir };
    const seen = new Set<string>();
    for (const { name, block } of blocks)
      for (const line of block.trim().split("\n")) {
        // Several pages have the same command.
        if (seen.has(line)) continue;
        seen.add(line);
        // `npm run` starts a shell and npm for each; what they start is the same.
        const command = line
          .replaceAll("127.0.0.1:3000", `127.0.0.1:${ports.api}`)
          .replaceAll("127.0.0.1:9464", `127.0.0.1:${ports.worker}`)
          .replaceAll("npm run -s mintyard --", `"${process.execPath}" bin/mintyard.ts`);
        // Its standard input is a socket, and for such a shell bash would read the profile of the user.
        const outcome = await run("bash", ["--norc", "-c", command], { cwd: root, env }).then(
          ({ stdout }) => stdout !== "" || line.includes("|| true"),
          (error: Error) => error.message,
        );
        if (outcome !== true) failed.push(`${name}: ${line}: ${outcome}`);
      }
    expect(failed).toEqual([]);
  });

  test("wallets: each state, low funds, and what waits for them", async () => {
    await pool.query("UPDATE service.relayer_wallet SET state = 'halted'");
    const waits = await deploy("Waits");
    expect([200, 202, 503]).toContain(waits.status);
    const raw = await pool.connect();
    await raw.query("SET session_replication_role = replica");
    await raw.query(
      "UPDATE service.intent SET created_at = created_at - interval '20 minutes' WHERE state IN ('queued', 'held')",
    );
    raw.release(true);
    await prometheus.until("MintyardWalletHalted", "MintyardDeploymentsWait");
    await pool.query("UPDATE service.relayer_wallet SET state = 'paused_funds', needed_wei = 1e30");
    await prometheus.until("MintyardWalletOutOfFunds");
    const balance = await chain.chain.getBalance({ address: chain.relayer });
    await chain.chain.setBalance({ address: chain.relayer, value: parseEther("0.1") });
    await prometheus.until("MintyardWalletFundsLow");
    await chain.chain.setBalance({ address: chain.relayer, value: balance });
    await pool.query("UPDATE service.relayer_wallet SET state = 'open', needed_wei = NULL");
    await chain.untilAnnounced(2);
    // It was accepted twenty minutes before its block.
    await prometheus.until("MintyardConfirmationsSlow");
  });

  test("fees over what may be paid: requests wait for them, and go on when they fall", async () => {
    const fees = async (baseFeePerGas: bigint) => {
      await chain.chain.setNextBlockBaseFeePerGas({ baseFeePerGas });
      await chain.chain.mine({ blocks: 1 });
    };
    await fees(parseGwei("100000"));
    const waits = await deploy("Dear");
    expect([200, 202, 503]).toContain(waits.status);
    await prometheus.until("MintyardFeesTooHigh");
    await fees(parseGwei("1"));
    await chain.untilAnnounced(3);
  });

  test("chains: endpoints that are behind or away, an index that stands, lags or has holes, nodes at odds", async () => {
    await chain.chain.mine({ blocks: 40 });
    await prometheus.until("MintyardEndpointBehind");
    await endOnce(second, () => second.stop());
    await prometheus.until("MintyardEndpointDown");
    await pool.query("UPDATE service.chain_freshness SET node_head = 900");
    await pool.query(
      `INSERT INTO service.chain_freshness (chain_id, chain_name, schema_name, indexed_block, indexed_timestamp, node_head,
         providers_agree, checked_at, node_seen_at)
       VALUES (31338, 'polygon', 'x', 10, 1, 12, false, now() - interval '10 minutes', now() - interval '10 minutes')`,
    );
    await pool.query(`INSERT INTO service.log_sample VALUES ('x', 31338, 40, '{"7": 2}')`);
    await prometheus.until(
      ...["MintyardIndexBehind", "MintyardIndexStalled", "MintyardNodesUnreachable", "MintyardNodesDisagree"],
      "MintyardIndexIncomplete",
    );
  });

  test("queues and content: metadata, pins, damage", async () => {
    await pool.query(
      `INSERT INTO service.token_metadata (chain_id, contract, token_id, priority, next_attempt_at)
       VALUES (31338, $1, 1, 0, now() - interval '2 hours')`,
      [randomBytes(20)],
    );
    for (const content of ["one", "two"]) {
      const body = new FormData();
      body.append("file", new Blob([content]), `${content}.txt`);
      const stored = await fetch(`${base()}/v0/files`, { method: "POST", headers: { Authorization: key }, body });
      expect(stored.status).toBe(200);
    }
    await pool.query(`UPDATE service.upload SET created_at = now() - interval '1 day', pin_error = 'no room',
      pin_due_at = now() + interval '1 day', pin_state = CASE WHEN file_name = 'one.txt' THEN 'queued' ELSE 'failed' END`);
    await pool.query("UPDATE service.car SET damage = 'missing'");
    await prometheus.until(
      ...["MintyardMetadataWaits", "MintyardPinsWait", "MintyardPinsFailed", "MintyardContentDamaged"],
    );
  });

  test("the database: row-level security, backups, replication", async () => {
    await pool.query("ALTER TABLE service.upload DISABLE ROW LEVEL SECURITY");
    await pool.query("SELECT service.record_backup()");
    await pool.query("UPDATE service.last_backup SET taken_at = now() - interval '2 days'");
    await standbyPool.query("SELECT pg_wal_replay_pause()");
    for (let count = 0; count < 6; count += 1)
      await pool.query("SELECT pg_logical_emit_message(false, 'test', repeat('x', 60000000))");
    await prometheus.untilValue("max(mintyard_log_archive_failing)", "0");
    await pool.query("ALTER SYSTEM SET archive_command = ''");
    await pool.query("SELECT pg_reload_conf()");
    await prometheus.untilValue("max(mintyard_log_archive_failing)", "1");
    await pool.query("ALTER SYSTEM SET archive_command = 'false'");
    await pool.query("SELECT pg_reload_conf()");
    await pool.query("SELECT pg_switch_wal()");
    await prometheus.until(
      "MintyardRowSecurityOff",
      "MintyardBackupOld",
      "MintyardReplicationLag",
      "MintyardLogNotArchived",
    );
    await standbyPool.query("SELECT pg_wal_replay_resume()");
    await pool.query("ALTER SYSTEM SET synchronous_standby_names = '*'");
    await pool.query("SELECT pg_reload_conf()");
    await prometheus.untilValue("max(mintyard_replication_synchronous)", "1");
    await pool.query("ALTER SYSTEM RESET synchronous_standby_names");
    await pool.query("SELECT pg_reload_conf()");
    await prometheus.until("MintyardReplicationNotSynchronous");
    await endOnce(standbyPool, () => standbyPool.end());
    await endOnce(standby, () => standby.stop());
    await prometheus.until("MintyardStandbyLost", "MintyardReplicaOut");
  });

  test("a process with too little room, and a worker without a signer", async () => {
    await startApi(ports.faulty, { MIN_FREE_DISK_BYTES: "900000000000000", DATABASE_MAX_BYTES: "1" });
    prometheus.watch(`127.0.0.1:${ports.faulty}`);
    await start("worker", {
      ...{ SIGNER_URL: "http://127.0.0.1:9", SIGNER_TOKEN: "a-token-of-the-tests-of-32-letters" },
      ...{ RELAYER_KEY_GOERLI: "", RELAYER_ADDRESS_GOERLI: chain.relayer },
    });
    await prometheus.until(
      ...["MintyardDiskFilling", "MintyardDatabaseFilling", "MintyardStorageFull", "MintyardSignerDown"],
    );
  });

  test("a worker and a database that are gone", async () => {
    await processes[1]?.end("SIGKILL");
    await prometheus.until("MintyardProcessDown");
    await endOnce(pool, () => pool.end());
    await endOnce(primary, () => primary.stop());
    const asking = setInterval(
      () => void fetch(`${base()}/v0/nfts?chain=goerli`, { headers: { Authorization: key } }).catch(() => {}),
      100,
    );
    try {
      await prometheus.until("MintyardDatabaseDown", "MintyardServerErrors");
    } finally {
      clearInterval(asking);
    }
  });
});

/** What an indexer leaves behind that has just looked and lacks nothing; by the clock of an hour from now, so that it stays so. */
async function pretendIndex(): Promise<void> {
  const [fixture] = await NftFixture.create(pool, [31337]);
  await ensureNftViews(primary.url);
  await pool.query(
    "INSERT INTO nft.index_version (schema_name, chain_id, genesis_hash, live) VALUES ('c31337_test', 31337, '0x', true)",
  );
  await fixture?.add([{ contract: addressOf(0xc1), tokenId: 1n, from: nobody, to: addressOf(0xa1) }]);
  await pool.query(
    `INSERT INTO service.chain_freshness (chain_id, chain_name, schema_name, indexed_block, indexed_timestamp, node_head,
       providers_agree, checked_at, node_seen_at)
     VALUES (31337, 'goerli', 'c31337_test', 10, 1, 10, true, now() + interval '1 hour', now() + interval '1 hour')`,
  );
}

const base = () => `http://127.0.0.1:${ports.api}`;

async function deploy(name: string): Promise<Response> {
  const wallet = "0x25D5bf305aA1FbD778B05Aaa454405D0094Cfa96";
  return await fetch(`${base()}/v0/contracts/collections`, {
    method: "POST",
    headers: { Authorization: key, "Content-Type": "application/json" },
    body: JSON.stringify({
      ...{ chain: "goerli", name, symbol: "TSK", max_supply: 100, mint_price: 0.01, tokens_per_mint: 10 },
      ...{ owner_address: wallet, treasury_address: wallet, royalties_share: 500, royalties_address: wallet },
      ...{ public_mint_start: "2022-07-12T11:30:48+00:00", presale_mint_start: "2022-07-11T11:30:48+00:00" },
      ...{ metadata_updatable: true, presale_whitelisted_addresses: [wallet] },
      prereveal_token_uri: "ipfs://bafkreiepfwroxy47wzvllrfyu5dwecz6blkiztzmc3r3frryasdve74zii",
    }),
  });
}
