import { LRUCache } from "lru-cache";
import type { Hex } from "viem";
import type { Header } from "./header.ts";
import { Refused } from "./json-rpc.ts";
import type { RpcLog } from "./proven-logs.ts";

type Fields = Record<string, unknown>;

/** Hashes of a block's transactions by their position. */
type Positions = ReadonlyMap<number, string>;

/** Ponder asks for the blocks of a range after its logs. */
const keptPositions = 65_536;
const keptBlocks = 24;
/** Of logs that no transaction made. */
const noTransaction = `0x${"0".repeat(64)}`;

/**
 * Where logs say they stand: in which transaction of which block. Without proofs only the block itself can contradict that, and Ponder
 * ends at such a log and gets the same one again after its restart. The endpoint that gave it is therefore asked last from then on.
 */
export class LogPlaces {
  /** What the logs of ranges said, by the number of their block, and which endpoint gave them. */
  readonly #said = new LRUCache<number, { hash: Hex; positions: Positions; endpoint: number }>({
    maxSize: keptPositions,
    sizeCalculation: ({ positions }) => positions.size + 1,
  });
  /** Transactions of the last blocks. */
  readonly #blocks = new LRUCache<Hex, Positions>({ max: keptBlocks });

  /** Takes note of logs whose blocks are asked for next. */
  noteLogs(logs: readonly RpcLog[], endpoint: number): void {
    for (const [number, some] of Map.groupBy(logs, ({ blockNumber }) => Number(blockNumber))) {
      const [first] = some;
      const known = some.filter(({ transactionHash }) => transactionHash !== noTransaction);
      const positions = new Map(known.map((log) => [Number(log.transactionIndex), log.transactionHash]));
      if (first) this.#said.set(number, { hash: first.blockHash, positions, endpoint });
    }
  }

  /** @throws Refused for a log of a block that was seen with another transaction in its place. */
  checkLogs(logs: readonly RpcLog[]): void {
    for (const { blockHash, transactionIndex, transactionHash } of logs) {
      const block = this.#blocks.get(blockHash);
      if (block && transactionHash !== noTransaction && block.get(Number(transactionIndex)) !== transactionHash)
        throw new Refused("a log is of a transaction that its block has not");
    }
  }

  /**
   * Takes note of a block with its transactions.
   *
   * @returns the endpoint whose logs it contradicts, by its place in the list.
   */
  noteBlock({ number, hash }: Header, transactions: readonly Fields[]): number | null {
    const block = new Map(transactions.map((one) => [Number(one["transactionIndex"]), String(one["hash"])]));
    this.#blocks.set(hash, block);
    const said = this.#said.get(Number(number));
    if (!said) return null;
    this.#said.delete(Number(number));
    const isSo = said.hash === hash && [...said.positions].every(([position, one]) => block.get(position) === one);
    return isSo ? null : said.endpoint;
  }
}
