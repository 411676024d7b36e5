import { LRUCache } from "lru-cache";
import type { Hex } from "viem";
import type { Logger } from "../telemetry/log.ts";
import { bloomBits, bloomMayHold, emptyRoot, type Header, mayHaveStateSync } from "./header.ts";
import type { LogFilter, RpcLog } from "./proven-logs.ts";

const digits = 512;
const zeros: Hex = `0x${"0".repeat(digits)}`;
const isZero = (bloom: Hex) => /^0x0*$/.test(bloom);
/** All bits, or another number of them than a filter has. */
const isNone = (bloom: Hex) => /^0x[fF]{512}$/.test(bloom) || bloom.length !== zeros.length;
/** For so many blocks around one whose filter was proved to hold its logs an empty filter is believed. */
const provedReach = 1_000n;
/** After so many headers in a row that do not give their hash they are the chain's own: one that gained a field with a fork. */
const usualAfter = 16;

/**
 * What the filters in a chain's headers are worth. Some chains (zkSync, Hedera, subnets and development nodes) give zeros, ones or nothing in
 * every header: zeros would hide logs, ones would promise logs in each block. Such a chain is found out by what it shows, and its
 * filters are not used any more.
 *
 * The filter of a single header may be doubtful too: where others give their block's hash and this one does not, it comes from a
 * node that leaves a field out, or from anywhere.
 */
export class Blooms {
  readonly #chain: { name: string; id: number };
  readonly #log: Logger;
  /** Whether they are used at all. */
  areUsable = true;
  /** Whether the chain was seen to use filters: then one of zeros says something. */
  areSeenSet = false;
  #provedAt: bigint | null = null;
  /** The last block without one. */
  #none: bigint | null = null;
  #someGiveHash = false;
  #lackHashAsUsual = false;
  #withoutHashInARow = 0;
  /** Which endpoint gave a header first, by its hash and filter. */
  readonly #firstSaid = new LRUCache<string, number>({ max: 64 });
  /** Blocks whose headers were passed on since no endpoint had a better one. */
  readonly #doubtful = new LRUCache<Hex, true>({ max: 1_024 });

  constructor(chain: { name: string; id: number }, log: Logger) {
    this.#chain = chain;
    this.#log = log;
  }

  /** Whether the filter of this block tells what logs it can have. */
  tells(header: Pick<Header, "number" | "hash" | "logsBloom">): boolean {
    return this.areUsable && this.#isFilter(header) && !mayHaveStateSync(this.#chain.id, header.number);
  }

  #isFilter({ hash, logsBloom }: Pick<Header, "hash" | "logsBloom">): boolean {
    return !isNone(logsBloom) && !this.#doubtful.has(hash);
  }

  /** Whether another endpoint is to be asked for the block; two that give the same show that the chain's headers are like that. */
  isDoubted({ hash, logsBloom }: Header, isProved: boolean, endpoint: number): boolean {
    if (isProved || !this.#someGiveHash || this.#lackHashAsUsual) return false;
    const key = `${hash} ${logsBloom}`;
    const first = this.#firstSaid.get(key);
    if (first === undefined) this.#firstSaid.set(key, endpoint);
    else if (first !== endpoint) this.#takeAsUsual();
    return !this.#lackHashAsUsual;
  }

  /** Takes note of a header that is passed on. */
  see({ hash, number, logsBloom }: Header, isProved: boolean): void {
    if (isProved) {
      this.#someGiveHash = true;
      this.#withoutHashInARow = 0;
      this.#doubtful.delete(hash);
    } else if (this.#someGiveHash && !this.#lackHashAsUsual) {
      this.#doubtful.set(hash, true);
      this.#withoutHashInARow += 1;
      if (this.#withoutHashInARow >= usualAfter) this.#takeAsUsual();
    }
    if (isNone(logsBloom)) {
      if (this.#none !== null && (this.#none + 1n === number || this.#none - 1n === number))
        this.giveUp("consecutive headers have no filter, or one with all bits");
      this.#none = number;
    } else if (!isZero(logsBloom)) this.areSeenSet = true;
  }

  #takeAsUsual(): void {
    this.#lackHashAsUsual = true;
    this.#doubtful.clear();
    const message =
      "headers of this chain have fields that are not known here: their hashes do not prove them any more";
    this.#log.warn({ chain: this.#chain.name }, message);
  }

  /** Takes note of the logs that the receipts root of a header proves. */
  prove({ number, logsBloom }: Header, logs: readonly RpcLog[]): void {
    const [first, last] = [logs[0], logs.at(-1)];
    if (!first || !last || !this.areUsable) return;
    // Two of them show whether filters are used; all would be a hash for each topic of the chain.
    if (holds(logsBloom, first) && holds(logsBloom, last)) this.#provedAt = number;
    else this.giveUp(`block ${number} has logs that its filter does not hold`);
  }

  /** Not used from now on. */
  giveUp(reason: string): void {
    if (!this.areUsable) return;
    this.areUsable = false;
    const { name } = this.#chain;
    const message = `logsBloom of this chain is of no use and is not used any more: logs are believed as endpoints agree on them; give RPC_URL_${name.toUpperCase()} a second endpoint of another provider if it has one only`;
    this.#log.warn({ chain: name, reason }, message);
  }

  /** Whether these logs of a block, all that it has, are as its filter says. */
  agrees({ logsBloom }: Pick<Header, "logsBloom">, logs: readonly RpcLog[]): boolean {
    return logs.every((log) => holds(logsBloom, log)) && (logs.length > 0 || !isNone(logsBloom));
  }

  /** Whether logs leave out what the filter of their block promises: a list that was cut, or of a node without the block. */
  lacks({ hash, logsBloom }: Pick<Header, "hash" | "logsBloom">, logs: readonly RpcLog[]): boolean {
    if (!this.areUsable || !this.#isFilter({ hash, logsBloom })) return false;
    const values = new Set(logs.flatMap(({ address, topics }) => [address, ...topics]));
    let promised = BigInt(logsBloom);
    for (const value of values) for (const bit of bloomBits(value)) promised &= ~(1n << BigInt(bit));
    return promised !== 0n;
  }

  /** Whether a block whose header is proved has no logs at all. One request less for most blocks of a quiet chain. */
  provesNone(header: Header): boolean {
    if (mayHaveStateSync(this.#chain.id, header.number)) return false;
    if (header.receiptsRoot === emptyRoot) return true;
    // Zeros are believed only where a chain has shown that it sets bits for logs: otherwise the receipts tell.
    if (!this.areUsable || !isZero(header.logsBloom) || this.#provedAt === null) return false;
    const distance = header.number - this.#provedAt;
    return distance <= provedReach && distance >= -provedReach;
  }

  /** Whether a block whose header is proved can hold a log of the filter; needs no request. */
  mayMatch(header: Header, { address, topics = [] }: LogFilter): boolean {
    if (this.provesNone(header)) return false;
    if (!this.tells(header) || isZero(header.logsBloom)) return true;
    const mayHold = (wanted: string | null | undefined | readonly string[]) =>
      wanted === null ||
      wanted === undefined ||
      [wanted].flat().some((one) => bloomMayHold(header.logsBloom, one as Hex));
    return mayHold(address) && topics.every(mayHold);
  }

  /**
   * A block as the index is given it. Ponder asks for the logs of a block whose filter is zeros and takes none for an answer then;
   * with any other filter it leaves blocks out, or does not believe that one has no logs.
   */
  forIndex(block: unknown): unknown {
    const { number, hash, logsBloom } = (block ?? {}) as { number?: unknown; hash?: unknown; logsBloom?: unknown };
    if (typeof number !== "string" || typeof hash !== "string" || typeof logsBloom !== "string") return block;
    const header = { number: BigInt(number), hash: hash.toLowerCase() as Hex, logsBloom: logsBloom as Hex };
    return this.tells(header) ? block : { ...(block as object), logsBloom: zeros };
  }
}

function holds(bloom: Hex, { address, topics }: RpcLog): boolean {
  return [address, ...topics].every((value) => bloomMayHold(bloom, value));
}
