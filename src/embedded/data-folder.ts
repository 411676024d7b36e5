import { randomBytes, randomUUID } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import type { Hex } from "viem";
import { freePorts } from "../free-port.ts";
import { isCommand } from "./is-command.ts";

type Ports = Record<string, number>;

/** The one folder that holds all state of `npm start`: database, chains, archives, keys and chosen ports. */
export class DataFolder {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** @throws Error when another running process uses the folder. */
  static open(given: string): DataFolder {
    const path = resolve(given);
    mkdirSync(path, { recursive: true, mode: 0o711 });
    chmodSync(path, 0o711);
    const lock = join(path, "lock");
    const holder = existsSync(lock) ? Number(readFileSync(lock, "utf8")) : 0;
    if (holder && holder !== process.pid && isCommand(holder, /mintyard/)) {
      throw new Error(`process ${holder} uses ${path} already; stop it, or set MINTYARD_DATA_DIR to another folder`);
    }
    writeFileSync(lock, String(process.pid));
    return new DataFolder(path);
  }

  release(): void {
    rmSync(join(this.path, "lock"), { force: true });
  }

  folder(name: string): string {
    const path = join(this.path, name);
    mkdirSync(path, { recursive: true });
    return path;
  }

  /** A folder whose content of earlier runs is nobody's any more. */
  emptyFolder(name: string): string {
    rmSync(join(this.path, name), { recursive: true, force: true });
    return this.folder(name);
  }

  /** The key that clients of this folder's stack send; made once. */
  apiKey(): string {
    return this.#secret("api-key", randomUUID);
  }

  /** Key material for the digests of API keys; made once. */
  keyPepper(): string {
    return this.#secret("key-pepper", () => randomBytes(32).toString("base64url"));
  }

  /** Private key of the local chain's relayer; made once, so that it never is a well-known one. */
  relayerKey(chain: string): Hex {
    return this.#secret(`relayer-${chain}`, () => `0x${randomBytes(32).toString("hex")}`) as Hex;
  }

  /** The port this part had last time, when it is still free, so that clients and wallets find it again. */
  async port(part: string): Promise<number> {
    const before = this.readJson<Ports>("ports.json")?.[part];
    if (before && (await isFree(before))) return before;
    const [port = 0] = await freePorts(1);
    // Read again: other parts were given theirs meanwhile.
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

/** True when nothing listens on the port of 127.0.0.1. */
export async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const free = await new Promise<boolean>((done) => {
    server.once("error", () => done(false)).listen(port, "127.0.0.1", () => done(true));
  });
  if (free) await new Promise((done) => server.close(done));
  return free;
}
