import type { ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, unlinkSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { type Address, type Hex, keccak256, parseEther, toHex } from "viem";
import { privateKeyToAddress } from "viem/accounts";
import { migrate } from "../../src/db/admin/migrate.ts";
import { type EmbeddedPostgres, startPostgres } from "../../src/embedded/postgres.ts";
import { freePorts } from "../../src/free-port.ts";
import { bareEnvironment } from "../setup/bare-environment.ts";
import { startPostgresOnFreePort } from "../setup/postgres-on-free-port.ts";
import { SeededGenerator } from "../setup/seeded-generator.ts";
import { CommitCutter } from "./commit-cutter.ts";
import { FaultProxy } from "./fault-proxy.ts";
import { Restarting, rpc, startAnvil, stopAnvil } from "./fleet.ts";
import { MutantTree, ownTree } from "./mutant-tree.ts";
import { deployTestFactory, type TestFactory } from "./test-factory.ts";
import { deployTestOperator, type TestOperator } from "./test-operator.ts";

export interface WorldOptions {
  seed: number;
  /** Accepts the same intent again: then nothing but the relay keeps a second contract away. */
  permissive: boolean;
  /** Seeded defects of every process of the service: names of patches in `mutants/`. */
  defects: readonly string[];
  /** Folder of an earlier version's code, with its modules: one process of each kind runs that. */
  older?: string | undefined;
  /** Also product contracts: an operator, and the contract of easy mints. */
  withOperator?: boolean;
  onLine(line: string): void;
}

/** Two API processes, two workers, an anvil node behind two proxies, and a PostgreSQL behind another one. */
export class World {
  readonly dir: string;
  readonly nodeUrl: string;
  readonly proxies: readonly FaultProxy[];
  readonly cutter: CommitCutter;
  readonly pool: pg.Pool;
  /** Past the cutter. */
  readonly databaseUrl: string;
  readonly factory: TestFactory;
  readonly operator: TestOperator | null;
  readonly keys: readonly Hex[];
  readonly apis: readonly Restarting[];
  readonly workers: readonly Restarting[];
  readonly apiUrls: readonly string[];
  readonly apiKey: string;
  readonly env: Readonly<Record<string, string>>;
  /** Folder of the code that the service runs: a copy where defects are seeded. */
  readonly tree: string;
  readonly #mutants: MutantTree | null;
  readonly #pgPort: number;
  #funds = parseEther("100000");
  readonly #nodes: readonly ChildProcess[];
  #postgres: EmbeddedPostgres;
  #crashing: Promise<void> = Promise.resolve();
  /** Transactions that reached a node before their bytes were stored (rule R2, seen from outside). */
  readonly unstored: () => number;
  /** Hashes of transactions that somebody else signed with our keys. */
  readonly external = new Set<string>();

  private constructor(parts: Parts, rest: Hidden) {
    this.dir = parts.dir;
    this.nodeUrl = parts.nodeUrl;
    this.proxies = parts.proxies;
    this.cutter = parts.cutter;
    this.pool = parts.pool;
    this.databaseUrl = parts.databaseUrl;
    this.factory = parts.factory;
    this.operator = parts.operator;
    this.keys = parts.keys;
    this.apis = parts.apis;
    this.workers = parts.workers;
    this.apiUrls = parts.apiUrls;
    this.apiKey = parts.apiKey;
    this.env = parts.env;
    this.tree = parts.tree;
    this.#mutants = rest.mutants;
    this.unstored = parts.unstored;
    this.#pgPort = rest.pgPort;
    this.#nodes = rest.nodes;
    this.#postgres = rest.postgres;
    // Node and database outlive their parent: they are ended with it, however it ends.
    process.once("exit", () => {
      this.#postgres.process.kill("SIGQUIT");
      for (const node of this.#nodes) stopAnvil(node);
    });
  }

  static async start({ seed, permissive, defects, older, withOperator, onLine }: WorldOptions): Promise<World> {
    const mutants = defects.length > 0 ? await MutantTree.make(defects) : null;
    const tree = mutants?.root ?? ownTree;
    const treeOf = (at: number) => (at === 0 && older ? older : tree);
    const dir = await mkdtemp(join(tmpdir(), "mintyard-chaos-"));
    const { postgres, port: pgPort } = await startPostgresOnFreePort(join(dir, "pg"));
    const [nodePort = 0, otherPort = 0, ...apiPorts] = await freePorts(4);
    await migrate(postgres.url);
    await bookCharges(postgres.url);
    const nodeUrl = `http://127.0.0.1:${nodePort}`;
    const otherUrl = `http://127.0.0.1:${otherPort}`;
    const nodes = [
      await startAnvil(nodePort, 31337, ["--block-time", "1", "--order", "fees"]),
      await startAnvil(otherPort, 31338, ["--block-time", "3600"]),
    ];
    const keys = [0, 1].map((index) => keccak256(toHex(`mintyard chaos ${seed} ${index}`)));
    for (const key of keys) {
      const wallet = privateKeyToAddress(key);
      await rpc(nodeUrl, "anvil_setBalance", [wallet, toHex(parseEther("100000"))]);
      await rpc(otherUrl, "anvil_setNonce", [wallet, toHex(90_000)]);
    }
    const factory = await deployTestFactory(nodeUrl, keys, { permissive });
    const operator = withOperator ? await deployTestOperator(nodeUrl, keys) : null;
    const pool = new pg.Pool({ connectionString: postgres.url, max: 4 });
    pool.on("error", () => undefined);
    let unstored = 0;
    const checkStored = async (raws: string[]) => {
      for (const raw of raws) {
        const hash = Buffer.from(keccak256(raw as Hex).slice(2), "hex");
        const stored = await pool.query("SELECT FROM service.attempt WHERE hash = $1", [hash]).then(
          ({ rowCount }) => rowCount,
          () => 1,
        );
        // Stored, and lost since: there is no such table in a run that loses nothing.
        const lost = async () =>
          await pool.query("SELECT FROM lost.attempt WHERE hash = $1", [hash]).then(
            ({ rowCount }) => rowCount,
            () => 0,
          );
        if (stored === 0 && (await lost()) === 0) unstored += 1;
      }
    };
    const proxies = [
      await FaultProxy.start(nodeUrl, otherUrl, new SeededGenerator(seed + 1), checkStored),
      await FaultProxy.start(nodeUrl, otherUrl, new SeededGenerator(seed + 2), checkStored),
    ];
    const cutter = await CommitCutter.start(pgPort);
    await mkdir(join(dir, "orders"));
    const apiKey = randomUUID();
    const env = {
      KEY_PEPPER: "of the tests",
      DATABASE_URL: postgres.url.replace(`:${pgPort}/`, `:${cutter.port}/`),
      MINTYARD_DATA_DIR: join(dir, "data"),
      MINTYARD_API_KEY: apiKey,
      LOG_LEVEL: "info",
      RPC_URL_GOERLI: proxies.map(({ url }) => url).join(","),
      CHAIN_ID_GOERLI: "31337",
      LOCAL_GOERLI: "true",
      CONFIRMATIONS_GOERLI: "3",
      FINALITY_GOERLI: "8",
      RPC_QUORUM_GOERLI: "2",
      RELAYER_KEY_GOERLI: keys.join(","),
      FACTORY_GOERLI: factory.address,
      FACTORY_BLOCK_GOERLI: String(factory.block),
      ...(operator ? operatorSettings(operator) : {}),
      BUDGET_GLOBAL_HOUR: "1000000",
      RATE_LIMITS: "off",
      // A command for developers has none of its own.
      NODE_COMPILE_CACHE: bareEnvironment["NODE_COMPILE_CACHE"] ?? join(tmpdir(), "mintyard-compile-cache"),
      MINTYARD_CHAOS_CRASH: `@${join(dir, "orders")}`,
    };
    const apis = apiPorts.map(
      (port, at) => new Restarting(`api${at}`, "api", { ...env, PORT: String(port) }, onLine, treeOf(at)),
    );
    const workers = [0, 1].map((at) => new Restarting(`worker${at}`, "worker", env, onLine, treeOf(at)));
    await Promise.all([...apis, ...workers].map(({ ready }) => ready));
    const apiUrls = apiPorts.map((port) => `http://127.0.0.1:${port}`);
    const open = {
      dir,
      nodeUrl,
      proxies,
      cutter,
      pool,
      factory,
      operator,
      keys,
      apis,
      workers,
      apiUrls,
      apiKey,
      env,
      tree,
    };
    const databaseUrl = postgres.url;
    return new World({ ...open, databaseUrl, unstored: () => unstored }, { pgPort, nodes, postgres, mutants });
  }

  get wallets(): Address[] {
    return this.keys.map((key) => privateKeyToAddress(key).toLowerCase() as Address);
  }

  async freePort(): Promise<number[]> {
    return await freePorts(1);
  }

  /** One crash after the other: two starts on the same files would stop each other. */
  async crashPostgres(): Promise<void> {
    this.#crashing = this.#crashing.then(async () => {
      const ended = new Promise((done) => this.#postgres.process.once("exit", done));
      this.#postgres.process.kill("SIGQUIT");
      await ended;
      this.#postgres = await startPostgres(join(this.dir, "pg"), this.#pgPort);
    });
    await this.#crashing;
  }

  /** Nothing crashes the database meanwhile. */
  async withDatabase<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#crashing.then(work);
    this.#crashing = done.then(
      () => undefined,
      () => undefined,
    );
    return await done;
  }

  async fund(wei: bigint): Promise<void> {
    this.#funds = wei;
    for (const wallet of this.wallets) await rpc(this.nodeUrl, "anvil_setBalance", [wallet, toHex(wei)]);
  }

  /** Pays in what a reorganisation took back: it also undoes that a wallet was filled. */
  async keepFunded(): Promise<void> {
    for (const wallet of this.wallets) {
      const balance = BigInt(await rpc<string>(this.nodeUrl, "eth_getBalance", [wallet, "latest"]));
      if (balance < this.#funds / 2n) await this.fund(this.#funds);
    }
  }

  /** The first process that comes by this point ends there. */
  order(point: string): void {
    writeFileSync(join(this.dir, "orders", point), "");
  }

  /** @returns whether the order was still open. */
  recall(point: string): boolean {
    const path = join(this.dir, "orders", point);
    if (!existsSync(path)) return false;
    unlinkSync(path);
    return true;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.apis, ...this.workers].map((process) => process.retire()));
    for (const proxy of this.proxies) await proxy.stop();
    await this.cutter.stop();
    await this.pool.end();
    await this.#postgres.stop();
    for (const node of this.#nodes) stopAnvil(node);
    await rm(this.dir, { recursive: true, force: true });
    await this.#mutants?.remove();
  }
}

type Parts = Omit<
  World,
  | "wallets"
  | "external"
  | "freePort"
  | "crashPostgres"
  | "withDatabase"
  | "fund"
  | "keepFunded"
  | "order"
  | "recall"
  | "stop"
>;

function operatorSettings({ address, block, easyContract }: TestOperator): Record<string, string> {
  return {
    OPERATOR_GOERLI: address,
    OPERATOR_BLOCK_GOERLI: String(block),
    EASY_CONTRACT_GOERLI: easyContract,
  };
}

/** A deployment costs something here: what is booked has to fit what is deployed. */
async function bookCharges(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("INSERT INTO service.price VALUES (31337, 'deploy', 100)");
  await client.end();
}

interface Hidden {
  pgPort: number;
  nodes: readonly ChildProcess[];
  postgres: EmbeddedPostgres;
  mutants: MutantTree | null;
}
