import {
  accessSync,
  closeSync,
  constants,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import type { Address } from "viem";
import type { Unsigned } from "./signer.ts";

/** The part of a day's limit that is recorded ahead: one write of the file per part; a restart costs at most one. */
const partsOfDay = 256n;
/** Nonces whose most expensive bytes are remembered: the replacement of a transaction only counts what it adds. */
const mostNonces = 20_000;

/**
 * What a signer has signed per chain since midnight (UTC), at its maximum cost: gas limit times fee cap, for each nonce
 * that of the most expensive bytes. The signer sees no block, so it never learns that a transaction cost less.
 *
 * Kept in a file, so that a restart does not reset the limit. The file is ahead of what was signed, never behind.
 */
export class DaySpending {
  readonly #file: string;
  readonly #now: () => Date;
  #day: string;
  #spent = new Map<number, bigint>();
  #written = new Map<number, bigint>();
  readonly #dearest = new Map<string, bigint>();

  /** @throws Error when the file cannot be read or written: without it a restart would forget what was signed. */
  constructor(file: string, now: () => Date = () => new Date()) {
    this.#file = file;
    this.#now = now;
    this.#day = now().toISOString().slice(0, 10);
    const stored = readStored(file);
    if (stored && stored.day >= this.#day) {
      this.#day = stored.day;
      this.#spent = stored.wei;
    }
    this.#written = new Map(this.#spent);
    // Not written before something is signed: another signer may be running, and this one about to notice that.
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    accessSync(dirname(file), constants.W_OK);
  }

  /** The amount that may still be signed for a chain today, in wei. */
  room(chainId: number, allowed: bigint): bigint {
    this.#turnDay();
    const left = allowed - (this.#spent.get(chainId) ?? 0n);
    return left > 0n ? left : 0n;
  }

  /**
   * Counts a transaction that is about to be signed.
   *
   * @returns false, without counting, when it would exceed the day's limit.
   */
  take(wallet: Address, { chainId, nonce, gas, maxFeePerGas }: Unsigned, allowed: bigint): boolean {
    const name = `${chainId} ${wallet} ${nonce}`;
    const cost = gas * maxFeePerGas;
    const before = this.#dearest.get(name) ?? 0n;
    const more = cost > before ? cost - before : 0n;
    if (more > this.room(chainId, allowed)) return false;
    const spent = (this.#spent.get(chainId) ?? 0n) + more;
    if (spent > (this.#written.get(chainId) ?? 0n)) {
      const ahead = spent + allowed / partsOfDay;
      // Assigned only after the write: if the disk is full, nothing is signed beyond what the file records.
      const next = new Map(this.#written).set(chainId, ahead < allowed ? ahead : allowed);
      this.#write(next);
      this.#written = next;
    }
    this.#spent.set(chainId, spent);
    this.#remember(name, cost > before ? cost : before);
    return true;
  }

  /** A clock that goes back does not start a second day. */
  #turnDay(): void {
    const today = this.#now().toISOString().slice(0, 10);
    if (today <= this.#day) return;
    this.#day = today;
    this.#spent = new Map();
    this.#written = new Map();
  }

  #remember(name: string, cost: bigint): void {
    this.#dearest.delete(name);
    this.#dearest.set(name, cost);
    const [oldest] = this.#dearest.keys();
    if (this.#dearest.size > mostNonces && oldest !== undefined) this.#dearest.delete(oldest);
  }

  #write(amounts: ReadonlyMap<number, bigint>): void {
    const wei = Object.fromEntries([...amounts].map(([chainId, amount]) => [chainId, String(amount)]));
    const next = `${this.#file}.new`;
    const file = openSync(next, "w", 0o600);
    try {
      writeSync(file, `${JSON.stringify({ day: this.#day, wei })}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(next, this.#file);
  }
}

function readStored(file: string): { day: string; wei: Map<number, bigint> } | null {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
  try {
    const { day, wei } = JSON.parse(text) as { day: unknown; wei: Record<string, string> };
    if (typeof day !== "string" || !/^\d{4}-\d\d-\d\d$/.test(day)) throw new Error("no day");
    return { day, wei: new Map(Object.entries(wei).map(([chainId, amount]) => [Number(chainId), BigInt(amount)])) };
  } catch (error) {
    throw new Error(
      `${file}: what was signed today cannot be read in it; look at what the wallets spent, then remove the file`,
      { cause: error },
    );
  }
}
