import { LRUCache } from "lru-cache";
import type { Hex } from "viem";
import type { Logger } from "../telemetry/log.ts";
import { bloomBits, bloomMayHold, emptyRoot, type Header, mayHaveStateSync } from "./header.ts";
import type { LogFilter, RpcLog } from "./proven-logs.ts";

const digits = 512;
const zeros: Hex = `0x${"0".repeat(digits)}`;
const isZero = (bloom: Hex) => /^0x0*$/.test(bloom);
/** A filter with all bits set, or of another length than a filter has. */
const isNone = (bloom: Hex) => /^0x[fF]{512}$/.test(bloom) || bloom.length !== zeros.length;
/** An empty filter is believed up to this many blocks from one whose filter was proved to contain its logs. */
const provedReach = 1_000n;
/** After this many headers in a row that do not give their hash, a fork is taken to have added a field. */
const usualAfter = 16;

/**
 * How far the bloom filters in a chain's headers can be used. Some chains (zkSync, Hedera, subnets and development
 * nodes) put zeros, ones or nothing into every header: zeros would hide logs, ones would promise logs in each block.
 * Such a chain is recognised by its headers and logs, and its filters are not used any more.
 *
 * The filter of a single header may be doubtful too. Where other headers give their block's hash and this one does not,
 * its node leaves out a field, or the header was made up.
 */
export class Blooms {
  readonly #chain: { name: string; id: number };
  readonly #log: Logger;
  /** Whether filters are used at all. */
  areUsable = true;
  /** Whether the chain has been seen to set filters: only then does an empty one mean anything. */
  areSeenSet = false;
  #provedAt: bigint | null = null;
  /** Number of the last block whose header had no usable filter. */
  #none: bigint | null = null;
  #someGiveHash = false;
  #lackHashAsUsual = false;
  #withoutHashInARow = 0;
  /** The endpoint that first gave a header, by the header's hash and filter. */
  readonly #firstSaid = new LRUCache<string, number>({ max: 64 });
  /** Blocks with a doubtful header that was passed on because no endpoint had a better one. */
  readonly #doubtful = new LRUCache<Hex, true>({ max: 1_024 });

  constructor(chain: { name: string; id: number }, log: Logger) {
    this.#chain = chain;
    this.#log = log;
  }

  /** Whether the filter of this block shows which logs it can have. */
  tells(header: Pick<Header, "number" | "hash" | "logsBloom">): boolean {
    return this.areUsable && this.#isFilter(header) && !mayHaveStateSync(this.#chain.id, header.number);
  }

  #isFilter({ hash, logsBloom }: Pick<Header, "hash" | "logsBloom">): boolean {
    return !isNone(logsBloom) && !this.#doubtful.has(hash);
  }

  /** Whether to ask another endpoint for the block. If it gives the same header, the chain's headers are like that. */
  isDoubted({ hash, logsBloom }: Header, isProved: boolean, endpoint: number): boolean {
    if (isProved || !this.#someGiveHash || this.#lackHashAsUsual) return false;
    const key = `${hash} ${logsBloom}`;
    const first = this.#firstSaid.get(key);
    if (first === undefined) this.#firstSaid.set(key, endpoint);
    else if (first !== endpoint) this.#takeAsUsual();
    return !this.#lackHashAsUsual;
  }

  /** Records a header that is passed on. */
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

  /** Records the logs that the receipts root of a header proves. */
  prove({ number, logsBloom }: Header, logs: readonly RpcLog[]): void {
    const [first, last] = [logs[0], logs.at(-1)];
    if (!first || !last || !this.areUsable) return;
    // Two logs show whether filters are set. All logs would cost a hash for each topic of the chain.
    if (holds(logsBloom, first) && holds(logsBloom, last)) this.#provedAt = number;
    else this.giveUp(`block ${number} has logs that its filter does not hold`);
  }

  /** Stops using the filters of this chain. */
  giveUp(reason: string): void {
    if (!this.areUsable) return;
    this.areUsable = false;
    const { name } = this.#chain;
    const message = `logsBloom of this chain is of no use and is not used any more: logs are believed as endpoints agree on them; give RPC_URL_${name.toUpperCase()} a second endpoint of another provider if it has one only`;
    this.#log.warn({ chain: name, reason }, message);
  }

  /** Whether the filter contains all logs of its block. */
  agrees({ logsBloom }: Pick<Header, "logsBloom">, logs: readonly RpcLog[]): boolean {
    return logs.every((log) => holds(logsBloom, log)) && (logs.length > 0 || !isNone(logsBloom));
  }

  /** Whether a list lacks logs that the block's filter promises: it was cut, or its node does not have the block. */
  lacks({ hash, logsBloom }: Pick<Header, "hash" | "logsBloom">, logs: readonly RpcLog[]): boolean {
    if (!this.areUsable || !this.#isFilter({ hash, logsBloom })) return false;
    const values = new Set(logs.flatMap(({ address, topics }) => [address, ...topics]));
    let promised = BigInt(logsBloom);
    for (const value of values) for (const bit of bloomBits(value)) promised &= ~(1n << BigInt(bit));
    return promised !== 0n;
  }

  /** Whether a block with a proved header has no logs at all. It saves a request for most blocks of a quiet chain. */
  provesNone(header: Header): boolean {
    if (mayHaveStateSync(this.#chain.id, header.number)) return false;
    if (header.receiptsRoot === emptyRoot) return true;
    // An empty filter is believed only where the chain was seen to set bits for logs. Otherwise the receipts are read.
    if (!this.areUsable || !isZero(header.logsBloom) || this.#provedAt === null) return false;
    const distance = header.number - this.#provedAt;
    return distance <= provedReach && distance >= -provedReach;
  }

  /** Whether a block with a proved header can have a log that matches; needs no request. */
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
   * A block as the index gets it. Where its filter cannot be used it is replaced by zeros: then Ponder requests the
   * block's logs and accepts an empty list. With any other filter it would skip blocks, or refuse an empty list.
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
