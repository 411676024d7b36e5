import { LRUCache } from "lru-cache";
import type { Hex } from "viem";
import type { Logger } from "../telemetry/log.ts";
import type { Header } from "./header.ts";
import { Refused } from "./json-rpc.ts";
import type { RpcUpstreams } from "./rpc-upstreams.ts";

/**
 * Positions of transactions in their blocks. Some chains leave out transactions that are not of the EVM (those on Cosmos), so that
 * the others have gaps between them, or a block used gas and lists none; elsewhere a gap is a list with a hole.
 */
export class Positions {
  readonly #upstreams: RpcUpstreams;
  readonly #log: Logger;
  /** Blocks with gaps, as one endpoint gave them. */
  readonly #said = new LRUCache<Hex, { positions: string; endpoint: number }>({ max: 64 });
  haveGaps = false;

  constructor(upstreams: RpcUpstreams, log: Logger) {
    this.#upstreams = upstreams;
    this.#log = log;
  }

  /** @throws Refused for gaps that no other endpoint has, and for what is in no order. */
  check(header: Header, transactions: readonly Record<string, unknown>[], endpoint: number): void {
    let last = -1;
    let gaps = false;
    for (const [index, one] of transactions.entries()) {
      const position = Number(one?.["transactionIndex"] ?? Number.NaN);
      // Also not a number.
      if (one?.["blockHash"] !== header.hash || !(position > last)) throw outOfOrder();
      gaps ||= position !== index;
      last = position;
    }
    if (gaps && !this.haveGaps) this.#confirm(header, transactions, endpoint, outOfOrder());
  }

  /** Of a block that used gas, and lists no transaction. @throws Refused where no other endpoint says the same. */
  checkUnlisted(header: Header, endpoint: number): void {
    if (this.haveGaps) return;
    const refused = new Refused("a block that used gas without its transactions");
    // A cache that has half a block says so twice as well.
    if (this.#upstreams.size === 1) throw refused;
    this.#confirm(header, [], endpoint, refused);
  }

  /** The only endpoint confirms what it says by saying it again. */
  #confirm(
    { hash, number }: Header,
    transactions: readonly Record<string, unknown>[],
    endpoint: number,
    refused: Refused,
  ): void {
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
