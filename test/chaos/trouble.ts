import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { type Hex, parseEther, toHex } from "viem";
import type { Failpoint } from "../../src/transactions/store/failpoint.ts";
import type { SeededGenerator } from "../setup/seeded-generator.ts";
import { wait } from "../setup/wait.ts";
import { Restarting, rpc } from "./fleet.ts";
import { OlderState } from "./older-state.ts";
import type { Tally } from "./tally.ts";
import { pauseFactory, replaceOurs, squat, takeNextNonce } from "./third-parties.ts";
import type { World } from "./world.ts";

const failpoints: readonly Failpoint[] = [
  "accept-before-commit",
  "accept-after-commit",
  "nonce-before-signature",
  "sign-before-persist",
  "sign-before-commit",
  "sign-after-persist",
  "send-after",
  "mined-before-commit",
  "confirm-before-commit",
  "finalize-before-commit",
];
const usualFee = 10n ** 9n;

type Inject = () => Promise<unknown>;

/** Breaks nodes, processes and the database: a schedule of faults, shuffled by the seed and injected one after the other. */
export class Trouble {
  readonly #world: World;
  readonly #random: SeededGenerator;
  readonly #tally: Tally;
  readonly #schedule: readonly { name: string; inject: Inject }[];
  /** No reorganisation may reach below this block. */
  #floor = 0n;
  #turn: Promise<unknown> = Promise.resolve();
  injected = 0;

  /**
   * @param repeats how many times each fault is done; with a fraction each kind still comes once.
   * @param lostRows how often the database is put back to an older state; then nobody has stolen a key, so that no
   *   wallet has a reason to be closed.
   */
  constructor(world: World, random: SeededGenerator, tally: Tally, repeats: number, lostRows = 0) {
    this.#world = world;
    this.#random = random;
    this.#tally = tally;
    const entries = this.#schedules(repeats).filter(
      ({ name }) =>
        (lostRows === 0 || !name.startsWith("external")) &&
        // Nobody deploys a collection where products are minted.
        !(world.operator && name === "address squatted"),
    );
    for (let count = 0; count < lostRows; count += 1)
      entries.push({ name: "lost rows", inject: () => this.#alone(() => this.#loseRows()) });
    for (let at = entries.length - 1; at > 0; at -= 1) {
      const other = random.between(0, at);
      [entries[at], entries[other]] = [entries[other] as (typeof entries)[0], entries[at] as (typeof entries)[0]];
    }
    this.#schedule = entries;
  }

  /** Share of the faults that are done. */
  get progress(): number {
    return this.injected / this.#schedule.length;
  }

  /** @param goOn false ends it before its time. */
  async run(goOn: () => boolean): Promise<void> {
    // The factory and what its wallets may do lie below.
    this.#floor = await this.#head();
    const schedule = this.#schedule.values();
    const injector = async () => {
      for (const { name, inject } of schedule) {
        if (!goOn()) return;
        await inject().then(
          () => this.#tally.count(`injected ${name}`),
          (error) => this.#tally.count(`failed to ${name}: ${String(error).slice(0, 100)}`),
        );
        this.injected += 1;
        await sleep(this.#random.between(200, 900));
      }
    };
    await Promise.all([injector(), injector()]);
    for (const point of [...failpoints, "bump-before-persist", "bump-after-persist"]) this.#world.recall(point);
  }

  #schedules(repeats: number) {
    const world = this.#world;
    const fault =
      (name: string, inject: Inject): Inject =>
      async () => {
        await inject();
        this.#tally.fault(name);
      };
    const kinds: [number, string, Inject][] = [
      [34, "reorg", () => this.#alone(() => this.#reorg())],
      [34, "kill", () => this.#kill("SIGKILL")],
      [4, "restart", fault("restart", () => this.#kill("SIGTERM"))],
      ...failpoints.map((point): [number, string, Inject] => [3, `crash ${point}`, () => this.#crash(point)]),
      [2, "crash bump-before-persist", () => this.#crash("bump-before-persist")],
      [2, "crash bump-after-persist", () => this.#crash("bump-after-persist")],
      [4, "freeze", fault("freeze", () => this.#freeze())],
      [6, "drop the pool", fault("drop the pool", () => rpc(world.nodeUrl, "anvil_dropAllTransactions"))],
      [3, "empty wallets", fault("empty wallets", () => this.#emptyWallets())],
      [3, "base fee x100", fault("base fee x100", () => this.#setBaseFee(100n * usualFee))],
      [3, "older bytes again", () => this.#alone(() => this.#olderBytes())],
      [3, "no blocks", fault("no blocks", () => this.#alone(() => this.#pauseMining()))],
      [2, "postgres crash", fault("postgres crash", () => world.crashPostgres())],
      [6, "cut at commit", fault("cut at commit", async () => world.cutter.cutNext())],
      [3, "locks held", fault("locks held", () => this.#holdLocks())],
      [3, "other chain for seconds", fault("other chain for seconds", () => this.#otherChain())],
      [2, "answers too late", () => this.#lateAnswers()],
      [1, "wrong chain in the settings", fault("wrong chain in the settings", () => this.#wrongChain())],
      [2, "factory paused", fault("factory paused", () => this.#alone(() => this.#pauseFactory()))],
      [3, "address squatted", fault("address squatted", () => squat(world))],
      [2, "external replaces ours", fault("external replaces ours", () => replaceOurs(world))],
      [2, "external at the next nonce", fault("external at the next nonce", () => takeNextNonce(world))],
    ];
    return kinds.flatMap(([times, name, inject]) =>
      Array.from({ length: Math.ceil(times * repeats) }, () => ({ name, inject })),
    );
  }

  async #reorg(): Promise<void> {
    const before = await this.#counts();
    const depth = Math.min(this.#random.between(1, 6), await this.#room());
    this.#random.pick(this.#world.proxies).deadReceipts += 2;
    await this.#withoutBlocks(() => rpc(this.#world.nodeUrl, "anvil_reorg", [depth, []]));
    this.#tally.count("reorgs");
    this.#tally.fault("reorg");
    const after = await this.#counts();
    if (after.some((count, at) => count < (before[at] ?? 0))) this.#tally.fault("chain nonce went back");
  }

  /** A block that anvil makes beside a reorganisation leaves it with holes in its chain and nonces of neither branch. */
  async #withoutBlocks<T>(work: () => Promise<T>): Promise<T> {
    const { nodeUrl } = this.#world;
    await rpc(nodeUrl, "evm_setIntervalMining", [0]);
    try {
      await sleep(100);
      return await work();
    } finally {
      await rpc(nodeUrl, "evm_setIntervalMining", [1]);
    }
  }

  /** @returns how many blocks a reorganisation may take, at least one. */
  async #room(): Promise<number> {
    return await wait("blocks that may go", async () => Number((await this.#head()) - this.#floor), {
      until: (room) => room > 0,
    });
  }

  async #head(): Promise<bigint> {
    return BigInt(await rpc<Hex>(this.#world.nodeUrl, "eth_blockNumber"));
  }

  async #counts(): Promise<number[]> {
    const { wallets, nodeUrl } = this.#world;
    return await Promise.all(
      wallets.map(async (wallet) => Number(await rpc(nodeUrl, "eth_getTransactionCount", [wallet, "latest"]))),
    );
  }

  /** One of a pair, while the other one serves: on a slow machine nothing would ever get done otherwise. */
  async #kill(signal: NodeJS.Signals): Promise<void> {
    const pair = this.#random.pick([this.#world.apis, this.#world.workers]);
    await this.#bothUp(pair);
    if (!this.#random.pick(pair).signal(signal)) return;
    if (signal === "SIGKILL") this.#tally.count("kills");
  }

  async #bothUp(pair: readonly Restarting[]): Promise<void> {
    await wait("both of a pair", () => pair.every(({ up }) => up));
  }

  /** Waits for it for a while; a bump may come by only much later. */
  async #crash(point: Failpoint): Promise<void> {
    await this.#bothUp(this.#world.apis);
    await this.#bothUp(this.#world.workers);
    this.#world.order(point);
    for (let tries = 0; tries < 40; tries += 1) await sleep(50);
  }

  async #freeze(): Promise<void> {
    const worker = this.#random.pick(this.#world.workers);
    worker.signal("SIGSTOP");
    await sleep(this.#random.between(1_000, 5_000));
    worker.signal("SIGCONT");
  }

  async #emptyWallets(): Promise<void> {
    await this.#world.fund(1n);
    await sleep(this.#random.between(1_000, 3_000));
    await this.#world.fund(parseEther("100000"));
  }

  async #setBaseFee(wei: bigint): Promise<void> {
    await rpc(this.#world.nodeUrl, "anvil_setNextBlockBaseFeePerGas", [toHex(wei)]);
  }

  /** Fees rise until something is replaced; then they fall, the pool forgets it, and gets the first bytes instead. */
  async #olderBytes(): Promise<void> {
    const { nodeUrl, pool } = this.#world;
    await this.#setBaseFee(100n * usualFee);
    for (let tries = 0; tries < 150; tries += 1) {
      await sleep(100);
      const { rows } = await pool.query<{ raw: Buffer }>(
        `SELECT (array_agg(a.raw ORDER BY a.created_at))[1] AS raw FROM service.nonce_reservation s
         JOIN service.attempt a USING (chain_id, addr, nonce) WHERE s.state = 'open'
         GROUP BY s.chain_id, s.addr, s.nonce HAVING count(*) > 1 LIMIT 1`,
      );
      if (!rows[0]) continue;
      await this.#setBaseFee(usualFee / 10n);
      await rpc(nodeUrl, "anvil_dropAllTransactions");
      // The worker may be faster with the newest bytes, or a block with either: then there is another time.
      const sent = rpc(nodeUrl, "eth_sendRawTransaction", [`0x${rows[0].raw.toString("hex")}`]);
      if ((await sent.catch(() => null)) === null) continue;
      this.#tally.fault("older bytes again");
      return;
    }
    await this.#setBaseFee(usualFee);
    throw new Error("nothing was replaced");
  }

  async #pauseMining(): Promise<void> {
    await this.#withoutBlocks(() => sleep(this.#random.between(1_000, 3_000)));
  }

  async #holdLocks(): Promise<void> {
    const client = new pg.Client({ connectionString: this.#world.databaseUrl });
    client.on("error", () => undefined);
    await client.connect();
    await client.query("BEGIN; SELECT FROM service.relayer_wallet FOR UPDATE");
    await sleep(this.#random.between(1_000, 3_000));
    await client.end();
  }

  async #otherChain(): Promise<void> {
    for (const proxy of this.#world.proxies) proxy.otherChain = true;
    await sleep(this.#random.between(1_000, 4_000));
    for (const proxy of this.#world.proxies) proxy.otherChain = false;
  }

  async #lateAnswers(): Promise<void> {
    this.#random.pick(this.#world.proxies).late += 2;
  }

  /** A process whose settings name another chain than the node serves: it takes no deployment. */
  async #wrongChain(): Promise<void> {
    const [port] = await this.#world.freePort();
    const env = { ...this.#world.env, CHAIN_ID_GOERLI: "31338", PORT: String(port) };
    const stray = new Restarting("stray", "api", env, () => undefined, this.#world.tree);
    await stray.ready;
    const response = await fetch(`http://127.0.0.1:${port}/v0/contracts/collections`, {
      method: "POST",
      headers: { authorization: this.#world.apiKey, "content-type": "application/json" },
      body: JSON.stringify({
        ...{ chain: "goerli", name: "Stray", symbol: "S", max_supply: 1, tokens_per_mint: 1, mint_price: 0 },
        owner_address: `0x${"1a".repeat(20)}`,
        treasury_address: `0x${"1b".repeat(20)}`,
        public_mint_start_date: "2022-01-01T00:00:00",
      }),
    });
    await stray.retire();
    if (response.status === 200) this.#tally.count("deployed on the wrong chain");
  }

  /** What was written meanwhile is lost; its transactions are mined, or every other time still in the mempool. */
  async #loseRows(): Promise<void> {
    const older = new OlderState(this.#world.databaseUrl);
    const stopped = this.#random.chance(0.5);
    const lose = async () => {
      const lost = await this.#world.withDatabase(() => older.loseAll(this.#random.between(1_500, 4_000)));
      // Others ask for nonces before a block has any of them.
      if (stopped) await sleep(2_500);
      return lost;
    };
    const { intents, attempts } = stopped ? await this.#withoutBlocks(lose) : await lose();
    this.#tally.fault("lost rows");
    this.#tally.count("lost requests", intents);
    this.#tally.count("lost transactions", attempts);
  }

  async #pauseFactory(): Promise<void> {
    this.#floor = await pauseFactory(this.#world);
  }

  /** One after the other: faults that fill the pool, that need it empty, that stop and that take blocks. */
  async #alone(inject: Inject): Promise<void> {
    const done = this.#turn.then(inject);
    this.#turn = done.catch(() => undefined);
    await done;
  }
}
