import type { Logger } from "../telemetry/log.ts";
import { askUndoubted } from "./ask-undoubted.ts";
import type { Blooms } from "./blooms.ts";
import { type Header, hasStateSync, mayHaveStateSync, stateSyncHash } from "./header.ts";
import { Refused, type RpcAnswer, UnusableAnswer } from "./json-rpc.ts";
import type { LogPlaces } from "./places.ts";
import { checkLogs, fetchProvenLogs, type LogFilter, matches, type RpcLog } from "./proven-logs.ts";
import type { RpcUpstreams } from "./rpc-upstreams.ts";

/** One list of a block's logs, and who gave it. */
interface Said {
  logs: RpcLog[];
  hosts: string[];
}

/**
 * Logs of blocks by the receipts root of their headers, as far as a chain's roots prove its logs. Where they do not (receipts that are
 * not in the trie, an encoding of their own, a root that is always the same) endpoints have to agree on the logs of a block.
 */
export class BlockLogs {
  readonly #upstreams: RpcUpstreams;
  readonly #blooms: Blooms;
  readonly #places: LogPlaces;
  readonly #log: Logger;
  /** Some block with receipts was proved by its root. */
  #haveProved = false;
  #haveFailed = false;

  constructor(upstreams: RpcUpstreams, blooms: Blooms, places: LogPlaces, log: Logger) {
    this.#upstreams = upstreams;
    this.#blooms = blooms;
    this.#places = places;
    this.#log = log;
  }

  /** Whether roots prove all logs of the chain, as far as it is known. */
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

  /** On Polygon: the root proves all logs but those of the last transaction, if there is one. */
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
   * No endpoint gave receipts that the header commits to. Two that give the same logs are believed. Where no root of the chain has proved
   * anything, so is the only one that is configured, and from then on the only one that answers, if its receipts have the logs that it gives.
   */
  async #unproven(header: Header, cause: UnusableAnswer, signal: AbortSignal): Promise<RpcLog[]> {
    const [first, second] = await this.#listsOf(header, signal);
    // The filter proves what a list leaves out, even if all endpoints agree on that list.
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
   * Logs of one block without proof, as far as its bloom filter tells that they are all.
   *
   * @param header of the block, where it is known.
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

  /** An endpoint gave logs that the filter of their block does not hold: either it or the filter is wrong. */
  async #besideBloom(header: Header, signal: AbortSignal | undefined): Promise<RpcLog[]> {
    const blooms = this.#blooms;
    const lists = await this.#listsOf(header, signal);
    const [first, second] = lists;
    if (!first) throw new Refused(`no endpoint gives the logs of block ${header.number}`);
    if (second && first.hosts.length < 2) {
      // A chain that uses its filters tells by them who is wrong.
      const right = lists.filter(({ logs }) => blooms.agrees(header, logs) && !blooms.lacks(header, logs));
      if (blooms.areSeenSet && right.length === 1 && right[0]) return right[0].logs;
      throw this.#disagreement(header, lists);
    }
    if (!blooms.agrees(header, first.logs)) {
      // One endpoint's word does not end the use of filters that the chain has shown to use.
      if (blooms.areSeenSet && first.hosts.length < 2) throw new Refused("a log is not in the block's bloom filter");
      blooms.giveUp(`${first.hosts.join(" and ")} gave logs of block ${header.number} that it does not hold`);
    }
    return first.logs;
  }

  /**
   * All logs of a block by another endpoint than the one that is asked first, where there is one.
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

  /** Logs of all receipts of a block, as an endpoint gives them. @returns null for what are none. */
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
   * Asks one endpoint after the other for all logs of a block, until two have said the same.
   *
   * @returns the lists, the one that most gave first; none when no endpoint answers.
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
   * All logs of a block where nothing in its header tells them: those that two endpoints give, or the only one that answers.
   *
   * @throws Refused while they disagree: one of them has a hole, or invents.
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

/** Of two lists that are the same: nodes differ in letter case and in what they add. */
function textOf(logs: readonly RpcLog[]): string {
  const fields = logs.map(({ address, topics, data, logIndex, transactionHash, transactionIndex }) => [
    ...[address, ...topics, data, transactionHash].map((value) => value.toLowerCase()),
    Number(logIndex),
    Number(transactionIndex),
  ]);
  return JSON.stringify(fields);
}
