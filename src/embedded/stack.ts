import { join } from "node:path";
import { backoffMs } from "../backoff.ts";
import { configuredSuffixes } from "../chains.ts";
import { fewArenas, keepHeapSmall, returnMemory } from "../compact-heap.ts";
import { isFree } from "../free-port.ts";
import { readLogLevel } from "../setting-words.ts";
import { buildPages } from "./build-pages.ts";
import {
  askersEnvironment,
  childEnvironment,
  hasWallets,
  rpcVariable,
  signerEnvironment,
} from "./child-environment.ts";
import { compileCacheKept, keepCompileCache } from "./compile-cache.ts";
import { DataFolder } from "./data-folder.ts";
import {
  ChainSetup,
  chainProcess,
  type FactoryRecord,
  isLocalChainProcess,
  type LocalChain,
  runLocalChain,
  type ServedChain,
} from "./local-chains.ts";
import { type EmbeddedPostgres, startPostgres } from "./postgres.ts";
import { type ReadyInfo, readyInfo } from "./ready-info.ts";
import type { PartListener, StartOptions } from "./start-progress.ts";
import { Supervisor, withoutSigner } from "./supervisor.ts";

export interface Stack {
  ready: ReadyInfo;
  /** Process ids by part, for operators and tests. */
  pids(): Record<string, number>;
  stop(): Promise<void>;
}

type Env = Record<string, string | undefined>;

const secrets = new Set(["KEY_PEPPER", "MINTYARD_API_KEY"]);

/** How much access to signing a process gets; the others get none. */
const signing: Record<string, "keys" | "signer"> = { signer: "keys", worker: "signer" };

const restartPause = { firstMs: 100, mostMs: 5_000 };

const host = join(import.meta.dirname, "program-host.ts");
const entry = (file: string) => join(import.meta.dirname, "..", file);

export class StartStopped extends Error {
  constructor() {
    super("stopped while it was starting");
  }
}

/**
 * Starts the whole service: every part that the environment does not configure (`DATABASE_URL`, `RPC_URL_<CHAIN>`) runs
 * embedded, with its files below `MINTYARD_DATA_DIR`. The processes are the same as in a production installation and
 * get the addresses of embedded parts through the same variables.
 *
 * @param report gets lines for people: children's output, ends and restarts.
 * @throws Error when a part does not start; everything that did start is stopped again. StartStopped when the signal
 * stops the start.
 */
export async function startStack(
  env: Env,
  report: (line: string) => void,
  { parts, signal }: StartOptions = {},
): Promise<Stack> {
  const folder = DataFolder.open(env["MINTYARD_DATA_DIR"]);
  const supervisor = new Supervisor(report);
  const stack = new EmbeddedStack(env, folder, supervisor, report, parts);
  const stop = () => void stack.stop();
  signal?.addEventListener("abort", stop);
  try {
    if (!signal?.aborted) await stack.start();
    if (signal?.aborted) throw new StartStopped();
    return stack;
  } catch (error) {
    await stack.stop();
    throw signal?.aborted ? new StartStopped() : error;
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

class EmbeddedStack implements Stack {
  readonly #env: Env;
  readonly #folder: DataFolder;
  readonly #supervisor: Supervisor;
  readonly #report: (line: string) => void;
  readonly #parts: PartListener | undefined;
  #postgres: EmbeddedPostgres | null = null;
  /** Pending while the database starts, so that a stop can wait for a server that is about to come up. */
  #database: Promise<string> | null = null;
  #names: string[] = [];
  #stopping: Promise<void> | null = null;
  #setup: ChainSetup | null = null;
  #pages: { end(): void } | null = null;
  #ready: ReadyInfo | null = null;

  constructor(
    env: Env,
    folder: DataFolder,
    supervisor: Supervisor,
    report: (line: string) => void,
    parts: PartListener | undefined,
  ) {
    this.#parts = parts;
    this.#env = env;
    this.#folder = folder;
    this.#supervisor = supervisor;
    this.#report = report;
  }

  get ready(): ReadyInfo {
    if (!this.#ready) throw new Error("the stack is not ready");
    return this.#ready;
  }

  pids(): Record<string, number> {
    const postgres = this.#postgres?.process.pid;
    return { ...(postgres ? { postgres } : {}), ...this.#supervisor.pids() };
  }

  /** Starts all processes at once: each loads its modules and then waits for the environment of embedded parts. */
  async start(): Promise<void> {
    const port = await this.#apiPort();
    const names = this.#localChainNames();
    const cache = keepCompileCache(this.#folder.path);
    const programEnv = Promise.withResolvers<Record<string, string>>();
    const signerEnv = Promise.withResolvers<Record<string, string>>();
    // Each child that waits for these handles a failure; before there are children, nobody would.
    for (const { promise } of [programEnv, signerEnv]) promise.catch(() => undefined);
    const database = this.#openDatabase();
    this.#database = database;
    this.#pages = buildPages(this.#report);
    const setup = new ChainSetup(cache);
    this.#setup = setup;
    const locals = this.#startLocalChains(names, cache, setup);
    const ownSigner = !this.#env["SIGNER_URL"]?.trim() && hasWallets(this.#env, names);
    const services = this.#startServices(names, cache, programEnv.promise, ownSigner ? signerEnv.promise : null);
    services.catch(() => undefined);
    let known: { databaseUrl: string; locals: LocalChain[]; env: Record<string, string>; chains: ServedChain[] };
    try {
      const [databaseUrl, chainsHere] = await Promise.all([database, locals]);
      const env = childEnvironment({
        given: this.#env,
        folder: this.#folder,
        port,
        databaseUrl,
        locals: chainsHere,
        ownDatabase: this.#postgres !== null,
      });
      const signer = ownSigner ? signerEnvironment(await this.#folder.signerUrl(), chainsHere) : null;
      const chains = await setup.ask("chains", { ...this.#env, ...env, ...signer });
      signerEnv.resolve({ ...env, ...signer });
      if (signer) Object.assign(env, askersEnvironment(signer, chains));
      known = { databaseUrl, locals: chainsHere, env, chains };
    } catch (error) {
      signerEnv.reject(error);
      programEnv.reject(error);
      throw error;
    } finally {
      setup.end();
    }
    const { env } = known;
    // Secrets that the operator keeps elsewhere are not written to disk here.
    const kept = Object.entries(env).filter(([name]) => !(secrets.has(name) && this.#env[name]?.trim()));
    if (this.#postgres) this.#folder.keepEnvironment(Object.fromEntries(kept));
    programEnv.resolve(env);
    await services;
    this.#ready = readyInfo(port, known);
    void compileCacheKept();
    // Loading and deploying are done; from here on this process only supervises.
    setTimeout(() => void keepHeapSmall(), 1_000).unref();
  }

  async #startServices(
    locals: readonly string[],
    cache: Record<string, string>,
    programEnv: Promise<Record<string, string>>,
    signerEnv: Promise<Record<string, string>> | null,
  ): Promise<void> {
    const early = { MINTYARD_DATA_DIR: this.#folder.path, ...cache };
    const child = async (name: string, args: string[], readyWithinMs: number, when = programEnv) => {
      await this.#part(name, () =>
        this.#supervisor.start({
          name,
          args: [host, ...args],
          env: { ...(name === "signer" ? returnMemory : fewArenas), ...early },
          programEnv: signing[name] ? when : when.then(withoutSigner),
          readyWithinMs,
          signing: signing[name] ?? "none",
          background: name !== "api" && name !== "signer",
        }),
      );
    };
    const served = { ...this.#env, ...Object.fromEntries(locals.map((name) => [rpcVariable(name), "local"])) };
    const indexer = (name: string, when = programEnv) =>
      child(`indexer-${name}`, [entry("processes/indexer.ts"), "--chain", name], 300_000, when);
    const [first, ...others] = configuredSuffixes(served).map((suffix) => suffix.toLowerCase());
    // On a fresh database the first indexer starts alone: two that create their shared tables at once collide.
    const leading = first === undefined ? Promise.resolve() : indexer(first);
    const afterIt = leading.then(() => programEnv);
    afterIt.catch(() => undefined);
    await Promise.all([
      leading,
      ...(signerEnv ? [child("signer", [entry("processes/signer.ts")], 60_000, signerEnv)] : []),
      child("api", [entry("processes/api.ts")], 60_000),
      child("worker", [entry("processes/worker.ts")], 60_000),
      ...others.map((name) => indexer(name, afterIt)),
    ]);
  }

  /** Starts a part and reports it to the listener. */
  async #part<T>(name: string, start: () => Promise<T>): Promise<T> {
    this.#names.push(name);
    this.#parts?.starting(name);
    const started = await start();
    this.#parts?.ready(name);
    return started;
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  /** Clients before their servers, the database last, so that nothing loses a connection in use. */
  async #stopAll(): Promise<void> {
    this.#supervisor.beginStop();
    for (const beside of [this.#setup, this.#pages]) beside?.end();
    const chains = this.#names.filter((name) => isLocalChainProcess(name) || name === "signer");
    const others = this.#names.filter((name) => !chains.includes(name));
    await this.#supervisor.stop(others, 5_000);
    await this.#supervisor.stop(chains, 1_000);
    await this.#database?.catch(() => undefined);
    await this.#postgres?.stop();
    this.#folder.release();
  }

  async #apiPort(): Promise<number> {
    const given = this.#env["PORT"]?.trim();
    if (!given) return (await isFree(3000)) ? 3000 : await this.#folder.port("api");
    const port = Number(given);
    if (!(Number.isInteger(port) && port > 0 && port < 65_536))
      throw new Error("PORT: a number from 1 to 65535 is wanted");
    if (!(await isFree(port))) throw new Error(`PORT: something listens on ${port} already; choose another`);
    return port;
  }

  async #openDatabase(): Promise<string> {
    const given = this.#env["DATABASE_URL"]?.trim();
    if (given) return given;
    return await this.#part("postgres", async () => {
      const port = await this.#folder.port("postgres");
      await this.#startPostgres(port);
      return this.#postgres?.url ?? "";
    });
  }

  async #startPostgres(port: number): Promise<void> {
    const postgres = await startPostgres(this.#folder.folder("postgres"), port);
    this.#postgres = postgres;
    postgres.process.once("exit", (code, signal) => {
      if (this.#stopping) return;
      this.#report(
        `mintyard: postgres (process ${postgres.process.pid}) ended with ${signal ?? `code ${code}`}; restarting it`,
      );
      void this.#restartPostgres(port);
    });
  }

  async #restartPostgres(port: number): Promise<void> {
    for (let failures = 1; !this.#stopping; failures += 1) {
      try {
        await this.#startPostgres(port);
        this.#report(`mintyard: postgres is running again (process ${this.#postgres?.process.pid})`);
        return;
      } catch (error) {
        this.#report(`mintyard: ${(error as Error).message}`);
        await new Promise((done) => setTimeout(done, backoffMs(failures, restartPause)));
      }
    }
  }

  #localChainNames(): string[] {
    const given = this.#env["MINTYARD_LOCAL_CHAINS"];
    const names = (given ?? (configuredSuffixes(this.#env).length > 0 ? "" : "goerli")).split(",");
    return names.map((name) => name.trim()).filter(Boolean);
  }

  async #startLocalChains(
    names: readonly string[],
    cache: Record<string, string>,
    setup: ChainSetup,
  ): Promise<LocalChain[]> {
    const logLevel = readLogLevel(this.#env);
    return await Promise.all(
      names.map((name) =>
        this.#part(chainProcess(name), async () => {
          const node = await runLocalChain(name, this.#folder, this.#supervisor, cache);
          const file = `chain-${node.id}/factory.json`;
          const record = this.#folder.readJson<FactoryRecord>(file);
          const relayerKeyFile = this.#folder.relayerKeyFile(name);
          const { relayer, factory } = await setup.ask("prepare", { node, relayerKeyFile, record, logLevel });
          this.#folder.writeJson(file, factory);
          const { address, block, operator } = factory;
          return { ...node, relayer, relayerKeyFile, factory: { address, block: BigInt(block) }, operator };
        }),
      ),
    );
  }
}
