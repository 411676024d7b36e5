import { backoffMs } from "../backoff.ts";
import type { AnswerClass } from "../rpc/answers.ts";
import type { Logger } from "../telemetry/log.ts";
import { LogOnce } from "../telemetry/log-once.ts";
import { quantityOf } from "./header.ts";
import {
  Contradiction,
  NodeRefusal,
  Refused,
  type RpcAnswer,
  type RpcLimits,
  sendRpc,
  UnusableAnswer,
  WrongChain,
} from "./json-rpc.ts";
import {
  type BlockRange,
  type EndpointHealth,
  healthOf,
  noteNoRange,
  openUpstream,
  rangeOf,
  type Upstream,
} from "./upstream.ts";

/** Throws Refused or Absent for a result that must not be used. `endpoint` is its index in the list. */
type Check = (result: unknown, endpoint: number) => void;

export interface Asking {
  /** Is called with each result that is not an error. */
  check?: Check | undefined;
  /** Cancels the request: nobody waits for its answer any more. */
  signal?: AbortSignal | undefined;
}

/** A block of which all endpoints must have the same hash. */
export interface FinalBlock {
  number: bigint;
  hash: string;
}

interface EndpointState {
  /** `contradicts`: it serves another chain, or another history of this one. */
  state: "agrees" | "silent" | "contradicts";
  reason: string | null;
}

const rest = { firstMs: 500, mostMs: 30_000 };
/** For a node that only its operator can repair. */
const longRest = { firstMs: 30_000, mostMs: 600_000 };
/** For a node that contradicts itself: it would give the same answer again. */
const distrustMs = 600_000;
/** Errors about the request, not about the node: the node is asked the next request as before. */
export const ofTheQuestion: readonly AnswerClass[] = ["too_wide", "not_there_yet", "pruned", "unsupported"];
/** No backend in use lags further behind than this many blocks. */
const farBehind = 256n;
/** After this time without a usable answer from any node, each request waits before it is sent. */
const awayAfterMs = 2_000;

/** The nodes of one chain: which of them are asked, in which order, and what is known of each. */
export class EndpointList {
  protected readonly upstreams: Upstream[];
  readonly name: string;
  readonly id: number;
  readonly #limits: RpcLimits;
  readonly #log: Logger;
  readonly #logOnce: LogOnce;
  #genesis: string | null = null;
  /** Since when no node has given a usable answer (ms); null while one does. */
  protected awaySince: number | null = null;
  /** Learned from the first refusals. */
  lacksBlockReceipts = false;
  /** Number of answers that were refused since the start, by reason. */
  readonly refusals = new Map<string, number>();

  /** @param limits `requestsPerSecond`: for each node; 0: unlimited. */
  constructor(
    { name, id }: { name: string; id: number },
    urls: readonly string[],
    limits: RpcLimits & { requestsPerSecond: number },
    log: Logger,
  ) {
    this.name = name;
    this.id = id;
    this.#limits = limits;
    this.#log = log;
    this.#logOnce = new LogOnce(log);
    this.upstreams = urls.map((url) => openUpstream(url, limits.requestsPerSecond));
  }

  /**
   * Asks every node for its chain id.
   *
   * @throws WrongChain when one serves another chain, UnusableAnswer when none answers.
   */
  async verify(): Promise<void> {
    const results = await Promise.allSettled(this.upstreams.map((upstream) => this.#verify(upstream)));
    const failures = results.flatMap((result) => (result.status === "rejected" ? [result.reason as unknown] : []));
    for (const failure of failures) if (failure instanceof WrongChain) throw failure;
    if (failures.length === results.length) {
      const reasons = failures.map((failure) => (failure instanceof Error ? failure.message : String(failure)));
      throw new UnusableAnswer(`no RPC endpoint of ${this.name} answers: ${reasons.join("; ")}`);
    }
  }

  /** What each endpoint can do and which faults it had since the start, in the configured order. */
  health(): EndpointHealth[] {
    return this.upstreams.map(healthOf);
  }

  /** Number of endpoints that contradicted known facts at the last audit. */
  contradictions(): number {
    return this.upstreams.filter(({ contradicts }) => contradicts).length;
  }

  expectGenesis(hash: string): void {
    if (this.#genesis === hash) return;
    this.#genesis = hash;
    for (const upstream of this.upstreams) upstream.verified = false;
  }

  /** Asks each node again for chain id, block 0 and the final block. One that contradicts them is no longer used. */
  async audit(final: FinalBlock | null): Promise<EndpointState[]> {
    return Promise.all(
      this.upstreams.map(async (upstream): Promise<EndpointState> => {
        try {
          await this.#verify(upstream);
          if (final) await this.#requireBlock(upstream, final);
          upstream.contradicts = false;
          return { state: "agrees", reason: null };
        } catch (error) {
          const reason = error instanceof Error ? error.message : String(error);
          upstream.faults.record(error);
          if (!(error instanceof WrongChain)) return { state: "silent", reason };
          upstream.verified = false;
          upstream.contradicts = true;
          this.#log.error({ host: upstream.host, reason }, "RPC endpoint contradicts what is known of the chain");
          return { state: "contradicts", reason };
        }
      }),
    );
  }

  /** @throws WrongChain when the node has another block of this number. A node that has none yet only lags. */
  async #requireBlock(upstream: Upstream, { number, hash }: FinalBlock): Promise<void> {
    const params = [`0x${number.toString(16)}`, false];
    const { result } = await this.#send(upstream, "eth_getBlockByNumber", params);
    const named = typeof result === "object" && result !== null && "hash" in result ? String(result.hash) : null;
    if (named !== null && named.toLowerCase() !== hash)
      throw new WrongChain(`${upstream.host} has block ${number} as ${named.slice(0, 80)}, which was final as ${hash}`);
  }

  /** Puts an endpoint last in the order for half a minute. */
  setAside(endpoint: number, reason: string): void {
    const upstream = this.upstreams[endpoint];
    if (!upstream) return;
    this.failed(upstream, new Refused(reason), null);
    upstream.restsUntil = Math.max(upstream.restsUntil, Date.now() + longRest.firstMs);
  }

  protected allAreAway(): boolean {
    return this.awaySince !== null && Date.now() - this.awaySince > awayAfterMs;
  }

  /** Number of configured endpoints. */
  get size(): number {
    return this.upstreams.length;
  }

  #send(upstream: Upstream, method: string, params: unknown, signal?: AbortSignal): Promise<RpcAnswer> {
    return upstream.limit(() => sendRpc(upstream.url, method, params, this.#limits, signal), signal);
  }

  protected async ask(
    upstream: Upstream,
    method: string,
    params: unknown,
    { check, signal }: Asking,
  ): Promise<RpcAnswer> {
    if (!upstream.verified) await this.#verify(upstream);
    const range = method === "eth_getLogs" ? rangeOf(params) : null;
    const last = range?.to ?? null;
    if (last !== null && last > upstream.head) await this.#requireHead(upstream, last, signal);
    const answer = await this.#send(upstream, method, params, signal);
    // The logs may be from another backend behind the same address than the one that gave its head.
    if (last !== null && last > upstream.head - farBehind && !answer.error)
      await this.#requireHead(upstream, last, signal).catch((error: unknown) => {
        const isBehind = error instanceof NodeRefusal && error.kind === "not_there_yet";
        if (signal?.aborted || isBehind || error instanceof WrongChain) throw error;
        // Another endpoint has these logs as well, and the range was not too wide.
        if (this.upstreams.length > 1) throw new Refused("no word on its newest block");
      });
    // Logs name their blocks, which Ponder requests. An empty list names none: another chain would give it as well.
    if (range && Array.isArray(answer.result) && answer.result.length === 0) await this.#verifyAgain(upstream);
    if (check && !answer.error) runCheck(check, answer.result, this.upstreams.indexOf(upstream));
    if (this.allAreAway()) this.#log.info({ host: upstream.host }, "RPC endpoint answers again");
    this.awaySince = null;
    upstream.failures = 0;
    if (range && !answer.error) {
      upstream.width.answered(range);
      upstream.noRanges = null;
    }
    return answer;
  }

  /**
   * A node that lacks the last block of a range gives the logs of the blocks that it has, without an error.
   *
   * @throws NodeRefusal while the node is behind.
   */
  async #requireHead(upstream: Upstream, last: bigint, signal: AbortSignal | undefined): Promise<void> {
    const { result } = await this.#send(upstream, "eth_blockNumber", [], signal);
    const head = quantityOf(result);
    if (head === null) throw new Refused("no block number");
    // The head is kept for later ranges, so it must not be another chain's.
    if (head > upstream.head + farBehind) await this.#verifyAgain(upstream);
    upstream.head = head;
    if (last <= upstream.head) return;
    const message = `its newest block is ${upstream.head}, and the range ends at ${last}`;
    throw new NodeRefusal("eth_getLogs", "not_there_yet", { code: -32000, message });
  }

  /**
   * The configured order, with those that failed lately at the end, the shortest rest first. For a range, endpoints
   * that give logs of that many blocks come before all others.
   */
  protected inOrder(range: BlockRange | null = null): Upstream[] {
    const now = Date.now();
    const wide = (one: Upstream) => range === null || one.width.takes(range.to - range.from + 1n);
    const rests = (one: Upstream) => Math.max(0, one.restsUntil - now);
    const rank = (one: Upstream) => (rests(one) > 0 ? 1 : 0) + (wide(one) ? 0 : 2);
    return this.usable().sort((a, b) => rank(a) - rank(b) || rests(a) - rests(b));
  }

  protected usable(): Upstream[] {
    const trusted = this.upstreams.filter((upstream) => !upstream.contradicts);
    return trusted.length > 0 ? trusted : [...this.upstreams];
  }

  // Repeated after each failure: behind a load balancer or after a restart, the address may serve another chain.
  async #verify(upstream: Upstream): Promise<void> {
    const { result } = await this.#send(upstream, "eth_chainId", []);
    const id = quantityOf(result);
    if (id === null) throw new UnusableAnswer(`${upstream.host} gives no chain id`);
    if (id !== BigInt(this.id)) {
      const variable = this.name.toUpperCase();
      throw new WrongChain(
        `${upstream.host} serves chain id ${id}, but ${this.name} is configured as ${this.id}: correct RPC_URL_${variable} or CHAIN_ID_${variable}`,
      );
    }
    if (this.#genesis !== null) await this.#requireBlock(upstream, { number: 0n, hash: this.#genesis });
    upstream.verified = true;
  }

  /** A check that starts after this call. All calls during a running check share the next one. */
  #verifyAgain(upstream: Upstream): Promise<void> {
    upstream.nextCheck ??= upstream.lastCheck.then(() => {
      upstream.nextCheck = null;
      const check = this.#verify(upstream);
      upstream.lastCheck = check.catch(() => undefined);
      return check;
    });
    return upstream.nextCheck;
  }

  /** Records an answer that could not be used. */
  protected failed(upstream: Upstream, error: unknown, range: BlockRange | null): void {
    const refusal = error instanceof NodeRefusal ? error : null;
    // A missing eth_getBlockReceipts is no fault: receipts can be read one by one.
    const isMissed = refusal?.kind !== "unsupported" || refusal.method !== "eth_getBlockReceipts";
    if (isMissed) upstream.faults.record(error);
    if (range && (refusal?.kind === "too_wide" || refusal?.kind === "too_slow"))
      upstream.width.refused(range, refusal.error.message);
    if (refusal && ofTheQuestion.includes(refusal.kind)) return;
    if (range) noteNoRange(upstream);
    this.#rest(upstream, error);
  }

  #rest(upstream: Upstream, error: unknown): void {
    upstream.verified = false;
    // The node may come back with fewer blocks than it had.
    upstream.head = -1n;
    upstream.failures += 1;
    const isForLong = error instanceof NodeRefusal && (error.kind === "quota_ended" || error.kind === "key_refused");
    const pause =
      error instanceof Contradiction ? distrustMs : backoffMs(upstream.failures, isForLong ? longRest : rest);
    upstream.restsUntil = Math.max(upstream.restsUntil, Date.now() + pause);
    if (error instanceof Contradiction) upstream.distrustedUntil = upstream.restsUntil;
    const reason = error instanceof Error ? error.message : String(error);
    // Messages of nodes contain numbers, which would make each reason unique.
    const counted = error instanceof NodeRefusal ? reason.split(": ", 2).join(": ") : reason;
    this.refusals.set(counted, (this.refusals.get(counted) ?? 0) + 1);
    if (this.refusals.size > 1_000) this.refusals.clear();
    const level = error instanceof WrongChain ? "error" : "warn";
    // Without the method, so that the same failure of different requests is logged once.
    const cause = `${upstream.host} ${error instanceof Error ? error.name : ""} ${reason.replace(/\b(?:eth|net)_\w+/, "")}`;
    this.#logOnce.write(level, cause, { host: upstream.host, reason }, "RPC endpoint skipped");
  }
}

function runCheck(check: Check, result: unknown, endpoint: number): void {
  try {
    check(result, endpoint);
  } catch (error) {
    if (error instanceof UnusableAnswer) throw error;
    throw new Refused(`not a usable answer: ${String(error).slice(0, 200)}`);
  }
}
