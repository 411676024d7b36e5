import { LRUCache } from "lru-cache";
import type { Hex } from "viem";
import type { Logger } from "../telemetry/log.ts";
import { isErc20Transfer } from "./erc20-noise.ts";
import type { Fields, Header } from "./header.ts";
import { Absent, Contradiction, Refused, type UnusableAnswer } from "./json-rpc.ts";
import type { RpcLog } from "./proven-logs.ts";
import type { RpcUpstreams } from "./rpc-upstreams.ts";

/** One endpoint's claims about the transactions of a block: number, position and hash of each, in its own spelling. */
type Places = ReadonlySet<string>;

interface Claim {
  endpoint: number;
  hash: string;
  places: Places;
}

/** Ponder requests the blocks of a range after its logs, so the claims are kept until then. */
const keptPlaces = 65_536;
const keptBlocks = 24;
/** The transaction hash of logs that no transaction emitted. */
const noTransaction = `0x${"0".repeat(64)}`;

/**
 * Checks the positions that logs claim: the transaction and its block. Without proofs only the block itself can
 * contradict them. Ponder ends at such a log, and gets the same one again after its restart. An endpoint is only
 * refused for contradicting itself: where two differ, nobody knows which is wrong.
 */
export class LogPlaces {
  /** Claims by logs of ranges, by block number. Ponder requests the logs of each event separately. */
  readonly #claims = new LRUCache<number, readonly Claim[]>({
    maxSize: keptPlaces,
    sizeCalculation: (claims) => claims.reduce((sum, { places }) => sum + places.size + 1, 0),
  });
  /** Recently passed blocks, by hash. */
  readonly #blocks = new LRUCache<string, { endpoint: number; places: Places }>({ max: keptBlocks });

  /** Records logs whose blocks Ponder requests next. */
  noteLogs(logs: readonly RpcLog[], endpoint: number): void {
    const reaching = logs.filter((log) => !isErc20Transfer(log));
    for (const [number, some] of Map.groupBy(reaching, ({ blockNumber }) => Number(blockNumber))) {
      const [first] = some;
      if (!first) continue;
      const claims = this.#claims.get(number) ?? [];
      const isSame = (one: Claim) => one.endpoint === endpoint && one.hash === first.blockHash;
      const places = new Set([...(claims.find(isSame)?.places ?? []), ...some.filter(isComparable).map(placeOf)]);
      this.#claims.set(number, [...claims.filter((one) => !isSame(one)), { endpoint, hash: first.blockHash, places }]);
    }
  }

  /** The objection to logs of a block that was passed on before them; null for none. */
  doubt(logs: readonly RpcLog[], endpoint: number): UnusableAnswer | null {
    const [first] = logs;
    const block = first && this.#blocks.get(first.blockHash);
    if (!block || logs.every((log) => !isComparable(log) || block.places.has(placeOf(log)))) return null;
    return block.endpoint === endpoint
      ? new Contradiction("its logs contradict their block")
      : new Absent("the logs are not those of another endpoint's block");
  }

  /** The objection to a block by the logs that led to it. Drops logs of an endpoint that contradicts itself. */
  doubtBlock(block: Fields, endpoint: number): UnusableAnswer | null {
    const claims = this.#claims.get(Number(block["number"])) ?? [];
    if (claims.length === 0) return null;
    const places = placesOf(block);
    const isWrong = (claim: Claim) => contradicts(claim, block, places);
    if (claims.some((one) => one.endpoint === endpoint && isWrong(one))) {
      this.#keep(
        block,
        claims.filter((one) => one.endpoint !== endpoint),
      );
      return new Contradiction("its logs contradict their block");
    }
    // No fault of this endpoint: it may be the one that is right.
    return claims.some(isWrong) ? new Absent("the block is not the one of another endpoint's logs") : null;
  }

  /** Records a block that is passed on; claims about it are dropped. @returns endpoints whose logs it contradicts. */
  noteBlock(block: Fields, endpoint: number): number[] {
    const claims = this.#claims.get(Number(block["number"])) ?? [];
    const places = placesOf(block);
    this.#keep(block, []);
    this.#blocks.set(String(block["hash"]), { endpoint, places });
    return claims.filter((one) => contradicts(one, block, places)).map((one) => one.endpoint);
  }

  #keep({ number }: Fields, claims: readonly Claim[]): void {
    if (claims.length > 0) this.#claims.set(Number(number), claims);
    else this.#claims.delete(Number(number));
  }
}

function contradicts({ hash, places }: Claim, block: Fields, own: Places): boolean {
  return hash !== block["hash"] || [...places].some((one) => !own.has(one));
}

/** Logs of ERC-20 do not reach Ponder. Some chains have such logs of transactions that no block lists. */
const isComparable = (log: RpcLog) => log.transactionHash !== noTransaction && !isErc20Transfer(log);

const placeOf = ({ blockNumber, transactionIndex, transactionHash }: RpcLog) =>
  `${blockNumber} ${transactionIndex} ${transactionHash}`;

function placesOf({ number, transactions }: Fields): Places {
  return new Set(
    (transactions as Fields[]).map(({ transactionIndex, hash }) => `${number} ${transactionIndex} ${hash}`),
  );
}

/**
 * Checks transactions' positions in their blocks. Chains on Cosmos leave out non-EVM transactions: blocks have gaps, or
 * used gas without listing a transaction. Elsewhere a gap means that the list lacks a transaction.
 */
export class Positions {
  readonly #upstreams: RpcUpstreams;
  readonly #log: Logger;
  /** Blocks with gaps, and the endpoint that gave them. */
  readonly #said = new LRUCache<Hex, { positions: string; endpoint: number }>({ max: 64 });
  haveGaps = false;

  constructor(upstreams: RpcUpstreams, log: Logger) {
    this.#upstreams = upstreams;
    this.#log = log;
  }

  /** @throws Refused for gaps that no other endpoint confirms, and for transactions out of order. */
  check(header: Header, transactions: readonly Fields[], endpoint: number): void {
    let last = -1;
    let gaps = false;
    for (const [index, one] of transactions.entries()) {
      const position = Number(one?.["transactionIndex"] ?? Number.NaN);
      // The negated comparison also refuses NaN.
      if (one?.["blockHash"] !== header.hash || !(position > last)) throw outOfOrder();
      gaps ||= position !== index;
      last = position;
    }
    if (gaps && !this.haveGaps) this.#confirm(header, transactions, endpoint, outOfOrder());
  }

  /** Checks a block that used gas and lists no transaction. @throws Refused where no other endpoint confirms it. */
  checkUnlisted(header: Header, endpoint: number): void {
    if (this.haveGaps) return;
    const refused = new Refused("a block that used gas without its transactions");
    // A cache with an incomplete block would repeat it too, so a single endpoint cannot confirm itself here.
    if (this.#upstreams.size === 1) throw refused;
    this.#confirm(header, [], endpoint, refused);
  }

  /** Waits for another endpoint to give the same positions. A single endpoint confirms them by repeating them. */
  #confirm({ hash, number }: Header, transactions: readonly Fields[], endpoint: number, refused: Refused): void {
    const positions = transactions.map((one) => `${one["transactionIndex"]} ${one["hash"]}`).join();
    const said = this.#said.get(hash);
    const isOther = said?.endpoint !== endpoint || this.#upstreams.size === 1;
    if (said?.positions !== positions || !isOther) {
      this.#said.set(hash, { positions, endpoint });
      throw refused;
    }
    this.haveGaps = true;
    const message =
      "transactions of this chain have gaps in their positions, so a transaction that a list lacks is not noticed";
    this.#log.warn({ chain: this.#upstreams.name, block: String(number) }, message);
  }
}

const outOfOrder = () => new Refused("transactions are not those of the block in order");
