import { join } from "node:path";
import { loadChains } from "../config-chains.ts";
import { createLogger } from "../log.ts";
import { DataFolder, isFree } from "./data-folder.ts";
import { chainProcess, type LocalChain, startLocalChain } from "./local-chains.ts";
import { type EmbeddedPostgres, startPostgres } from "./postgres.ts";
import { Supervisor } from "./supervisor.ts";

/** What the ready line tells: where everything is. */
export interface ReadyInfo {
  graphql: string;
  rest: string;
  gateway: string;
  rpcUrl: string | null;
  chainId: number | null;
  databaseUrl: string;
  apiKey: string;
  factory: string | null;
  relayer: string | null;
  /** All served chains; the members above are those of the first local one. */
  chains: { name: string; chainId: number; rpcUrl: string; factory: string | null; relayer: string | null }[];
}

export interface Stack {
  ready: ReadyInfo;
  /** Process ids by part, for operators and tests. */
  pids(): Record<string, number>;
  stop(): Promise<void>;
}

type Env = Record<string, string | undefined>;

const secrets = new Set(["KEY_PEPPER", "MINTYARD_API_KEY"]);

const entry = (file: string) => join(import.meta.dirname, "..", file);

/**
 * Starts the whole service: whatever the environment does not name (`DATABASE_URL`, `RPC_URL_<CHAIN>`)
 * runs embedded, below `MINTYARD_DATA_DIR`. The processes are the ones of a production installation and
 * learn of the embedded parts through the same variables.
 *
 * @param report takes lines for people: children's output, ends and restarts.
 * @throws Error when a part does not start; everything that did start is stopped again.
 */
export async function startStack(env: Env, report: (line: string) => void): Promise<Stack> {
  const folder = DataFolder.open(env["MINTYARD_DATA_DIR"]);
  const supervisor = new Supervisor(report);
  const stack = new EmbeddedStack(env, folder, supervisor, report);
  try {
    await stack.start();
    return stack;
  } catch (error) {
    await stack.stop();
    throw error;
  }
}

class EmbeddedStack implements Stack {
  readonly #env: Env;
  readonly #folder: DataFolder;
  readonly #supervisor: Supervisor;
  readonly #report: (line: string) => void;
  #postgres: EmbeddedPostgres | null = null;
  #names: string[] = [];
  #stopping: Promise<void> | null = null;
  #ready: ReadyInfo | null = null;

  constructor(env: Env, folder: DataFolder, supervisor: Supervisor, report: (line: string) => void) {
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

  async start(): Promise<void> {
    const port = await this.#apiPort();
    const [databaseUrl, locals] = await Promise.all([this.#database(), this.#localChains()]);
    const env = this.#childEnv(port, databaseUrl, locals);
    const chains = loadChains({ ...this.#env, ...env });
    // What the operator keeps elsewhere is not written down here.
    const kept = Object.entries(env).filter(([name]) => !(secrets.has(name) && this.#env[name]?.trim()));
    if (this.#postgres) this.#folder.keepEnvironment(Object.fromEntries(kept));
    const child = (name: string, args: string[], readyWithinMs: number) => {
      this.#names.push(name);
      return this.#supervisor.start({ name, args, env, readyWithinMs, background: name !== "api" });
    };
    // The first indexer alone on a fresh database: two that make their shared tables at once collide.
    const indexers = async () => {
      for (const chain of chains)
        await child(`indexer-${chain.name}`, [entry("indexer.ts"), "--chain", chain.name], 300_000);
    };
    await Promise.all([
      child("api", [entry("api.ts")], 60_000),
      child("worker", [entry("worker.ts")], 60_000),
      indexers(),
    ]);
    const [first] = locals;
    const base = `http://127.0.0.1:${port}`;
    this.#ready = {
      graphql: `${base}/graphql`,
      rest: `${base}/v0`,
      gateway: `${base}/ipfs`,
      rpcUrl: first?.rpcUrl ?? null,
      chainId: first?.id ?? null,
      databaseUrl,
      apiKey: env["MINTYARD_API_KEY"] ?? "",
      factory: first?.factory.address ?? null,
      relayer: first?.relayer ?? null,
      chains: chains.map((chain) => ({
        name: chain.name,
        chainId: chain.id,
        rpcUrl: chain.local ? (chain.rpcUrls[0] ?? "") : "configured",
        factory: chain.factory?.address ?? null,
        relayer: locals.find((local) => local.name === chain.name)?.relayer ?? null,
      })),
    };
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  /** Doors first, then what writes, then what they write to: nobody loses its database mid-sentence. */
  async #stopAll(): Promise<void> {
    this.#supervisor.beginStop();
    const chains = this.#names.filter((name) => name.startsWith("chain-"));
    const others = this.#names.filter((name) => !chains.includes(name));
    await this.#supervisor.stop(others, 5_000);
    await this.#supervisor.stop(chains, 1_000);
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

  async #database(): Promise<string> {
    const given = this.#env["DATABASE_URL"]?.trim();
    if (given) return given;
    const port = await this.#folder.port("postgres");
    await this.#startPostgres(port);
    return this.#postgres?.url ?? "";
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
    for (let delayMs = 100; !this.#stopping; delayMs = Math.min(delayMs * 2, 5_000)) {
      try {
        await this.#startPostgres(port);
        this.#report(`mintyard: postgres is running again (process ${this.#postgres?.process.pid})`);
        return;
      } catch (error) {
        this.#report(`mintyard: ${(error as Error).message}`);
        await new Promise((done) => setTimeout(done, delayMs));
      }
    }
  }

  async #localChains(): Promise<LocalChain[]> {
    const given = this.#env["MINTYARD_LOCAL_CHAINS"];
    const configured = Object.keys(this.#env).some((name) => name.startsWith("RPC_URL_") && this.#env[name]?.trim());
    const names = (given ?? (configured ? "" : "goerli"))
      .split(",")
      .map((name) => name.trim())
      .filter(Boolean);
    const log = createLogger("start", this.#env["LOG_LEVEL"] ?? "info");
    this.#names.push(...names.map(chainProcess));
    return await Promise.all(names.map((name) => startLocalChain(name, this.#folder, this.#supervisor, log)));
  }

  #childEnv(port: number, databaseUrl: string, locals: readonly LocalChain[]): Record<string, string> {
    const env: Record<string, string> = {
      PORT: String(port),
      // One port is not for all of them; the API has the same figures.
      METRICS_PORT: "0",
      DATABASE_URL: databaseUrl,
      MINTYARD_DATA_DIR: this.#folder.path,
      // Uploads that wait for their turn are buffered in the system's temporary folder; this is theirs.
      TMPDIR: this.#folder.emptyFolder("tmp"),
      KEY_PEPPER: this.#env["KEY_PEPPER"] ?? this.#folder.keyPepper(),
    };
    // The key of the folder opens an enterprise account, so it exists on embedded databases only.
    if (this.#postgres) env["MINTYARD_API_KEY"] = this.#env["MINTYARD_API_KEY"]?.trim() || this.#folder.apiKey();
    for (const local of locals) {
      const suffix = local.name.toUpperCase();
      env[`RPC_URL_${suffix}`] = local.rpcUrl;
      env[`CHAIN_ID_${suffix}`] = String(local.id);
      env[`LOCAL_${suffix}`] = "true";
      env[`CONFIRMATIONS_${suffix}`] = this.#env[`CONFIRMATIONS_${suffix}`] ?? "1";
      env[`PAID_TIER_ONLY_${suffix}`] = this.#env[`PAID_TIER_ONLY_${suffix}`] ?? String(local.name === "ethereum");
      env[`FACTORY_${suffix}`] = local.factory.address;
      env[`FACTORY_BLOCK_${suffix}`] = String(local.factory.block);
      env[`RELAYER_KEY_${suffix}`] = local.relayerKey;
    }
    return env;
  }
}
