import { setTimeout as sleep } from "node:timers/promises";
import type { Address } from "viem";
import { loadConfig } from "../../src/config/config.ts";
import { createServices } from "../../src/processes/create-services.ts";
import { openWallet } from "../../src/transactions/operator/mend-wallet.ts";
import { SeededGenerator } from "../setup/seeded-generator.ts";
import { slowness } from "../setup/wait.ts";
import { type Ask, Clients } from "./clients.ts";
import { matrixLines } from "./fault-kinds.ts";
import { rpc } from "./fleet.ts";
import { OlderState } from "./older-state.ts";
import { judge, type Verdict } from "./oracle.ts";
import { Tally } from "./tally.ts";
import { Trouble } from "./trouble.ts";
import { World } from "./world.ts";

export interface ChaosOptions {
  deployments: number;
  seed: number;
  /** The run is given up after this long on a quiet machine. */
  seconds: number;
  /** Share of requests to a node that meet a fault. */
  rate: number;
  /** On a factory that would deploy the same intent again. */
  permissive: boolean;
  /** How often each fault of the schedule is done. */
  repeats: number;
  /** How often the database is put back to a state of some seconds earlier; nobody steals a key then. */
  lostRows?: number;
  /** Seeded defects of the service: names of patches in `mutants/`. */
  defects?: readonly string[];
  /** As of `WorldOptions`. */
  older?: string | undefined;
  /** Receives every line that a process writes. */
  onLine?: (line: string) => void;
  /** Told every fifteen seconds how far the run is. */
  onProgress?: (text: string) => void;
}

export interface ChaosFigures extends Verdict {
  seconds: number;
  hashes: number;
  /** Lines of the fault matrix that were met, and all kinds of fault by name. */
  matrix: string[];
  faults: string[];
  kills: number;
  reorgs: number;
  postgresCrashes: number;
  tally: Record<string, number>;
}

const firstDay = Date.UTC(2023, 0, 1);

/** Deploys while everything around the service breaks, waits until all has ended, and asks the chain. */
export async function runChaos(options: ChaosOptions): Promise<ChaosFigures> {
  const { seed, deployments } = options;
  const tally = new Tally();
  const { permissive, defects = [], older } = options;
  const world = await World.start({ seed, permissive, defects, older, onLine });
  function onLine(line: string): void {
    options.onLine?.(line);
    const crash = /^CHAOS_CRASH (\S+)/.exec(line)?.[1];
    if (crash) {
      tally.count("kills");
      tally.fault(`crash ${crash}`);
      if (crash === "accept-after-commit") tally.fault("charge booked, then a kill");
    }
    // The last line of defence: a sound relay never gets that far.
    if (/an intent cannot go from|one version at a time|a nonce keeps its intent|never gives out a nonce/.test(line))
      tally.count("guards of the database that had to step in");
    if (/"incident|importing a deployment/.test(line)) tally.count("incidents in the log");
  }
  let reporting: NodeJS.Timeout | undefined;
  try {
    const begun = performance.now();
    const deadline = begun + options.seconds * 1_000 * slowness;
    const older = options.lostRows ? new OlderState(world.databaseUrl) : null;
    await older?.prepare();
    const asks = Array.from({ length: deployments }, (_, index): Ask => makeAsk(seed, index));
    const clients = new Clients(world, new SeededGenerator(seed), tally, deadline);
    const trouble = new Trouble(world, new SeededGenerator(seed + 3), tally, options.repeats, options.lostRows);
    clients.forgetful = Boolean(options.lostRows);
    tally.fault("two workers");
    for (const proxy of world.proxies) proxy.rate = options.rate;
    const progress = () => options.onProgress?.(progressOf(asks, trouble, tally, performance.now() - begun));
    reporting = setInterval(progress, 15_000);
    let over = false;
    const operator = operate(world, tally, () => over, Boolean(options.lostRows));
    const breaking = trouble.run(() => performance.now() < deadline);
    await Promise.all([
      clients.run(asks, () => 20 + Math.floor(trouble.progress * deployments)),
      breaking.then(() => {
        clients.calm = true;
      }),
    ]);
    if (options.lostRows) await clients.repeat(asks);
    tally.count("seconds of posting", Math.round((performance.now() - begun) / 1000));
    for (const proxy of world.proxies) Object.assign(proxy, { rate: 0, otherChain: false, late: 0 });
    const settled = await settle(world, deadline);
    over = true;
    await operator;
    const seconds = Math.round((performance.now() - begun) / 1000);
    for (const proxy of world.proxies) for (const [fault, times] of proxy.met) tally.fault(fault, times);
    const verdict = await judge(
      {
        nodeUrl: world.nodeUrl,
        factory: world.factory.address,
        wallets: world.wallets,
        external: world.external,
        fromBlock: world.factory.block,
        pool: world.pool,
        bumpAfterBlocks: 3,
        lostRows: Boolean(options.lostRows),
        ...(options.lostRows ? { gone: (hash: string) => isGone(world, hash) } : {}),
        lookUp: async (hash) => {
          const end = performance.now() + 5_000 * slowness;
          return await clients.address(hash, () => performance.now() < end);
        },
      },
      asks.map(({ name, hashes, updates }) => ({
        name,
        hashes,
        expected: updates && {
          royaltiesBps: BigInt(updates.royalties_share),
          publicMintStart: BigInt(Date.parse(`${updates.public_mint_start_date}Z`) / 1000),
        },
      })),
    );
    verdict.violations.push(...clients.refused, ...(await checkAnswers(world, asks, Boolean(options.lostRows))));
    for (const state of (await older?.closedWallets()) ?? []) verdict.violations.push(`a wallet was closed: ${state}`);
    if (world.unstored() > 0) verdict.violations.push(`bytes sent before they were stored: ${world.unstored()}`);
    for (const what of ["guards of the database that had to step in", "deployed on the wrong chain"])
      if (tally.of(what) > 0) verdict.violations.push(`${what}: ${tally.of(what)}`);
    if (!settled) verdict.violations.push(`not settled in time: ${await openStates(world)}`);
    return {
      ...verdict,
      seconds,
      hashes: asks.reduce((sum, { hashes }) => sum + hashes.size, 0),
      matrix: matrixLines(tally.faults),
      faults: tally.faults.sort(),
      kills: tally.of("kills"),
      reorgs: tally.of("reorgs"),
      postgresCrashes: tally.of("fault postgres crash"),
      tally: tally.sorted,
    };
  } finally {
    clearInterval(reporting);
    await world.stop();
  }
}

function progressOf(asks: readonly Ask[], trouble: Trouble, tally: Tally, ms: number): string {
  const answered = asks.filter(({ hashes }) => hashes.size > 0).length;
  return `${Math.round(ms / 1000)} s: ${answered} of ${asks.length} answered, ${Math.round(100 * trouble.progress)} % of the faults done, ${tally.of("kills")} kills, ${tally.of("reorgs")} reorganisations`;
}

function makeAsk(seed: number, index: number): Ask {
  const day = new Date(firstDay + index * 86_400_000).toISOString().slice(0, 19);
  return {
    index,
    name: `Chaos ${seed} ${index}`,
    // Two of three bring their own key.
    key: index % 3 === 0 ? null : `chaos-${seed}-${index}`,
    hashes: new Set(),
    bodies: new Set(),
    updates: index % 10 === 4 ? { royalties_share: 100 + (index % 900), public_mint_start_date: day } : null,
    updateHashes: new Set(),
  };
}

/** What a person does who is woken up by a closed wallet. */
export async function operate(world: World, tally: Tally, over: () => boolean, hold: boolean): Promise<void> {
  const config = loadConfig({
    ...world.env,
    DATABASE_URL: world.databaseUrl,
    KEY_PEPPER: "of the tests",
    RPC_URL_GOERLI: world.nodeUrl,
    // The node itself, without the faulty RPCs.
    RPC_QUORUM_GOERLI: "1",
    LOG_LEVEL: "silent",
    MINTYARD_CHAOS_CRASH: "",
  });
  const services = createServices(config, "operator");
  const [chain] = services.chains;
  while (!over()) {
    await sleep(1_000);
    await world.keepFunded().catch(() => undefined);
    const closed = await world.pool
      .query(
        "SELECT encode(addr, 'hex') AS addr, state FROM service.relayer_wallet WHERE state IN ('halted', 'reconcile')",
      )
      .catch(() => ({ rows: [] }));
    for (const { addr, state } of closed.rows) {
      tally.count(`wallets found ${state}`);
      // Where rows are lost nobody helps: a wallet that closes is a finding.
      if (chain && !hold)
        await openWallet(services, chain, `0x${addr}` as Address).catch(() => tally.count("wallets not opened"));
    }
  }
  await services.pool.end();
}

/** Looks in a row that must find all at rest: a worker may notice a transaction of somebody else's some seconds late. */
const calmLooks = 5;

export async function settle(world: World, deadline: number): Promise<boolean> {
  for (let calm = 0; performance.now() < deadline; ) {
    // A reorganisation may have taken the end of what the schedule began.
    await rpc(world.nodeUrl, "evm_setIntervalMining", [1]).catch(() => undefined);
    await world.fund(10n ** 23n).catch(() => undefined);
    const { rows } = await world.pool
      .query(
        `SELECT count(*) FILTER (WHERE state NOT IN ('finalized', 'retried', 'failed_onchain', 'cancelled', 'expired')) AS open,
           (SELECT count(*) FROM service.relayer_wallet WHERE state <> 'open') + (SELECT count(*) FROM service.nonce_reservation WHERE state = 'open')
             AS closed FROM service.intent`,
      )
      .catch(() => ({ rows: [{ open: "1", closed: "0" }] }));
    calm = Number(rows[0].open) + Number(rows[0].closed) === 0 ? calm + 1 : 0;
    if (calm === calmLooks) return true;
    await sleep(1_000);
  }
  return false;
}

/** What is not done yet, and of the first few what the service knows about them. */
export async function openStates(world: World): Promise<string> {
  const { rows: states } = await world.pool.query(
    "SELECT state, hold_reason, kind, count(*)::int AS n FROM service.intent WHERE state <> 'finalized' GROUP BY 1, 2, 3",
  );
  const { rows: wallets } = await world.pool.query(
    "SELECT encode(addr, 'hex') AS wallet, state, next_nonce::int, needed_wei::text FROM service.relayer_wallet",
  );
  for (const wallet of wallets)
    wallet.mined = Number(
      await rpc(world.nodeUrl, "eth_getTransactionCount", [`0x${wallet.wallet}`, "latest"]).catch(() => -1),
    );
  const { rows: oldest } = await world.pool.query(
    `SELECT i.id, i.state, i.hold_reason, i.hold_detail, i.version, clock_timestamp() - i.updated_at AS untouched,
       s.state AS reservation, encode(s.addr, 'hex') AS wallet, s.nonce::int, s.mined_block::int,
       (SELECT count(*)::int FROM service.attempt a WHERE (a.chain_id, a.addr, a.nonce) = (s.chain_id, s.addr, s.nonce)) AS attempts,
       (SELECT array_agg(e.outcome_code || ' ' || coalesce(e.detail, '')) FROM (
         SELECT e.outcome_code, e.detail FROM service.attempt a JOIN service.attempt_event e ON e.attempt_hash = a.hash
         WHERE (a.chain_id, a.addr, a.nonce) = (s.chain_id, s.addr, s.nonce) ORDER BY e.id DESC LIMIT 4) e) AS said
     FROM service.intent i LEFT JOIN service.nonce_reservation s ON s.intent_id = i.id
     WHERE i.state NOT IN ('finalized', 'retried') ORDER BY i.seq LIMIT 4`,
  );
  return JSON.stringify({ states, wallets, oldest });
}

/** A transaction whose row was lost and that no block has. */
async function isGone(world: World, hash: string): Promise<boolean> {
  const lost = await world.pool.query(
    "SELECT FROM lost.attempt l WHERE hash = $1 AND NOT EXISTS (SELECT FROM service.attempt a WHERE a.hash = l.hash)",
    [Buffer.from(hash.slice(2), "hex")],
  );
  return lost.rowCount === 1 && (await rpc(world.nodeUrl, "eth_getTransactionReceipt", [hash])) === null;
}

/** Equal requests have equal answers, and each request and each change is one row. */
async function checkAnswers(world: World, asks: readonly Ask[], lostRows: boolean): Promise<string[]> {
  const found: string[] = [];
  for (const { name, bodies } of asks) if (bodies.size > 1) found.push(`${name}: ${[...bodies].join(" and ")}`);
  const { rows } = await world.pool.query(
    "SELECT count(*) FILTER (WHERE kind = 'deploy')::int AS deploys, count(*) FILTER (WHERE kind = 'update')::int AS updates FROM service.intent WHERE retry_number = 0",
  );
  const updates = 2 * asks.filter((ask) => ask.updates).length;
  if (rows[0].deploys !== asks.length || rows[0].updates !== updates)
    found.push(
      `${rows[0].deploys} deployments and ${rows[0].updates} updates were accepted, not ${asks.length} and ${updates}`,
    );
  for (const hash of asks.flatMap(({ updateHashes }) => [...updateHashes])) {
    const known = await world.pool.query(
      `SELECT FROM service.attempt a JOIN service.nonce_reservation USING (chain_id, addr, nonce) WHERE a.hash = $1`,
      [Buffer.from(hash.slice(2), "hex")],
    );
    if (known.rowCount !== 1 && !(lostRows && (await isGone(world, hash))))
      found.push(`the hash ${hash} of an update leads nowhere`);
  }
  return found;
}
