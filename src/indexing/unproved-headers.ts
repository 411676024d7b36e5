import { LRUCache } from "lru-cache";
import type { Hex } from "viem";
import type { Logger } from "../telemetry/log.ts";
import type { Header } from "./header.ts";

/** After so many in a row they are the chain's own: one that gained a field with a fork. */
const usualAfter = 16;

/**
 * Headers that do not give their block's hash, on a chain where others do. Such a one comes from a node that leaves a field out, or from
 * anywhere: the filter of logs in it may not be the block's.
 */
export class UnprovedHeaders {
  readonly #chain: string;
  readonly #log: Logger;
  #someProve = false;
  #areUsual = false;
  #inARow = 0;
  /** Which endpoint gave a header first, by its hash and filter. */
  readonly #said = new LRUCache<string, number>({ max: 64 });
  /** Passed on, since no endpoint had a better one. */
  readonly #doubtful = new LRUCache<Hex, true>({ max: 1_024 });

  constructor(chain: string, log: Logger) {
    this.#chain = chain;
    this.#log = log;
  }

  /** Whether another endpoint is to be asked for the block; two that give the same show that the chain's headers are like that. */
  isDoubted({ hash, logsBloom }: Header, isProved: boolean, endpoint: number): boolean {
    if (isProved || !this.#someProve || this.#areUsual) return false;
    const key = `${hash} ${logsBloom}`;
    const first = this.#said.get(key);
    if (first === undefined) this.#said.set(key, endpoint);
    else if (first !== endpoint) this.#takeAsUsual();
    return !this.#areUsual;
  }

  /** Takes note of a header that is passed on. */
  see({ hash }: Header, isProved: boolean): void {
    if (isProved) {
      this.#someProve = true;
      this.#inARow = 0;
      this.#doubtful.delete(hash);
    } else if (this.#someProve && !this.#areUsual) {
      this.#doubtful.set(hash, true);
      this.#inARow += 1;
      if (this.#inARow >= usualAfter) this.#takeAsUsual();
    }
  }

  /** Whether the filter of this block may be anybody's. */
  isDoubtful(hash: Hex): boolean {
    return this.#doubtful.has(hash);
  }

  #takeAsUsual(): void {
    this.#areUsual = true;
    this.#doubtful.clear();
    const message =
      "headers of this chain have fields that are not known here: their hashes do not prove them any more";
    this.#log.warn({ chain: this.#chain }, message);
  }
}
