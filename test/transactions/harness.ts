import { randomBytes, randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type Address,
  createTestClient,
  createWalletClient,
  type Hex,
  http,
  keccak256,
  parseEther,
  publicActions,
  zeroHash,
} from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { collectionFactoryAbi } from "../../contracts/abi/collection-factory.ts";
import type { Caller } from "../../src/auth/caller.ts";
import { createAccount } from "../../src/auth/keys.ts";
import { type Chain, defaultRelayPolicy } from "../../src/chains.ts";
import type { DeployCollectionInput } from "../../src/collections/deployment-input.ts";
import { loadConfig } from "../../src/config/config.ts";
import type { Tier } from "../../src/db/tables/accounts.ts";
import { createServices } from "../../src/processes/create-services.ts";
import type { Services } from "../../src/services.ts";
import { createLogger } from "../../src/telemetry/log.ts";
import { deployFactory, deployOperatorAndEasy } from "../../src/transactions/operator/deploy-contracts.ts";
import { createRelayMemory } from "../../src/transactions/track/loop-steps.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { startTestChain, type TestChain } from "../setup/local-chain.ts";
import { RpcProxy } from "../setup/rpc-proxy.ts";
import { wait } from "../setup/wait.ts";
import { OwnWorker } from "./own-worker.ts";
import { relayRound } from "./round.ts";

const logLevel = process.env["TEST_LOG_LEVEL"] ?? "silent";

/** A chain with a funded relayer and a factory, a database, and processes that reach the chain through a proxy. */
export class RelayHarness {
  readonly database: TestDatabase;
  readonly node: TestChain;
  readonly proxy: RpcProxy;
  readonly relayerKey: Hex;
  readonly factory: { address: Address; block: bigint };
  /** Of product contracts; null unless it was asked for. */
  readonly operator: { address: Address; block: bigint; easyContract: Address } | null;
  readonly #dir: string;
  readonly #opened: Services[] = [];

  private constructor(
    parts: Pick<RelayHarness, "database" | "node" | "proxy" | "relayerKey" | "factory" | "operator">,
    dir: string,
  ) {
    this.database = parts.database;
    this.node = parts.node;
    this.proxy = parts.proxy;
    this.relayerKey = parts.relayerKey;
    this.factory = parts.factory;
    this.operator = parts.operator;
    this.#dir = dir;
  }

  /**
   * @param make the database, where it is to have more than the migrations make.
   * @param options `withOperator`: also the operator of product contracts. `chainId`: the relay keeps the rules of that chain.
   */
  static async start(
    make: () => Promise<TestDatabase> = createTestDatabase,
    { withOperator = false, chainId = 31337 } = {},
  ): Promise<RelayHarness> {
    const [database, node, dir] = await Promise.all([
      make(),
      startTestChain(chainId),
      mkdtemp(join(tmpdir(), "mintyard-relay-")),
    ]);
    const proxy = await RpcProxy.start(node.url);
    const relayerKey = generatePrivateKey();
    const relayer = privateKeyToAccount(relayerKey);
    const chain = directClient(node);
    await chain.setBalance({ address: relayer.address, value: parseEther("1000") });
    const own: Chain = {
      name: "goerli",
      id: node.id,
      local: true,
      rpcUrls: [node.url],
      coin: "ETH",
      walletRpcUrl: null,
      explorerTxUrl: "https://goerli.etherscan.io/tx",
      factory: null,
      operator: null,
      relayerKey,
      relay: defaultRelayPolicy(node.id, true),
      confirmations: 1,
      startBlock: 0,
      indexScope: "all",
      verification: "proofs",
      requestsPerSecond: 0,
      paidTierOnly: false,
    };
    const log = createLogger("test", logLevel);
    const factory = await deployFactory(own, log);
    const operator = withOperator ? await deployOperatorAndEasy(own, { name: "Easy", symbol: "EZ" }, log) : null;
    // Pausing needs an admin whose transactions do not take the relayer's nonces.
    const wallet = createWalletClient({ account: relayer, transport: http(node.url) });
    const [admin = relayer.address] = await chain
      .request({ method: "eth_accounts" } as never)
      .then((all) => all as Address[]);
    for (const contract of operator ? [factory, operator] : [factory]) {
      const hash = await wallet.writeContract({
        address: contract.address,
        abi: collectionFactoryAbi,
        functionName: "grantRole",
        args: [zeroHash, admin],
        chain: null,
      });
      await chain.waitForTransactionReceipt({ hash });
    }
    return new RelayHarness({ database, node, proxy, relayerKey, factory, operator }, dir);
  }

  /** The node itself, past the proxy: the judge of what happened. */
  get chain() {
    return directClient(this.node);
  }

  get relayer(): Address {
    return privateKeyToAccount(this.relayerKey).address.toLowerCase() as Address;
  }

  /** What a process of the service is told. */
  environment(): Record<string, string> {
    return {
      DATABASE_URL: this.database.url,
      KEY_PEPPER: "of the tests",
      MINTYARD_DATA_DIR: this.#dir,
      LOG_LEVEL: logLevel,
      RPC_URL_GOERLI: this.proxy.url,
      CHAIN_ID_GOERLI: String(this.node.id),
      LOCAL_GOERLI: "true",
      CONFIRMATIONS_GOERLI: "1",
      FACTORY_GOERLI: this.factory.address,
      FACTORY_BLOCK_GOERLI: String(this.factory.block),
      RELAYER_KEY_GOERLI: this.relayerKey,
      ...(this.operator
        ? {
            OPERATOR_GOERLI: this.operator.address,
            OPERATOR_BLOCK_GOERLI: String(this.operator.block),
            EASY_CONTRACT_GOERLI: this.operator.easyContract,
          }
        : {}),
    };
  }

  /**
   * The services of one process, with a database pool of its own.
   *
   * @param operator it is an operator's command.
   */
  process(env: Record<string, string> = {}, operator = false): Services {
    const config = loadConfig({ ...this.environment(), ...env });
    const services = OwnWorker.within(createServices(config, "test", { tenants: false, operator }));
    this.#opened.push(services);
    return services;
  }

  async caller(tier: Tier = "growth", services?: Services): Promise<Caller> {
    const db = services?.db ?? this.database.db;
    const accountId = await createAccount(db, "mintyard-embedded", { name: "test", tier, key: randomUUID() });
    return { accountId, tier, requestId: "req_test" };
  }

  /** Runs worker rounds until the intent is in one of the states. */
  async until(services: Services, id: string, states: readonly string[], pool = this.database.pool): Promise<void> {
    const memory = createRelayMemory();
    await this.untilState(id, states, () => relayRound(services, goerli(services), memory), pool);
  }

  /** Runs worker rounds until the node has a transaction: when it is busy, the first attempt to send may fail. */
  async pooled(services: Services, hash: Hex): Promise<void> {
    const memory = createRelayMemory();
    await wait(`${hash} to reach the node`, async () => {
      await relayRound(services, goerli(services), memory);
      return await this.chain.getTransaction({ hash }).catch(() => null);
    });
  }

  /** Waits until the intent is in one of the states; `round` runs before each look. */
  async untilState(
    id: string,
    states: readonly string[],
    round: () => Promise<void> = async () => undefined,
    pool = this.database.pool,
  ): Promise<void> {
    const look = async () => {
      await round();
      const { rows } = await pool.query("SELECT state FROM service.intent WHERE id = $1", [id]);
      return rows[0]?.state;
    };
    await wait(`intent ${id} to be ${states.join(" or ")}`, look, { until: (state) => states.includes(state) });
  }

  /** Every collection the factory ever announced, asked of the node. */
  async announced(): Promise<{ intentId: Hex; collection: Address }[]> {
    const logs = await this.chain.getContractEvents({
      address: this.factory.address,
      abi: collectionFactoryAbi,
      eventName: "CollectionDeployed",
      fromBlock: 0n,
      strict: true,
    });
    return logs.map(({ args }) => ({ intentId: args.intentId, collection: args.collection.toLowerCase() as Address }));
  }

  /** Waits until the chain has so many collections. */
  async untilAnnounced(count: number): Promise<void> {
    const look = async () => (await this.announced()).length;
    await wait(`${count} collections`, look, { until: (length) => length >= count });
  }

  async pauseFactory(paused: boolean): Promise<void> {
    await this.#pause(this.factory, paused);
  }

  async pauseOperator(paused: boolean): Promise<void> {
    if (!this.operator) throw new Error("the harness has no operator");
    await this.#pause(this.operator, paused);
  }

  /** Factory and operator have the same function for it. */
  async #pause({ address }: { address: Address }, paused: boolean): Promise<void> {
    const [admin] = (await this.chain.request({ method: "eth_accounts" } as never)) as Address[];
    const wallet = createWalletClient({ transport: http(this.node.url) });
    const hash = await wallet.writeContract({
      account: admin ?? this.relayer,
      address,
      abi: collectionFactoryAbi,
      functionName: paused ? "pause" : "unpause",
      chain: null,
    });
    await this.chain.waitForTransactionReceipt({ hash });
  }

  async stop(): Promise<void> {
    for (const services of this.#opened) if (!services.pool.ended) await services.pool.end();
    await this.proxy.stop();
    await this.node.stop();
    await this.database.drop();
    await rm(this.#dir, { recursive: true, force: true });
  }
}

export function goerli(services: Services): Chain {
  const chain = services.chains.find((candidate) => candidate.name === "goerli");
  if (!chain) throw new Error("no goerli");
  return chain;
}

/** The node itself, without the product's client. */
export function directClient(node: TestChain) {
  return createTestClient({ mode: "hardhat", transport: http(node.url), pollingInterval: 20 }).extend(publicActions);
}

export function randomAddress(): Address {
  return `0x${keccak256(randomBytes(32)).slice(26)}`;
}

/** A valid request, different each time. */
export function launch(changes: Partial<DeployCollectionInput> = {}): DeployCollectionInput {
  return {
    chain: "goerli",
    name: `Keys ${randomBytes(6).toString("hex")}`,
    symbol: "TSK",
    maxSupply: 100n,
    reservedSupply: 5n,
    tokensPerMint: 10n,
    mintPriceWei: parseEther("0.01"),
    ownerAddress: randomAddress(),
    treasuryAddress: randomAddress(),
    publicMintStart: new Date("2022-07-12T11:30:48Z"),
    prerevealTokenUri: "ipfs://bafkreiepfwroxy47wzvllrfyu5dwecz6blkiztzmc3r3frryasdve74zii",
    ...changes,
  };
}
