import type { Logger } from "../telemetry/log.ts";
import { askUndoubted } from "./ask-undoubted.ts";
import type { Blooms } from "./blooms.ts";
import { type Header, hasStateSync, mayHaveStateSync, stateSyncHash } from "./header.ts";
import { Refused, type RpcAnswer, UnusableAnswer } from "./json-rpc.ts";
import type { LogPlaces } from "./places.ts";
import { checkLogs, fetchProvenLogs, type LogFilter, matches, type RpcLog } from "./proven-logs.ts";
import type { RpcUpstreams } from "./rpc-upstreams.ts";

/** One list of a block's logs, and the hosts that gave it. */
interface Said {
  logs: RpcLog[];
  hosts: string[];
}

/**
 * Reads logs of blocks and proves them by the header's receipts root. Where a chain's roots do not prove its logs
 * (receipts outside the trie, a non-standard encoding, a constant root), endpoints have to agree on them.
 */
export class BlockLogs {
  readonly #upstreams: RpcUpstreams;
  readonly #blooms: Blooms;
  readonly #places: LogPlaces;
  readonly #log: Logger;
  /** Whether the root of any block with receipts has proved its logs. */
  #haveProved = false;
  #haveFailed = false;

  constructor(upstreams: RpcUpstreams, blooms: Blooms, places: LogPlaces, log: Logger) {
    this.#upstreams = upstreams;
    this.#blooms = blooms;
    this.#places = places;
    this.#log = log;
  }

  /** Whether receipts roots prove all logs of the chain, as far as we know. */
  get haveWholeRoots(): boolean {
    return !this.#haveFailed && !hasStateSync(this.#upstreams.id);
  }

  /** All logs of a block whose header is proved. @throws Refused, UnusableAnswer */
  async proven(header: Header, signal: AbortSignal): Promise<RpcLog[]> {
    if (this.#blooms.provesNone(header)) return [];
    if (mayHaveStateSync(this.#upstreams.id, header.number)) return await this.#withStateSync(header, signal);
    try {
      const logs = await fetchProvenLogs(this.#upstreams, header, signal, {
        once: this.#haveFailed && !this.#haveProved,
      });
      this.#haveProved = true;
      this.#blooms.prove(header, logs);
      return logs;
    } catch (error) {
      if (!(error instanceof UnusableAnswer)) throw error;
      signal.throwIfAborted();
      return await this.#unproven(header, error, signal);
    }
  }

  /** For Polygon: the root proves all logs but those of the state-sync transaction, the last one, if there is one. */
  async #withStateSync(header: Header, signal: AbortSignal): Promise<RpcLog[]> {
    const agreed = await this.#agreed(header, signal);
    const hash = stateSyncHash(header);
    const proven = await fetchProvenLogs(this.#upstreams, header, signal, { except: hash });
    const others = agreed.filter(({ transactionHash }) => transactionHash !== hash);
    if (textOf(others) !== textOf(proven))
      throw new Refused("the logs are not those that the block's header commits to");
    return agreed;
  }

  /**
   * No receipts match the header. Two endpoints with the same logs are believed. While no root of the chain has proved
   * anything, so is one whose receipts contain its logs: the only configured one, later the only one that answers.
   */
  async #unproven(header: Header, cause: UnusableAnswer, signal: AbortSignal): Promise<RpcLog[]> {
    const [first, second] = await this.#listsOf(header, signal);
    // The bloom filter proves that a list lacks logs, even if all endpoints agree on it.
    if (!first || this.#blooms.lacks(header, first.logs)) throw cause;
    if (first.hosts.length < 2) {
      if (second || this.#haveProved || (!this.#haveFailed && this.#upstreams.size > 1)) throw cause;
      const receipts = await this.#receiptLogs(header, signal);
      if (receipts === null || textOf(receipts) !== textOf(first.logs)) throw cause;
    }
    if (!this.#haveFailed) this.#warn(header, cause);
    this.#haveFailed ||= !this.#haveProved;
    return first.logs;
  }

  #warn({ number }: Header, cause: UnusableAnswer): void {
    const { name } = this.#upstreams;
    const message = `receipts of this chain do not give the receiptsRoot of their block: logs are believed as endpoints agree on them; give RPC_URL_${name.toUpperCase()} a second endpoint of another provider if it has one only`;
    this.#log.warn({ chain: name, block: String(number), reason: cause.message }, message);
  }

  /**
   * Logs of one block without proof. Its bloom filter shows, as far as it can, that the list is complete.
   *
   * @param header the block's header, where it is known.
   */
  async unproven(
    filter: LogFilter,
    params: unknown,
    header: Header | undefined,
    signal: AbortSignal | undefined,
  ): Promise<RpcAnswer> {
    const blooms = this.#blooms;
    if (header && !blooms.tells(header)) {
      const logs = await this.#agreed(header, signal);
      if (blooms.lacks(header, logs)) throw new Refused("logs of the block are missing");
      return { result: logs.filter((log) => matches(log, filter)) };
    }
    const isWhole = header !== undefined && !filter.topics && !filter.address;
    const check = (logs: unknown) => {
      checkLogs(logs, filter, isWhole);
      if (header && isWhole && logs.length === 0 && BigInt(header.logsBloom) !== 0n)
        throw new Refused("logs of the block are missing");
    };
    const doubt = (logs: unknown, endpoint: number) => this.#places.doubt(logs as RpcLog[], endpoint);
    const { answer } = await askUndoubted(this.#upstreams, "eth_getLogs", params, { check, signal }, doubt);
    if (answer.error || !header || blooms.agrees(header, answer.result as RpcLog[])) return answer;
    const logs = await this.#besideBloom(header, signal);
    return { result: logs.filter((log) => matches(log, filter)) };
  }

  /** An endpoint gave logs that are not in the block's bloom filter: either they or the filter is wrong. */
  async #besideBloom(header: Header, signal: AbortSignal | undefined): Promise<RpcLog[]> {
    const blooms = this.#blooms;
    const lists = await this.#listsOf(header, signal);
    const [first, second] = lists;
    if (!first) throw new Refused(`no endpoint gives the logs of block ${header.number}`);
    if (second && first.hosts.length < 2) {
      // On a chain that sets its filters, the filter decides which list is right.
      const right = lists.filter(({ logs }) => blooms.agrees(header, logs) && !blooms.lacks(header, logs));
      if (blooms.areSeenSet && right.length === 1 && right[0]) return right[0].logs;
      throw this.#disagreement(header, lists);
    }
    if (!blooms.agrees(header, first.logs)) {
      // A single endpoint is not enough to stop using the filters of a chain that has been seen to set them.
      if (blooms.areSeenSet && first.hosts.length < 2) throw new Refused("a log is not in the block's bloom filter");
      blooms.giveUp(`${first.hosts.join(" and ")} gave logs of block ${header.number} that it does not hold`);
    }
    return first.logs;
  }

  /**
   * All logs of a block from an endpoint other than the one that is asked first, where there is one.
   *
   * @returns null when none answers.
   */
  async byAnother(number: bigint): Promise<RpcLog[] | null> {
    const hex = `0x${number.toString(16)}`;
    const filter = { fromBlock: hex, toBlock: hex };
    const check = (logs: unknown) => checkLogs(logs, filter, true);
    const checkReceipts = (receipts: unknown) => check(logsIn(receipts));
    const others = this.#upstreams.each("eth_getBlockReceipts", [hex], { check: checkReceipts }, true);
    for await (const { result } of others) return logsIn(result) as RpcLog[];
    for await (const { result } of this.#upstreams.each("eth_getLogs", [filter], { check }, true))
      return result as RpcLog[];
    return null;
  }

  /** Logs of all receipts of a block, as an endpoint gives them. @returns null if they are not valid receipts. */
  async #receiptLogs({ hash }: Header, signal: AbortSignal): Promise<RpcLog[] | null> {
    const { result } = await this.#upstreams.request("eth_getBlockReceipts", [hash], { signal });
    try {
      const logs = logsIn(result);
      checkLogs(logs, { blockHash: hash }, true);
      return logs;
    } catch {
      return null;
    }
  }

  /**
   * Asks one endpoint after the other for all logs of a block, until two have given the same list.
   *
   * @returns the lists, the one that most endpoints gave first; none when no endpoint answers.
   */
  async #listsOf(header: Header, signal: AbortSignal | undefined): Promise<Said[]> {
    const filter = { blockHash: header.hash };
    const check = (logs: unknown) => checkLogs(logs, filter, true);
    const lists = new Map<string, Said>();
    for await (const { host, result } of this.#upstreams.each("eth_getLogs", [filter], { check, signal })) {
      const logs = result as RpcLog[];
      const list = lists.get(textOf(logs)) ?? { logs, hosts: [] };
      lists.set(textOf(logs), list);
      list.hosts.push(host);
      if (list.hosts.length === 2) break;
    }
    return [...lists.values()].sort((a, b) => b.hosts.length - a.hosts.length);
  }

  /**
   * All logs of a block whose header does not prove them: those that two endpoints give, or the only one that answers.
   *
   * @throws Refused while they disagree: one of them lacks logs, or invents them.
   */
  async #agreed(header: Header, signal: AbortSignal | undefined): Promise<RpcLog[]> {
    const [first, second] = await this.#listsOf(header, signal);
    if (!first) throw new Refused(`no endpoint gives the logs of block ${header.number}`);
    if (second && first.hosts.length < 2) throw this.#disagreement(header, [first, second]);
    return first.logs;
  }

  #disagreement({ number }: Header, lists: readonly Said[]): Refused {
    const who = lists.map(({ logs, hosts }) => `${hosts.join(", ")}: ${logs.length}`).join("; ");
    return new Refused(
      `the endpoints have different logs of block ${number} (${who}), and nothing in its header tells which is right; they are asked again. Where it lasts, name another endpoint in RPC_URL_${this.#upstreams.name.toUpperCase()}`,
    );
  }
}

function logsIn(receipts: unknown): unknown {
  if (!Array.isArray(receipts)) throw new Refused("receipts are missing");
  return (receipts as ({ logs?: unknown[] } | null)[]).flatMap((receipt) => receipt?.logs ?? [null]);
}

/** A text that is equal for equal lists: nodes differ in letter case and in the fields that they add. */
function textOf(logs: readonly RpcLog[]): string {
  const fields = logs.map(({ address, topics, data, logIndex, transactionHash, transactionIndex }) => [
    ...[address, ...topics, data, transactionHash].map((value) => value.toLowerCase()),
    Number(logIndex),
    Number(transactionIndex),
  ]);
  return JSON.stringify(fields);
}
