import { randomBytes, randomUUID } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { freePorts, isFree } from "../free-port.ts";
import { longestSocketPath } from "../signing/endpoint.ts";
import { isCommand } from "./is-command.ts";

type Ports = Record<string, number>;

const lockName = "lock";
const environmentName = "environment.json";

/** The folder with all state of `npm start`: database, chains, archives, keys and chosen ports. */
export class DataFolder {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /**
   * @param given the value of MINTYARD_DATA_DIR.
   * @throws Error when another running process uses the folder.
   */
  static open(given: string | undefined): DataFolder {
    const path = dataFolderPath(given);
    mkdirSync(path, { recursive: true, mode: 0o711 });
    chmodSync(path, 0o711);
    const holder = holderOf(path);
    if (holder) {
      throw new Error(`process ${holder} uses ${path} already; stop it, or set MINTYARD_DATA_DIR to another folder`);
    }
    writeFileSync(join(path, lockName), String(process.pid));
    return new DataFolder(path);
  }

  /**
   * The environment of the stack's processes that run in a folder, by variable; null when none run.
   *
   * @param given the value of MINTYARD_DATA_DIR.
   */
  static environmentOf(given: string | undefined): Record<string, string> | null {
    const path = dataFolderPath(given);
    const file = join(path, environmentName);
    if (!holderOf(path) || !existsSync(file)) return null;
    return JSON.parse(readFileSync(file, "utf8")) as Record<string, string>;
  }

  /** Stores what `environmentOf` reads. It includes the database's password, so nobody else may read the file. */
  keepEnvironment(env: Readonly<Record<string, string>>): void {
    const file = join(this.path, environmentName);
    rmSync(file, { force: true });
    writeFileSync(file, JSON.stringify(env), { mode: 0o600 });
  }

  release(): void {
    for (const name of [environmentName, lockName]) rmSync(join(this.path, name), { force: true });
  }

  folder(name: string): string {
    const path = join(this.path, name);
    mkdirSync(path, { recursive: true });
    return path;
  }

  /** A folder emptied of what earlier runs left. */
  emptyFolder(name: string): string {
    rmSync(join(this.path, name), { recursive: true, force: true });
    return this.folder(name);
  }

  /** The API key for clients of this folder's stack; generated once. */
  apiKey(): string {
    return this.#secret("api-key", randomUUID);
  }

  /** Key material for the digests of API keys; generated once. */
  keyPepper(): string {
    return this.#secret("key-pepper", () => randomBytes(32).toString("base64url"));
  }

  /**
   * The file with the private key of the local chain's relayer. The process that funds the wallet
   * (src/embedded/local-chains.ts) creates it, and the signer reads it; the launcher does neither.
   */
  relayerKeyFile(chain: string): string {
    return join(this.folder("keys"), `relayer-${chain}`);
  }

  /** The signer's address: a socket in the folder, or a port when the folder's path is too long for a socket. */
  async signerUrl(): Promise<string> {
    const path = join(this.path, "signer.sock");
    if (Buffer.byteLength(path) <= longestSocketPath) return `unix:${path}`;
    return `http://127.0.0.1:${await this.port("signer")}`;
  }

  /** The part's previous port, if it is still free, so that clients and wallets keep working. */
  async port(part: string): Promise<number> {
    const before = this.readJson<Ports>("ports.json")?.[part];
    if (before && (await isFree(before))) return before;
    const [port = 0] = await freePorts(1);
    // Read again: other parts may have got their ports meanwhile.
    this.writeJson("ports.json", { ...this.readJson<Ports>("ports.json"), [part]: port });
    return port;
  }

  readJson<T>(name: string): T | null {
    const file = join(this.path, name);
    return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as T) : null;
  }

  writeJson(name: string, value: unknown): void {
    writeFileSync(join(this.path, name), `${JSON.stringify(value, null, 2)}\n`);
  }

  #secret(name: string, make: () => string): string {
    const file = join(this.folder("keys"), name);
    if (!existsSync(file)) writeFileSync(file, `${make()}\n`, { mode: 0o600 });
    return readFileSync(file, "utf8").trim();
  }
}

/** @param given the value of MINTYARD_DATA_DIR. */
export function dataFolderPath(given: string | undefined): string {
  return resolve(given?.trim() || ".mintyard");
}

/** Id of the other process that uses a folder; 0 when none does. */
function holderOf(path: string): number {
  const lock = join(path, lockName);
  const holder = existsSync(lock) ? Number(readFileSync(lock, "utf8")) : 0;
  return holder && holder !== process.pid && isCommand(holder, /mintyard/) ? holder : 0;
}

/** Different in each process of the stack, so a command must not take them over. */
const ownToEach = new Set(["PORT", "METRICS_PORT", "TMPDIR"]);

/**
 * Gives a command the environment of the stack that runs in `MINTYARD_DATA_DIR` (database, local chains, wallets).
 * Variables that are already set stay; if the command has a database of its own, nothing is added.
 *
 * @throws Error when the stack was given a `KEY_PEPPER` and this command was not: keys created by it would not work.
 */
export function joinRunningStack(env: NodeJS.ProcessEnv): void {
  if (env["DATABASE_URL"]?.trim()) return;
  const running = DataFolder.environmentOf(env["MINTYARD_DATA_DIR"]);
  if (!running) return;
  for (const [name, value] of Object.entries(running))
    if (!ownToEach.has(name) && !env[name]?.trim()) env[name] = value;
  if (!env["KEY_PEPPER"]?.trim())
    throw new Error("KEY_PEPPER: the running service was given one; give this command the same");
}
