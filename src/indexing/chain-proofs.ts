import type { Logger } from "../telemetry/log.ts";
import { askForLogs, fetchAgreedLogs, textOf } from "./agreed-logs.ts";
import type { Blooms } from "./blooms.ts";
import type { Header } from "./header.ts";
import { Refused, UnusableAnswer } from "./json-rpc.ts";
import { fetchProvenLogs, fetchSaidReceipts, type RpcLog } from "./proven-logs.ts";
import type { RpcUpstreams } from "./rpc-upstreams.ts";
import { hasStateSync, mayHaveStateSync, stateSyncHash } from "./state-sync.ts";

/**
 * Logs of blocks by the receipts root of their headers, as far as a chain's roots prove its logs. Where they do not (receipts that are
 * not in the trie, an encoding of their own, a root that is always the same) endpoints have to agree on the logs of a block.
 */
export class ChainProofs {
  readonly #upstreams: RpcUpstreams;
  readonly #blooms: Blooms;
  readonly #log: Logger;
  /** Some block with receipts was proved by its root. */
  #haveProved = false;
  #haveFailed = false;

  constructor(upstreams: RpcUpstreams, blooms: Blooms, log: Logger) {
    this.#upstreams = upstreams;
    this.#blooms = blooms;
    this.#log = log;
  }

  /** Whether roots prove all logs of the chain, as far as it is known. */
  get areWhole(): boolean {
    return !this.#haveFailed && !hasStateSync(this.#upstreams.id);
  }

  /** All logs of a block whose header is proved. @throws Refused, UnusableAnswer */
  async logsOf(header: Header, signal: AbortSignal): Promise<RpcLog[]> {
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
    const agreed = await fetchAgreedLogs(this.#upstreams, header, signal);
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
    const [first, second] = await askForLogs(this.#upstreams, header, signal);
    // The filter proves what a list leaves out, even if all endpoints agree on that list.
    if (!first || this.#blooms.lacks(header, first.logs)) throw cause;
    if (first.hosts.length < 2) {
      if (second || this.#haveProved || (!this.#haveFailed && this.#upstreams.size > 1)) throw cause;
      const receipts = await fetchSaidReceipts(this.#upstreams, header, signal);
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
}
