import { LRUCache } from "lru-cache";
import type { Hex } from "viem";
import type { Logger } from "../telemetry/log.ts";
import { askRange, askUndoubted } from "./ask-undoubted.ts";
import { BlockLogs } from "./block-logs.ts";
import { Blooms } from "./blooms.ts";
import { type Fields, givesHash, type Header, headerHash, isHex, readHeader } from "./header.ts";
import { Absent, Contradiction, LeftChain, Refused, type RpcAnswer, UnusableAnswer } from "./json-rpc.ts";
import { LogPlaces, Positions } from "./places.ts";
import { checkLogs, type LogFilter, matches, type RpcLog } from "./proven-logs.ts";
import { isBlock, type RpcUpstreams } from "./rpc-upstreams.ts";
import { SharedWork } from "./shared-work.ts";

/**
 * How much of the nodes' answers is checked.
 *
 * - `proofs`: headers by their hash and parent, logs by the receipts root. Costs a header for each block and the
 *   receipts of each block that may match; nodes must have both.
 * - `logs`: what an answer shows by itself (order, duplicates, filter, bloom, heads that go back).
 * - `off`: nothing but the chain id.
 */
export type Verification = "proofs" | "logs" | "off";

/** The parts of a chain's headers that may prove nothing. */
type Unproven = "blooms" | "receipts" | "positions";

const keptHeaders = 4_096;
const keptBlocks = 24;
const headerConcurrency = 16;
const rangeLimit = 512n;

/** The chain, with the nodes' answers checked as its mode demands. */
export class VerifiedChain {
  readonly #upstreams: RpcUpstreams;
  readonly #blooms: Blooms;
  readonly #blockLogs: BlockLogs;
  readonly #positions: Positions;
  readonly #places = new LogPlaces();
  readonly #mode: Verification;
  readonly #lagTimeoutMs: number;
  readonly #log: Logger;
  readonly #headers = new LRUCache<Hex, Header & { isProved: boolean }>({ max: keptHeaders });
  readonly #proven = new SharedWork<RpcLog[]>();
  /** Proven logs of the last blocks: Ponder repeats a request when a large block takes longer than its timeout. */
  readonly #knownLogs = new LRUCache<Hex, RpcLog[]>({ max: keptBlocks });
  readonly #ranges = new SharedWork<Header[]>();
  #head: Header | null = null;
  #behindSince: number | null = null;

  constructor(upstreams: RpcUpstreams, mode: Verification, lagTimeoutMs: number, log: Logger) {
    this.#upstreams = upstreams;
    this.#blooms = new Blooms(upstreams, log);
    this.#blockLogs = new BlockLogs(upstreams, this.#blooms, this.#places, log);
    this.#positions = new Positions(upstreams, log);
    this.#mode = mode;
    this.#lagTimeoutMs = lagTimeoutMs;
    this.#log = log;
  }

  /** Whether the nodes went back behind the head that we pass on, but not yet for long enough to be believed. */
  get isBehind(): boolean {
    return this.#behindSince !== null;
  }

  /** The parts of the chain's headers that prove nothing: there the index believes endpoints that agree. */
  get unproven(): Unproven[] {
    if (this.#mode === "off") return [];
    return [
      ...(this.#blooms.areUsable ? [] : ["blooms" as const]),
      ...(this.#blockLogs.haveWholeRoots ? [] : ["receipts" as const]),
      ...(this.#positions.haveGaps ? ["positions" as const] : []),
    ];
  }

  /**
   * Answers a request as a node would.
   *
   * @param signal ends the work that nobody else waits for.
   * @throws LeftChain for the logs of a block that the chain has replaced; UnusableAnswer when no node gave an answer
   *   that passes the checks.
   */
  async request(method: string, params: unknown, signal?: AbortSignal): Promise<RpcAnswer> {
    const answer = await this.#answer(method, params, signal);
    return isBlock(method) && answer.result ? { result: this.#blooms.forIndex(answer.result) } : answer;
  }

  /**
   * All logs of a block.
   *
   * @param by `another`: from an endpoint other than the first one, where there is one; null when none answers.
   *   `proof`: proved by the block's receipts, or agreed on by endpoints.
   * @throws Refused, UnusableAnswer
   */
  async logsOfBlock(number: bigint, by: "another" | "proof"): Promise<RpcLog[] | null> {
    if (by === "another") return await this.#blockLogs.byAnother(number);
    const header = await this.#headerAt(number);
    if (!header) throw new Refused(`no node has block ${number}`);
    return await this.#blockLogs.proven(header, AbortSignal.timeout(60_000));
  }

  async #answer(method: string, params: unknown, signal?: AbortSignal): Promise<RpcAnswer> {
    const list: unknown[] = Array.isArray(params) ? params : [];
    if (this.#mode === "off") return this.#upstreams.request(method, params, { signal });
    if (method === "eth_getBlockByNumber" && list[0] === "latest") return this.#latest(list[1] === true, signal);
    if (isBlock(method)) return this.#block(method, list, signal);
    if (method === "eth_getLogs") return this.#logs((list[0] ?? {}) as LogFilter, params, signal);
    return this.#upstreams.request(method, params, { signal });
  }

  async #block(method: string, params: readonly unknown[], signal?: AbortSignal): Promise<RpcAnswer> {
    const isFull = params[1] === true;
    const check = (block: unknown, by: number) => this.#checkBlock(block, params, by);
    const doubt = (block: unknown, by: number) =>
      this.#mode === "logs" ? this.#doubt(block as Fields, isFull, by) : null;
    const { answer, endpoint } = await askUndoubted(this.#upstreams, method, params, { check, signal }, doubt);
    if (answer.result !== null && !answer.error) this.#see(answer.result as Fields, isFull, endpoint);
    return answer;
  }

  #see(block: Fields, isFull: boolean, endpoint: number): void {
    const header = readHeader(block);
    const isProved = this.#mode === "proofs" || givesHash(block);
    this.#blooms.see(header, isProved);
    if (isProved || !this.#headers.get(header.hash)?.isProved) this.#headers.set(header.hash, { ...header, isProved });
    if (!isFull || this.#mode !== "logs") return;
    // These logs or the block are wrong. Ponder ends at that, and gets both from one endpoint after its restart.
    for (const other of this.#places.noteBlock(block, endpoint))
      this.#upstreams.setAside(other, "its logs are not those of another endpoint's block");
  }

  /** The objection to a block because of which another endpoint is asked for a better one; null for none. */
  #doubt(block: Fields, isFull: boolean, endpoint: number): UnusableAnswer | null {
    const byLogs = isFull ? this.#places.doubtBlock(block, endpoint) : null;
    if (byLogs instanceof Contradiction) return byLogs;
    if (this.#upstreams.size > 1 && this.#blooms.isDoubted(readHeader(block), givesHash(block), endpoint))
      return new Refused("the block's fields do not give its hash");
    return byLogs;
  }

  #checkBlock(block: unknown, [asked, full]: readonly unknown[], endpoint: number): void {
    if (block === null || block === undefined) throw new Absent("no such block");
    if (typeof block !== "object") throw new Refused("not a block");
    const fields = block as Fields;
    const header = readHeader(fields);
    if (this.#mode === "proofs" && headerHash(fields) !== header.hash)
      throw new Refused("the block's fields do not give its hash");
    if (isHex(asked) && asked.length === 66 && asked.toLowerCase() !== header.hash) throw new Refused("another block");
    if (isHex(asked) && asked.length < 66 && BigInt(asked) !== header.number)
      throw new Refused("a block of another number");
    const transactions = fields["transactions"];
    if (!Array.isArray(transactions)) throw new Refused("a block without its transactions");
    if (transactions.length === 0 && isHex(fields["gasUsed"]) && BigInt(fields["gasUsed"]) > 0n)
      this.#positions.checkUnlisted(header, endpoint);
    if (full === true) this.#checkTransactions(header, transactions as Fields[], endpoint);
  }

  /** Ponder stops its backfill at a log whose transaction is not in the block. */
  #checkTransactions(header: Header, transactions: readonly Fields[], endpoint: number): void {
    this.#positions.check(header, transactions, endpoint);
    const hashes = new Map(transactions.map((one) => [Number(one["transactionIndex"]), one["hash"]]));
    for (const { transactionIndex, transactionHash } of this.#knownLogs.get(header.hash) ?? [])
      if (hashes.get(Number(transactionIndex)) !== transactionHash)
        throw new Refused("the block's transactions are not those of its logs");
  }

  async #header(hash: Hex, signal: AbortSignal | undefined): Promise<Header> {
    const known = this.#headers.get(hash);
    if (known) return known;
    const { result } = await this.#block("eth_getBlockByHash", [hash, false], signal);
    if (result === null) throw new Refused(`no node has block ${hash}`);
    return readHeader(result as Fields);
  }

  /**
   * The head. A head lower than the known one means a node that lags, until the nodes no longer have the known head:
   * Ponder would take it for a reorganisation and drop good rows.
   */
  async #latest(full: boolean, signal?: AbortSignal): Promise<RpcAnswer> {
    const answer = await this.#block("eth_getBlockByNumber", ["latest", full], signal);
    if (!answer.result) return answer;
    const head = readHeader(answer.result as Fields);
    const known = this.#head;
    if (known && head.hash !== known.hash) {
      if (head.number < known.number) return this.#behind(known, head, answer, full);
      // If the new head is not canonical, or of another chain, its parent cannot be read.
      if (head.parentHash !== known.hash) await this.#header(head.parentHash, signal);
    }
    this.#behindSince = null;
    this.#head = head;
    return answer;
  }

  async #behind(known: Header, head: Header, answer: RpcAnswer, full: boolean): Promise<RpcAnswer> {
    const still = await this.#block("eth_getBlockByHash", [known.hash, full]);
    this.#behindSince ??= Date.now();
    const waited = Date.now() - this.#behindSince;
    // Some nodes keep blocks that they have left; the block with that number is then another one.
    const canonical = still.result ? await this.#headerAt(known.number) : null;
    if (still.result && (canonical?.hash === known.hash || waited < this.#lagTimeoutMs)) return still;
    if (waited < this.#lagTimeoutMs) throw new Refused("the head is behind the one that was seen before");
    this.#log.warn({ from: String(known.number), to: String(head.number) }, "the chain is shorter than it was");
    this.#behindSince = null;
    this.#head = head;
    return answer;
  }

  async #headerAt(number: bigint, signal?: AbortSignal): Promise<Header | null> {
    const { result } = await this.#block("eth_getBlockByNumber", [`0x${number.toString(16)}`, false], signal);
    return result ? readHeader(result as Fields) : null;
  }

  async #logs(filter: LogFilter, params: unknown, signal?: AbortSignal): Promise<RpcAnswer> {
    if (isHex(filter.blockHash))
      return this.#logsOfBlock(filter.blockHash.toLowerCase() as Hex, filter, params, signal);
    if (this.#mode === "logs") {
      const check = (logs: unknown, endpoint: number) => {
        checkLogs(logs, filter);
        this.#places.noteLogs(logs, endpoint);
      };
      return await askRange(this.#upstreams, params, { check, signal });
    }
    const [from, to] = [BigInt(filter.fromBlock ?? "0x0"), BigInt(filter.toBlock ?? "0x0")];
    if (to - from >= rangeLimit) {
      const reach = `[0x${from.toString(16)}, 0x${(from + rangeLimit - 1n).toString(16)}]`;
      return { error: { code: -32005, message: `response size exceeded; this block range should work: ${reach}` } };
    }
    // One walk serves all requests for a range: Ponder requests it for each event at the same time.
    const headers = await this.#ranges.join(`${from}-${to}`, (ended) => this.#walk(from, to, ended), signal);
    const logs = await inTurns(
      headers.filter((header) => this.#blooms.mayMatch(header, filter)),
      (header) => this.#logsOf(header, signal),
    );
    return { result: logs.flat().filter((log) => matches(log, filter)) };
  }

  async #logsOfBlock(
    hash: Hex,
    filter: LogFilter,
    params: unknown,
    signal: AbortSignal | undefined,
  ): Promise<RpcAnswer> {
    const known = this.#headers.get(hash);
    try {
      if (this.#mode === "logs") {
        const answer = await this.#blockLogs.unproven(filter, params, known, signal);
        if (answer.error && known && (await this.#hasLeft(known))) throw new LeftChain(`block ${hash} was replaced`);
        return answer;
      }
      const logs = await this.#logsOf(await this.#header(hash, signal), signal);
      return { result: logs.filter((log) => matches(log, filter)) };
    } catch (error) {
      if (!(error instanceof UnusableAnswer) || error instanceof LeftChain || !known) throw error;
      throw (await this.#hasLeft(known)) ? new LeftChain(`block ${hash} was replaced`) : error;
    }
  }

  /** Whether no node has the block any more, and another block has its number. */
  async #hasLeft({ hash, number }: Header): Promise<boolean> {
    try {
      if ((await this.#block("eth_getBlockByHash", [hash, false])).result) return false;
      const canonical = await this.#headerAt(number);
      return canonical !== null && canonical.hash !== hash;
    } catch {
      return false;
    }
  }

  async #logsOf(header: Header, signal: AbortSignal | undefined): Promise<RpcLog[]> {
    const known = this.#knownLogs.get(header.hash);
    if (known) return known;
    return await this.#proven.join(
      header.hash,
      async (ended) => {
        const logs = await this.#blockLogs.proven(header, ended);
        this.#knownLogs.set(header.hash, logs);
        return logs;
      },
      signal,
    );
  }

  /** Headers of the range and of one block more. They are linked by hash, so none can be of another chain. */
  async #walk(from: bigint, to: bigint, signal: AbortSignal): Promise<Header[]> {
    const numbers = Array.from({ length: Number(to - from) + 2 }, (_, index) => from + BigInt(index));
    const headers = await inTurns(numbers, async (number) => {
      const asked = this.#headerAt(number, signal);
      // The head has no successor yet. An endpoint that fails to answer here does not mean that there is one.
      const header = number > to ? await asked.catch(noSuccessor) : await asked;
      if (!header && number <= to) throw new Refused(`no node has block ${number}`);
      return header;
    });
    for (const [index, header] of headers.entries()) {
      const parent = headers[index - 1];
      if (header && parent && header.parentHash !== parent.hash)
        throw new Refused(`block ${header.number} is not the successor of ${parent.number}`);
    }
    return headers.flatMap((header) => (header && header.number <= to ? [header] : []));
  }
}

function noSuccessor(error: unknown): null {
  if (error instanceof UnusableAnswer) return null;
  throw error;
}

async function inTurns<T, R>(items: readonly T[], run: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let start = 0; start < items.length; start += headerConcurrency)
    results.push(...(await Promise.all(items.slice(start, start + headerConcurrency).map(run))));
  return results;
}
