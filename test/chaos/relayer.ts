// Deploys through two API processes and two workers while everything around them breaks; then asks the chain.
//   node test/chaos/relayer.ts --deployments 300 --seed 1 [--defect NAME] [--seconds 600]
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import pg from "pg";
import { keccak256, parseEther, toHex } from "viem";
import { privateKeyToAddress } from "viem/accounts";
import { loadConfig } from "../../src/config.ts";
import { migrate } from "../../src/db/migrate.ts";
import { startPostgres } from "../../src/embedded/postgres.ts";
import { freePorts } from "../../src/free-port.ts";
import { createLogger } from "../../src/log.ts";
import { deployFactory } from "../../src/relay/deploy-factory.ts";
import { Dice } from "./dice.ts";
import { FaultProxy } from "./fault-proxy.ts";
import { Restarting, rpc, startAnvil, stopAnvil } from "./fleet.ts";
import { type Ask, judge } from "./oracle.ts";

const { values } = parseArgs({
  options: {
    deployments: { type: "string", default: "300" },
    seed: { type: "string", default: "1" },
    defect: { type: "string", default: "" },
    seconds: { type: "string", default: "900" },
    rate: { type: "string", default: "0.12" },
    verbose: { type: "boolean", default: false },
  },
});
const total = Number(values.deployments);
const seed = Number(values.seed);
const dice = new Dice(seed);
const started = performance.now();
const deadline = started + Number(values.seconds) * 1_000;
const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));
const counts = new Map<string, number>();
const count = (what: string, by = 1) => counts.set(what, (counts.get(what) ?? 0) + by);

const dir = await mkdtemp(join(tmpdir(), "mintyard-chaos-"));
const [pgPort = 0, nodePort = 0, otherPort = 0, apiPort1 = 0, apiPort2 = 0] = await freePorts(5);
let postgres = await startPostgres(join(dir, "pg"), pgPort);
await migrate(postgres.url);
const nodeUrl = `http://127.0.0.1:${nodePort}`;
const node = await startAnvil(nodePort, 31337, ["--block-time", "1", "--order", "fees"]);
const other = await startAnvil(otherPort, 31338, ["--block-time", "3600"]);
const keys = [0, 1].map((lane) => keccak256(toHex(`mintyard chaos ${seed} ${lane}`)));
const wallets = keys.map((key) => privateKeyToAddress(key).toLowerCase() as `0x${string}`);
const fund = (wei: bigint, who = wallets) =>
  Promise.all(who.map((wallet) => rpc(nodeUrl, "anvil_setBalance", [wallet, toHex(wei)])));
await fund(parseEther("100000"));
for (const wallet of wallets) await rpc(`http://127.0.0.1:${otherPort}`, "anvil_setNonce", [wallet, toHex(90_000)]);

const pool = new pg.Pool({ connectionString: postgres.url, max: 4 });
pool.on("error", () => undefined);
let unstored = 0;
/** Rule R2, seen from outside: when bytes arrive at a node, their row must be there. */
async function checkStored(raws: string[]): Promise<void> {
  for (const raw of raws) {
    const hash = Buffer.from(keccak256(raw as `0x${string}`).slice(2), "hex");
    const found = await pool.query("SELECT FROM service.attempt WHERE hash = $1", [hash]).then(
      ({ rowCount }) => rowCount,
      () => 1,
    );
    if (found === 0) unstored += 1;
  }
}
const proxies = [
  await FaultProxy.start(nodeUrl, `http://127.0.0.1:${otherPort}`, new Dice(seed + 1), checkStored),
  await FaultProxy.start(nodeUrl, `http://127.0.0.1:${otherPort}`, new Dice(seed + 2), checkStored),
];
const apiKey = randomUUID();
const env: Record<string, string> = {
  DATABASE_URL: postgres.url,
  MINTYARD_DATA_DIR: join(dir, "data"),
  MINTYARD_API_KEY: apiKey,
  LOG_LEVEL: "info",
  RPC_URL_GOERLI: proxies.map(({ url }) => url).join(","),
  CHAIN_ID_GOERLI: "31337",
  LOCAL_GOERLI: "true",
  CONFIRMATIONS_GOERLI: "3",
  FINALITY_GOERLI: "8",
  RELAYER_KEY_GOERLI: keys.join(","),
  BUDGET_GLOBAL_HOUR: "1000000",
};
const [chain] = loadConfig({ ...env, RPC_URL_GOERLI: nodeUrl }).chains;
if (!chain) throw new Error("no chain");
const factory = await deployFactory(chain, createLogger("chaos", "silent"));
Object.assign(env, { FACTORY_GOERLI: factory.address, FACTORY_BLOCK_GOERLI: String(factory.block) });

const root = new URL("../../", import.meta.url).pathname;
const chaosCrash = [
  "accept-before-commit:0.01,accept-after-commit:0.01,assign-before-commit:0.01,assign-after-commit:0.01",
  "sign-before-persist:0.01,sign-after-persist:0.01,send-after:0.005,mined-before-commit:0.01",
  "confirm-before-commit:0.005,finalize-before-commit:0.0005,bump-before-persist:0.02,bump-after-persist:0.02",
].join(",");
function onLine(line: string): void {
  if (values.verbose) process.stderr.write(`${line}\n`);
  if (line.startsWith("CHAOS_CRASH ")) {
    count("kills");
    count(`fault crash ${line.slice(12)}`);
  }
  if (/"incident|adopting a deployment/.test(line)) count("incidents in the log");
}
const armed = { ...env, MINTYARD_CHAOS_CRASH: chaosCrash, MINTYARD_CHAOS_DEFECTS: values.defect };
const apis = [apiPort1, apiPort2].map(
  (port, index) => new Restarting(`api${index}`, join(root, "src/api.ts"), { ...armed, PORT: String(port) }, onLine),
);
const workers = [0, 1].map((index) => new Restarting(`worker${index}`, join(root, "src/worker.ts"), armed, onLine));
await Promise.all([...apis, ...workers].map(({ ready }) => ready));
process.stderr.write(`up after ${((performance.now() - started) / 1000).toFixed(1)} s\n`);
const begun = performance.now();

const asks: Ask[] = Array.from({ length: total }, (_, index) => ({
  name: `Chaos ${seed} ${index}`,
  hashes: new Set(),
}));
const apiUrls = [apiPort1, apiPort2].map((port) => `http://127.0.0.1:${port}`);
let calm = false;

async function post(ask: Ask, index: number, copy: number): Promise<void> {
  const body = JSON.stringify({
    chain: "goerli",
    name: ask.name,
    symbol: "CHA",
    max_supply: 100,
    tokens_per_mint: 5,
    mint_price: 0.01,
    owner_address: `0x${(index + 1).toString(16).padStart(8, "0")}${"ab".repeat(16)}`,
    treasury_address: `0x${(index + 1).toString(16).padStart(8, "0")}${"cd".repeat(16)}`,
    public_mint_start_date: "2022-01-01T00:00:00",
    prereveal_token_uri: "ipfs://bafkreiepfwroxy47wzvllrfyu5dwecz6blkiztzmc3r3frryasdve74zii",
    metadata_updatable: true,
  });
  // Two of three bring their own key; the others rely on the derived one.
  const key = index % 3 === 0 ? {} : { "Idempotency-Key": `chaos-${seed}-${index}` };
  for (let tries = 0; performance.now() < deadline; tries += 1) {
    const impatient = !calm && dice.chance(0.05);
    if (impatient) count("fault client hangs up");
    try {
      const response = await fetch(`${apiUrls[(copy + tries) % 2]}/v0/contracts/collections`, {
        method: "POST",
        headers: { authorization: apiKey, "content-type": "application/json", ...key },
        body,
        signal: AbortSignal.timeout(impatient ? dice.between(5, 300) : 20_000),
      });
      const answer = (await response.json()) as { transaction_hash?: string; error?: unknown };
      if (response.status === 200 && answer.transaction_hash) {
        ask.hashes.add(answer.transaction_hash);
        count("answers with a hash");
        return;
      }
      count(`status ${response.status}`);
      if (response.status < 500 && response.status !== 429)
        throw new Fatal(`${response.status} ${JSON.stringify(answer)}`);
    } catch (error) {
      if (error instanceof Fatal) {
        count("refused for good");
        process.stderr.write(`${ask.name}: ${error.message}\n`);
        return;
      }
      count("connection failures");
    }
    await sleep(200 + 300 * Math.min(tries, 5));
  }
}

class Fatal extends Error {}

async function clients(): Promise<void> {
  const queue = asks.entries();
  const client = async () => {
    for (const [index, ask] of queue) {
      if (performance.now() > deadline) return;
      count("fault posted three times");
      await Promise.all([0, 1, 2].map((copy) => post(ask, index, copy)));
    }
  };
  await Promise.all(Array.from({ length: 20 }, client));
}

/** Breaks nodes, processes and the database, in turns. */
async function breakThings(): Promise<void> {
  for (const proxy of proxies) proxy.rate = Number(values.rate);
  const deeds: readonly [string, number, () => Promise<unknown>][] = [
    ["reorg", 30, () => rpc(nodeUrl, "anvil_reorg", [dice.between(1, 6), []]).then(() => count("reorgs"))],
    ["kill", 45, kill],
    ["freeze", 4, () => freeze(dice.pick(workers))],
    ["drop the pool", 8, () => rpc(nodeUrl, "anvil_dropAllTransactions")],
    ["empty wallets", 3, emptyWallets],
    ["base fee x100", 3, () => rpc(nodeUrl, "anvil_setNextBlockBaseFeePerGas", [toHex(100n * 10n ** 9n)])],
    ["no blocks", 3, pauseMining],
    ["postgres crash", 1, crashPostgres],
    ["other chain for seconds", 3, otherChain],
  ];
  const bag = deeds.flatMap(([name, weight, deed]) => Array.from({ length: weight }, () => ({ name, deed })));
  while (!calm) {
    await sleep(dice.between(400, 1_200));
    if (calm) return;
    const { name, deed } = dice.pick(bag);
    count(`fault ${name}`);
    await deed().catch(() => count(`failed to ${name}`));
  }
}

/** One of a pair, while the other one serves: on a slow machine nothing would ever get done otherwise. */
async function kill(): Promise<void> {
  const pair = dice.pick([apis, workers]);
  if (!pair.every(({ up }) => up)) return;
  if (dice.pick(pair).signal("SIGKILL")) count("kills");
}

async function freeze(worker: Restarting): Promise<void> {
  worker.signal("SIGSTOP");
  await sleep(dice.between(1_000, 5_000));
  worker.signal("SIGCONT");
}

async function emptyWallets(): Promise<void> {
  await fund(1n);
  await sleep(dice.between(1_000, 3_000));
  await fund(parseEther("100000"));
}

async function pauseMining(): Promise<void> {
  await rpc(nodeUrl, "evm_setIntervalMining", [0]);
  await sleep(dice.between(1_000, 3_000));
  await rpc(nodeUrl, "evm_setIntervalMining", [1]);
}

async function crashPostgres(): Promise<void> {
  const ended = new Promise((done) => postgres.process.once("exit", done));
  postgres.process.kill("SIGQUIT");
  await ended;
  postgres = await startPostgres(join(dir, "pg"), pgPort);
  count("postgres crashes");
}

async function otherChain(): Promise<void> {
  for (const proxy of proxies) proxy.otherChain = true;
  await sleep(dice.between(1_000, 4_000));
  for (const proxy of proxies) proxy.otherChain = false;
}

async function settle(): Promise<boolean> {
  while (performance.now() < deadline) {
    const { rows } = await pool
      .query("SELECT count(*) FILTER (WHERE state <> 'finalized') open, count(*) n FROM service.intent")
      .catch(() => ({ rows: [{ open: "1", n: "0" }] }));
    if (Number(rows[0].open) === 0 && Number(rows[0].n) >= total) return true;
    await sleep(500);
  }
  return false;
}

const breaking = breakThings();
await clients();
calm = true;
await breaking;
for (const proxy of proxies) Object.assign(proxy, { rate: 0, otherChain: false });
await fund(parseEther("100000"));
await rpc(nodeUrl, "evm_setIntervalMining", [1]).catch(() => undefined);
const settled = await settle();
const seconds = (performance.now() - begun) / 1000;
const verdict = await judge(nodeUrl, factory.address, wallets, pool, asks, async (hash) => {
  for (let tries = 0; tries < 20; tries += 1) {
    const url = `${apiUrls[tries % 2]}/v0/contracts/${hash}?chain=goerli`;
    const answer = await fetch(url, { headers: { authorization: apiKey } })
      .then((response) => response.json() as Promise<{ contract_address?: string }>)
      .catch(() => null);
    if (answer?.contract_address) return answer.contract_address;
    await sleep(100);
  }
  return null;
});
if (unstored > 0) verdict.violations.push(`bytes sent before they were stored: ${unstored}`);
if (!settled) {
  const { rows } = await pool.query("SELECT state, hold_reason, count(*) n FROM service.intent GROUP BY 1, 2");
  verdict.violations.push(`not settled in time: ${JSON.stringify(rows)}`);
}
for (const proxy of proxies) for (const [fault, times] of proxy.met) count(`fault ${fault}`, times);
const kinds = [...counts.keys()].filter((name) => name.startsWith("fault ")).length;
const figures = {
  seed,
  deployments: total,
  seconds: Math.round(seconds),
  contracts: verdict.contracts,
  lost: verdict.lost.length,
  doubled: verdict.doubled.length,
  wrongHashes: verdict.wrongHashes.length,
  hashes: asks.reduce((sum, { hashes }) => sum + hashes.size, 0),
  faultKinds: kinds,
  kills: counts.get("kills") ?? 0,
  reorgs: counts.get("reorgs") ?? 0,
  postgresCrashes: counts.get("postgres crashes") ?? 0,
  violations: verdict.violations,
};
process.stderr.write(`${JSON.stringify(Object.fromEntries([...counts].sort()), null, 1)}\n`);
process.stdout.write(`CHAOS ${JSON.stringify(figures)}\n`);
await Promise.all([...apis, ...workers].map((process) => process.retire()));
for (const proxy of proxies) await proxy.stop();
await pool.end();
await postgres.stop();
stopAnvil(node);
stopAnvil(other);
await rm(dir, { recursive: true, force: true });
const clean =
  verdict.lost.length + verdict.doubled.length + verdict.wrongHashes.length + verdict.violations.length === 0;
process.exit(clean ? 0 : 1);
