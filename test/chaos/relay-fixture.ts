import type { ChildProcess } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Address, type Hex, keccak256, parseEther, toHex } from "viem";
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts";
import type { Caller } from "../../src/auth/caller.ts";
import { createAccount } from "../../src/auth/keys.ts";
import type { Chain } from "../../src/chains.ts";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import { findDeployedContract } from "../../src/collections/find-deployed-contract.ts";
import { loadConfig } from "../../src/config/config.ts";
import { ServiceError } from "../../src/errors/errors.ts";
import { freePorts } from "../../src/free-port.ts";
import { createServices } from "../../src/processes/create-services.ts";
import type { Services } from "../../src/services.ts";
import { createRelayMemory } from "../../src/transactions/track/loop-steps.ts";
import type { TestDatabase } from "../setup/database.ts";
import { SeededGenerator } from "../setup/seeded-generator.ts";
import { wait } from "../setup/wait.ts";
import { OwnWorker } from "../transactions/own-worker.ts";
import { relayRound } from "../transactions/round.ts";
import { FaultProxy } from "./fault-proxy.ts";
import { rpc, startAnvil, stopAnvil } from "./fleet.ts";
import { judge } from "./oracle.ts";
import { deployTestFactory, type FactoryKind, type TestFactory } from "./test-factory.ts";

/** Where nodes listen; the second one is another chain. */
export interface NodeUrls {
  readonly url: string;
  readonly otherUrl: string;
}

/** Two nodes, of which one is another chain; shared by the fixtures of a file. */
export class TestNodes implements NodeUrls {
  readonly url: string;
  readonly otherUrl: string;
  readonly #nodes: readonly ChildProcess[];

  private constructor(url: string, otherUrl: string, nodes: readonly ChildProcess[]) {
    this.url = url;
    this.otherUrl = otherUrl;
    this.#nodes = nodes;
  }

  static async start(): Promise<TestNodes> {
    const [port = 0, otherPort = 0] = await freePorts(2);
    const nodes = [await startAnvil(port, 31337, ["--order", "fees"]), await startAnvil(otherPort, 31338, [])];
    return new TestNodes(`http://127.0.0.1:${port}`, `http://127.0.0.1:${otherPort}`, nodes);
  }

  stop(): void {
    for (const node of this.#nodes) stopAnvil(node);
  }
}

export interface FixtureOptions {
  factory?: FactoryKind;
  /** Paying wallets; the first one is the admin of collections. */
  wallets?: number;
  /** A second endpoint, which never gives a wrong answer. */
  honest?: boolean;
  env?: Record<string, string>;
  /** Rows are lost on purpose: what the chain had of them is imported. */
  lostRows?: boolean;
}

/** One small scenario: a relay in this process, a chain whose blocks are made one by one, and a judge at the end. */
export class RelayFixture {
  readonly database: TestDatabase;
  readonly nodes: NodeUrls;
  readonly proxy: FaultProxy;
  readonly factory: TestFactory;
  readonly wallets: readonly Address[];
  readonly services: Services;
  readonly caller: Caller;
  /** Of further processes: equal requests of one process are one before they get anywhere. */
  readonly #others: Services[] = [];
  readonly #dir: string;
  readonly #lostRows: boolean;
  readonly #requests: { name: string; hashes: Set<string> }[] = [];
  readonly #memory = createRelayMemory();
  /** Transactions of others, which may make contracts of an expected name. */
  readonly thirdParties = new Set<string>();
  /** What went wrong on the way. */
  readonly findings: string[] = [];

  private constructor(
    parts: Pick<RelayFixture, "database" | "nodes" | "proxy" | "factory" | "wallets" | "services" | "caller">,
    dir: string,
    lostRows: boolean,
  ) {
    this.#lostRows = lostRows;
    this.database = parts.database;
    this.nodes = parts.nodes;
    this.proxy = parts.proxy;
    this.factory = parts.factory;
    this.wallets = parts.wallets;
    this.services = parts.services;
    this.caller = parts.caller;
    this.#dir = dir;
  }

  /** @param given a migrated database, which `tearDown` drops; without one the fixture makes its own. */
  static async setUp(
    nodes: NodeUrls,
    { factory: kind = { permissive: true }, wallets: count = 1, honest, env = {}, lostRows = false }: FixtureOptions,
    given?: TestDatabase,
  ) {
    // Only the test runner's own processes can load the module that makes databases.
    const database = given ?? (await (await import("../setup/database.ts")).createTestDatabase());
    const dir = await mkdtemp(join(tmpdir(), "mintyard-fixture-"));
    const keys = Array.from({ length: count }, generatePrivateKey);
    const wallets = keys.map((key) => privateKeyToAddress(key).toLowerCase() as Address);
    await rpc(nodes.url, "evm_setAutomine", [true]);
    for (const wallet of wallets) {
      await rpc(nodes.url, "anvil_setBalance", [wallet, toHex(parseEther("1000"))]);
      await rpc(nodes.otherUrl, "anvil_setNonce", [wallet, toHex(90_000)]);
    }
    const factory = await deployTestFactory(nodes.url, keys, kind);
    await rpc(nodes.url, "evm_setAutomine", [false]);
    const findings: string[] = [];
    const proxy = await FaultProxy.start(nodes.url, nodes.otherUrl, new SeededGenerator(1), async (raws) => {
      for (const raw of raws) {
        const hash = Buffer.from(keccak256(raw as Hex).slice(2), "hex");
        const { rowCount } = await database.pool.query("SELECT FROM service.attempt WHERE hash = $1", [hash]);
        if (rowCount === 0) findings.push("bytes sent before they were stored");
      }
    });
    const config = loadConfig({
      DATABASE_URL: database.url,
      KEY_PEPPER: "of the tests",
      MINTYARD_DATA_DIR: dir,
      LOG_LEVEL: process.env["TEST_LOG_LEVEL"] ?? "silent",
      RPC_URL_GOERLI: honest ? `${proxy.url},${nodes.url}` : proxy.url,
      CHAIN_ID_GOERLI: "31337",
      LOCAL_GOERLI: "true",
      CONFIRMATIONS_GOERLI: "2",
      FINALITY_GOERLI: "4",
      RELAYER_KEY_GOERLI: keys.join(","),
      FACTORY_GOERLI: factory.address,
      FACTORY_BLOCK_GOERLI: String(factory.block),
      ...env,
    });
    const services = OwnWorker.within(createServices(config, "fixture"));
    const row = { name: "fixture", tier: "growth", key: randomUUID() } as const;
    const accountId = await createAccount(database.db, "mintyard-embedded", row);
    const caller: Caller = { accountId, tier: "growth", requestId: "req_stage" };
    const fixture = new RelayFixture({ database, nodes, proxy, factory, wallets, services, caller }, dir, lostRows);
    findings.push = (...items: string[]) => fixture.findings.push(...items);
    return fixture;
  }

  /** The first one. */
  get wallet(): Address {
    const [wallet] = this.wallets;
    if (!wallet) throw new Error("no wallet");
    return wallet;
  }

  get chain(): Chain {
    const [chain] = this.services.chains;
    if (!chain) throw new Error("no chain");
    return chain;
  }

  /** Somebody asks for a collection, so many times at once. Planned refusals are answers too. */
  async post(times = 1, name = `RelayFixture ${randomBytes(5).toString("hex")}`): Promise<void> {
    const requested = { name, hashes: new Set<string>() };
    const input = request(name);
    const answers = await Promise.allSettled(
      Array.from({ length: times }, (_, copy) => deployCollection(this.process(copy), this.caller, input)),
    );
    for (const answer of answers) {
      if (answer.status === "fulfilled") requested.hashes.add(answer.value.deployment.transactionHash);
      else if (!(answer.reason instanceof ServiceError)) this.findings.push(`unplanned: ${answer.reason}`);
    }
    // Who was told "no" for good has nothing to wait for.
    const queued = answers.some(
      ({ status, reason }: { status: string; reason?: unknown }) =>
        status === "fulfilled" || (reason instanceof ServiceError && reason.details?.["deployment"] !== undefined),
    );
    if (queued) this.#requests.push(requested);
    await this.sent();
  }

  /** Answers do not wait for the node; what a scenario does next is meant to find the bytes there. */
  async sent(): Promise<void> {
    const unsent = "SELECT FROM service.intent WHERE state = 'signed'";
    const allSent = async () => (await this.database.pool.query(unsent)).rowCount === 0;
    // A broken relay may never send them.
    await wait("all bytes to be sent", allSent, { withinMs: 2_000 }).catch(() => undefined);
  }

  /** @param index 0 is the first process. */
  process(index: number): Services {
    while (this.#others.length < index)
      this.#others.push(OwnWorker.within(createServices(this.services.config, "fixture")));
    return this.#others[index - 1] ?? this.services;
  }

  /** A name that the judge will look for. */
  expectRequest(): string {
    const name = `RelayFixture ${randomBytes(5).toString("hex")}`;
    this.#requests.push({ name, hashes: new Set() });
    return name;
  }

  async mine(blocks = 1): Promise<void> {
    for (let count = 0; count < blocks; count += 1) await rpc(this.nodes.url, "evm_mine");
  }

  /** Blocks that no transaction of ours can afford. */
  async mineDear(blocks: number): Promise<void> {
    for (let count = 0; count < blocks; count += 1) {
      await rpc(this.nodes.url, "anvil_setNextBlockBaseFeePerGas", [toHex(10n ** 13n)]);
      await this.mine();
    }
    await rpc(this.nodes.url, "anvil_setNextBlockBaseFeePerGas", [toHex(7n)]);
  }

  /** The worker looks so many times; what keeps it from looking is an outage and no finding. */
  async work(rounds = 1): Promise<void> {
    for (let count = 0; count < rounds; count += 1)
      await relayRound(this.services, this.chain, this.#memory).catch(() => undefined);
  }

  /** Lets so much time go by that the worker sends again what it sent before. */
  async resend(): Promise<void> {
    await sleep(1_200);
    await this.work();
  }

  /**
   * Heals everything, lets blocks and rounds go by until all has ended, and judges.
   *
   * @param timeoutMs how long; a sound relay ends much earlier, a broken one perhaps never.
   */
  async finish(timeoutMs: number): Promise<string[]> {
    Object.assign(this.proxy, { forced: "", otherChain: false });
    for (const end = performance.now() + timeoutMs; performance.now() < end; await sleep(50)) {
      await this.mine();
      await this.work();
      const { rows } = await this.database.pool.query(
        "SELECT count(*)::int AS n FROM service.intent WHERE state NOT IN ('finalized', 'retried', 'failed_onchain', 'cancelled')",
      );
      if (rows[0].n === 0) break;
    }
    const verdict = await judge(
      {
        nodeUrl: this.nodes.url,
        factory: this.factory.address,
        wallets: this.wallets,
        external: this.thirdParties,
        fromBlock: this.factory.block,
        pool: this.database.pool,
        bumpAfterBlocks: 3,
        lostRows: this.#lostRows,
        lookUp: (transactionHash) =>
          findDeployedContract(this.services, this.caller, { chain: "goerli", transactionHash }).catch(() => null),
      },
      this.#requests,
    );
    const lists = Object.entries({ lost: verdict.lost, doubled: verdict.doubled, wrong: verdict.wrongHashes });
    return [
      ...this.findings,
      ...verdict.violations,
      ...lists.flatMap(([what, names]) => (names.length > 0 ? [`${what}: ${names.length}`] : [])),
    ];
  }

  async tearDown(): Promise<void> {
    for (const services of [this.services, ...this.#others]) {
      await services.pool.end();
      await services.content.close();
    }
    await this.proxy.stop();
    await this.database.drop();
    await rm(this.#dir, { recursive: true, force: true });
  }
}

export function request(name: string) {
  const wallet = (): Address => `0x${randomBytes(20).toString("hex")}`;
  return {
    chain: "goerli",
    name,
    symbol: "STG",
    maxSupply: 100n,
    tokensPerMint: 5n,
    mintPriceWei: 10n ** 16n,
    ownerAddress: wallet(),
    treasuryAddress: wallet(),
    publicMintStart: new Date("2022-07-12T11:30:48Z"),
    prerevealTokenUri: "ipfs://bafkreiepfwroxy47wzvllrfyu5dwecz6blkiztzmc3r3frryasdve74zii",
    metadataUpdatable: true,
  };
}
