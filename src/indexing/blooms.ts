import type { Hex } from "viem";
import type { Logger } from "../telemetry/log.ts";
import { bloomBits, bloomMayHold, type Header } from "./header.ts";
import type { LogFilter, RpcLog } from "./proven-logs.ts";
import { emptyRoot } from "./receipts-root.ts";
import { mayHaveStateSync } from "./state-sync.ts";
import type { UnprovedHeaders } from "./unproved-headers.ts";

const digits = 512;
const zeros: Hex = `0x${"0".repeat(digits)}`;
const isZero = (bloom: Hex) => /^0x0*$/.test(bloom);
/** All bits, or another number of them than a filter has. */
const isNone = (bloom: Hex) => /^0x[fF]{512}$/.test(bloom) || bloom.length !== zeros.length;
/** For so many blocks around one whose filter was proved to hold its logs an empty filter is believed. */
const provedReach = 1_000n;

/**
 * What the filters in a chain's headers are worth. Some chains (zkSync, Hedera, subnets and development nodes) give zeros, ones or nothing in
 * every header: zeros would hide logs, ones would promise logs in each block. Such a chain is found out by what it shows, and its
 * filters are not used any more. The filter of a single header may be doubtful too.
 */
export class Blooms {
  readonly #chain: { name: string; id: number };
  readonly #log: Logger;
  #areUsable = true;
  #someAreSet = false;
  #provedAt: bigint | null = null;
  /** The last block without one. */
  #none: bigint | null = null;
  readonly #headers: Pick<UnprovedHeaders, "isDoubtful">;

  constructor(chain: { name: string; id: number }, headers: Pick<UnprovedHeaders, "isDoubtful">, log: Logger) {
    this.#chain = chain;
    this.#headers = headers;
    this.#log = log;
  }

  /** Whether they are used at all. */
  get areUsable(): boolean {
    return this.#areUsable;
  }

  /** Whether the filter of this block tells what logs it can have. */
  tells({ number, hash, logsBloom }: Pick<Header, "number" | "hash" | "logsBloom">): boolean {
    return this.#areUsable && this.#isFilter({ hash, logsBloom }) && !mayHaveStateSync(this.#chain.id, number);
  }

  #isFilter({ hash, logsBloom }: Pick<Header, "hash" | "logsBloom">): boolean {
    return !isNone(logsBloom) && !this.#headers.isDoubtful(hash);
  }

  /** Whether the chain was seen to use filters: then one of zeros says something. */
  get areSeenSet(): boolean {
    return this.#someAreSet;
  }

  /** Takes note of a header. */
  see({ number, logsBloom }: Header): void {
    if (isNone(logsBloom)) {
      if (this.#none !== null && (this.#none + 1n === number || this.#none - 1n === number))
        this.giveUp("consecutive headers have no filter, or one with all bits");
      this.#none = number;
    } else if (!isZero(logsBloom)) this.#someAreSet = true;
  }

  /** Takes note of the logs that the receipts root of a header proves. */
  prove({ number, logsBloom }: Header, logs: readonly RpcLog[]): void {
    const [first, last] = [logs[0], logs.at(-1)];
    if (!first || !last || !this.#areUsable) return;
    // Two of them show whether filters are used; all would be a hash for each topic of the chain.
    if (holds(logsBloom, first) && holds(logsBloom, last)) this.#provedAt = number;
    else this.giveUp(`block ${number} has logs that its filter does not hold`);
  }

  /** Not used from now on. */
  giveUp(reason: string): void {
    if (!this.#areUsable) return;
    this.#areUsable = false;
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
    if (!this.#areUsable || !this.#isFilter({ hash, logsBloom })) return false;
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
    if (!this.#areUsable || !isZero(header.logsBloom) || this.#provedAt === null) return false;
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
    const tells = this.tells(header);
    return tells ? block : { ...(block as object), logsBloom: zeros };
  }
}

function holds(bloom: Hex, { address, topics }: RpcLog): boolean {
  return [address, ...topics].every((value) => bloomMayHold(bloom, value));
}
