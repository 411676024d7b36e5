import { setTimeout as wait } from "node:timers/promises";
import { backoffMs } from "../backoff.ts";
import type { AnswerClass } from "../rpc/answers.ts";
import type { Logger } from "../telemetry/log.ts";
import { LogOnce } from "../telemetry/log-once.ts";
import { quantityOf } from "./header.ts";
import {
  Absent,
  AnswerTooLarge,
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
  isAway,
  openUpstream,
  rangeOf,
  smallerRange,
  tooWideCode,
  type Upstream,
} from "./upstream.ts";

/** Throws Refused or Absent for a result of an endpoint, by its place in the list, that shall not be used. */
type Check = (result: unknown, endpoint: number) => void;

export interface Asking {
  /** Is asked about each result that is not an error. */
  check?: Check | undefined;
  /** Ends the question: nobody waits for its answer any more. */
  signal?: AbortSignal | undefined;
}

/** A block that all endpoints have to name alike. */
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
/** Of a node that only its operator can bring back. */
const longRest = { firstMs: 30_000, mostMs: 600_000 };
/** Of one that contradicts itself: it says the same again. */
const distrustMs = 600_000;
/** What a node says of the question, and not of itself: it is asked the next one as before. */
const ofTheQuestion: readonly AnswerClass[] = ["too_wide", "not_there_yet", "pruned", "unsupported"];
const askAgainNoMore: readonly AnswerClass[] = ["too_wide", "pruned", "unsupported"];
/** How often all nodes are asked when an answer is checked: a wrong one is often right the next time. */
const checkedRounds = 4;
const pauseMs = 25;
/** No backend that is in use is further behind than so many blocks. */
const farBehind = 256n;
/** After so long without a usable answer of any node each request waits before it is sent: Ponder repeats at once. */
const awayAfterMs = 2_000;
const awayPauseMs = 500;

/** The nodes of one chain, best first; a request goes to the first that gives a usable answer. */
export class RpcUpstreams {
  readonly #upstreams: Upstream[];
  readonly name: string;
  readonly id: number;
  readonly #limits: RpcLimits;
  readonly #log: Logger;
  readonly #logOnce: LogOnce;
  #genesis: string | null = null;
  /** Since when no node has given a usable answer (ms); null while one does. */
  #awaySince: number | null = null;
  /** Found out by asking. */
  lacksBlockReceipts = false;
  /** Answers that were refused since the start, by reason. */
  readonly refusals = new Map<string, number>();

  /** @param limits `requestsPerSecond`: of each node; 0: as many as come. */
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
    this.#upstreams = urls.map((url) => openUpstream(url, limits.requestsPerSecond));
  }

  /**
   * Asks every node for its chain id.
   *
   * @throws WrongChain when one serves another chain, UnusableAnswer when none answers.
   */
  async verify(): Promise<void> {
    const results = await Promise.allSettled(this.#upstreams.map((upstream) => this.#verify(upstream)));
    const failures = results.flatMap((result) => (result.status === "rejected" ? [result.reason as unknown] : []));
    for (const failure of failures) if (failure instanceof WrongChain) throw failure;
    if (failures.length === results.length) {
      const reasons = failures.map((failure) => (failure instanceof Error ? failure.message : String(failure)));
      throw new UnusableAnswer(`no RPC endpoint of ${this.name} answers: ${reasons.join("; ")}`);
    }
  }

  /** What each endpoint can do and what went wrong with it since the start, in the configured order. */
  health(): EndpointHealth[] {
    return this.#upstreams.map(healthOf);
  }

  /** Endpoints that the last audit found to contradict what is known. */
  contradictions(): number {
    return this.#upstreams.filter(({ contradicts }) => contradicts).length;
  }

  expectGenesis(hash: string): void {
    if (this.#genesis === hash) return;
    this.#genesis = hash;
    for (const upstream of this.#upstreams) upstream.verified = false;
  }

  /** Asks each node anew for chain id, block 0 and the final block. One that contradicts is left out from then on. */
  async audit(final: FinalBlock | null): Promise<EndpointState[]> {
    return Promise.all(
      this.#upstreams.map(async (upstream): Promise<EndpointState> => {
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

  /** @throws WrongChain when the node has another block of this number. One that has none yet lags. */
  async #requireBlock(upstream: Upstream, { number, hash }: FinalBlock): Promise<void> {
    const params = [`0x${number.toString(16)}`, false];
    const { result } = await this.#send(upstream, "eth_getBlockByNumber", params);
    const named = typeof result === "object" && result !== null && "hash" in result ? String(result.hash) : null;
    if (named !== null && named.toLowerCase() !== hash)
      throw new WrongChain(`${upstream.host} has block ${number} as ${named.slice(0, 80)}, which was final as ${hash}`);
  }

  /**
   * @returns a null result when every node says that there is nothing; an error when every node has one that lasts, with the words
   *   of all, or when one asks for a smaller question.
   * @throws UnusableAnswer when no node gave a usable answer, of logs also when the first one took too long; the signal's
   *   reason when that aborts.
   */
  async request(method: string, params: unknown, { check, signal }: Asking = {}): Promise<RpcAnswer> {
    let last: unknown = new UnusableAnswer("no RPC endpoint is configured");
    let absent = true;
    const refused = new Map<Upstream, NodeRefusal | null>();
    const range = method === "eth_getLogs" ? rangeOf(params) : null;
    const smaller = range && smallerRange(this.#usable(), range);
    if (smaller) return smaller;
    if (this.#isAway()) await wait(awayPauseMs, undefined, { signal });
    for (let round = 0; round < (check ? checkedRounds : 1); round++) {
      if (round > 0) await wait(pauseMs * round, undefined, { signal });
      for (const upstream of this.#inOrder(range)) {
        try {
          return await this.#ask(upstream, method, params, { check, signal });
        } catch (error) {
          // The end of the question says nothing of the node.
          signal?.throwIfAborted();
          if (error instanceof AnswerTooLarge) throw error;
          const refusal = error instanceof NodeRefusal ? error : null;
          refused.set(upstream, refusal);
          if (error instanceof Absent || (isBlock(method) && refusal?.kind === "not_there_yet")) upstream.failures = 0;
          else {
            absent = false;
            this.#failed(upstream, error, range);
          }
          // Ponder does not wait for a second one; what it asks instead goes to the next endpoint.
          if (method === "eth_getLogs" && refusal?.kind === "too_slow") throw error;
          last = error;
        }
      }
      if ([...refused.values()].every(lasts)) break;
    }
    if (absent) return { result: null };
    const words = [...refused.values()];
    const narrow = words.some((one) => one?.kind === "too_wide") && range && smallerRange(this.#usable(), range);
    if (narrow) return narrow;
    const answer = errorOf(words);
    if (answer) return answer;
    this.#awaySince ??= Date.now();
    throw last;
  }

  /** Asks an endpoint last for half a minute. */
  setAside(endpoint: number, reason: string): void {
    const upstream = this.#upstreams[endpoint];
    if (!upstream) return;
    this.#failed(upstream, new Refused(reason), null);
    upstream.restsUntil = Math.max(upstream.restsUntil, Date.now() + longRest.firstMs);
  }

  #isAway(): boolean {
    return this.#awaySince !== null && Date.now() - this.#awaySince > awayAfterMs;
  }

  /** How many endpoints are configured. */
  get size(): number {
    return this.#upstreams.length;
  }

  /**
   * The same question to one endpoint after the other, best first; those that give no usable answer are left out.
   *
   * @param others whether the best one, which is asked for everything else, comes last.
   */
  async *each(
    method: string,
    params: unknown,
    { check, signal }: Asking,
    others = false,
  ): AsyncGenerator<{ host: string; result: unknown }> {
    const [best, ...rest] = this.#inOrder();
    for (const upstream of best ? (others ? [...rest, best] : [best, ...rest]) : []) {
      const answer = await this.#ask(upstream, method, params, { check, signal }).catch((error: unknown) => {
        signal?.throwIfAborted();
        // A sample takes nothing from what Ponder asks.
        if (!others) this.#failed(upstream, error, null);
        return null;
      });
      if (answer && !answer.error) yield { host: upstream.host, result: answer.result };
    }
  }

  /**
   * The same question to an endpoint that is not the given one.
   *
   * @returns null where no other one can say: there is none, its answers have limits, or it has been away for half a minute.
   * @throws UnusableAnswer while one may soon.
   */
  async another(method: string, params: unknown, endpoint: number, { check, signal }: Asking): Promise<unknown> {
    const range = rangeOf(params);
    let last: unknown = null;
    for (let round = 0; round < checkedRounds; round++) {
      if (round > 0) await wait(pauseMs * round, undefined, { signal });
      last = null;
      for (const upstream of this.#inOrder(range)) {
        if (upstream === this.#upstreams[endpoint] || isAway(upstream)) continue;
        if (range && !upstream.width.takes(range.to - range.from + 1n)) continue;
        try {
          const { error, result } = await this.#ask(upstream, method, params, { check, signal });
          if (!error) return result;
        } catch (error) {
          signal?.throwIfAborted();
          this.#failed(upstream, error, range);
          const isOfTheQuestion = error instanceof NodeRefusal && ofTheQuestion.includes(error.kind);
          if (!isOfTheQuestion && !isAway(upstream)) last = error;
        }
      }
      if (!last) return null;
    }
    throw last;
  }

  /** The same question to every node; those that give no usable answer are left out. */
  async requestAll(method: string, params: unknown): Promise<RpcAnswer[]> {
    const answers = await Promise.allSettled(this.#upstreams.map((one) => this.#ask(one, method, params, {})));
    return answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  }

  #send(upstream: Upstream, method: string, params: unknown, signal?: AbortSignal): Promise<RpcAnswer> {
    return upstream.limit(() => sendRpc(upstream.url, method, params, this.#limits, signal), signal);
  }

  async #ask(upstream: Upstream, method: string, params: unknown, { check, signal }: Asking): Promise<RpcAnswer> {
    if (!upstream.verified) await this.#verify(upstream);
    const range = method === "eth_getLogs" ? rangeOf(params) : null;
    const last = range?.to ?? null;
    if (last !== null && last > upstream.head) await this.#requireHead(upstream, last, signal);
    const answer = await this.#send(upstream, method, params, signal);
    // Another backend of the same address may have answered than the one that told its head.
    if (last !== null && last > upstream.head - farBehind && !answer.error)
      await this.#requireHead(upstream, last, signal).catch((error: unknown) => {
        const isBehind = error instanceof NodeRefusal && error.kind === "not_there_yet";
        if (signal?.aborted || isBehind || error instanceof WrongChain) throw error;
        // Another endpoint gives them as well, and nothing says that the range was too wide.
        if (this.#upstreams.length > 1) throw new Refused("no word on its newest block");
      });
    // Logs name their blocks, which Ponder asks for. A list without any names nothing: another chain gives it as well.
    if (range && Array.isArray(answer.result) && answer.result.length === 0) await this.#verifyAgain(upstream);
    if (check && !answer.error) runCheck(check, answer.result, this.#upstreams.indexOf(upstream));
    if (this.#isAway()) this.#log.info({ host: upstream.host }, "RPC endpoint answers again");
    this.#awaySince = null;
    upstream.failures = 0;
    if (range && !answer.error) upstream.width.answered(range);
    return answer;
  }

  /**
   * A node that has not the last block of a range answers for the blocks that it has, and says nothing of it.
   *
   * @throws NodeRefusal while it is behind.
   */
  async #requireHead(upstream: Upstream, last: bigint, signal: AbortSignal | undefined): Promise<void> {
    const { result } = await this.#send(upstream, "eth_blockNumber", [], signal);
    const head = quantityOf(result);
    if (head === null) throw new Refused("no block number");
    // Kept for later ranges, so it must not be another chain's.
    if (head > upstream.head + farBehind) await this.#verifyAgain(upstream);
    upstream.head = head;
    if (last <= upstream.head) return;
    const message = `its newest block is ${upstream.head}, and the range ends at ${last}`;
    throw new NodeRefusal("eth_getLogs", "not_there_yet", { code: -32000, message });
  }

  /**
   * The configured order, those that failed lately at the end, of these the shortest rest first. Of a range those come first that give
   * logs of so many blocks.
   */
  #inOrder(range: BlockRange | null = null): Upstream[] {
    const now = Date.now();
    const wide = (one: Upstream) => range === null || one.width.takes(range.to - range.from + 1n);
    const rests = (one: Upstream) => Math.max(0, one.restsUntil - now);
    const rank = (one: Upstream) => (rests(one) > 0 ? 1 : 0) + (wide(one) ? 0 : 2);
    return this.#usable().sort((a, b) => rank(a) - rank(b) || rests(a) - rests(b));
  }

  #usable(): Upstream[] {
    const trusted = this.#upstreams.filter((upstream) => !upstream.contradicts);
    return trusted.length > 0 ? trusted : [...this.#upstreams];
  }

  // Repeated after each failure: a load balancer or a restarted node may come back as another chain.
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

  /** Begins after it was called for, and once for all who call while the one before is under way. */
  #verifyAgain(upstream: Upstream): Promise<void> {
    upstream.nextCheck ??= upstream.lastCheck.then(() => {
      upstream.nextCheck = null;
      const check = this.#verify(upstream);
      upstream.lastCheck = check.catch(() => undefined);
      return check;
    });
    return upstream.nextCheck;
  }

  /** Takes note of an answer that could not be used. */
  #failed(upstream: Upstream, error: unknown, range: BlockRange | null): void {
    const refusal = error instanceof NodeRefusal ? error : null;
    // No fault: single receipts do as well.
    const isMissed = refusal?.kind !== "unsupported" || refusal.method !== "eth_getBlockReceipts";
    if (isMissed) upstream.faults.record(error);
    if (range && (refusal?.kind === "too_wide" || refusal?.kind === "too_slow"))
      upstream.width.refused(range, refusal.error.message);
    if (!refusal || !ofTheQuestion.includes(refusal.kind)) this.#rest(upstream, error);
  }

  #rest(upstream: Upstream, error: unknown): void {
    upstream.verified = false;
    // It may come back with less than it had.
    upstream.head = -1n;
    if (upstream.failures === 0) upstream.failsSince = Date.now();
    upstream.failures += 1;
    const isForLong = error instanceof NodeRefusal && (error.kind === "quota_ended" || error.kind === "key_refused");
    const pause =
      error instanceof Contradiction ? distrustMs : backoffMs(upstream.failures, isForLong ? longRest : rest);
    upstream.restsUntil = Math.max(upstream.restsUntil, Date.now() + pause);
    const reason = error instanceof Error ? error.message : String(error);
    // A node's own words have numbers in them.
    const counted = error instanceof NodeRefusal ? reason.split(": ", 2).join(": ") : reason;
    this.refusals.set(counted, (this.refusals.get(counted) ?? 0) + 1);
    if (this.refusals.size > 1_000) this.refusals.clear();
    const level = error instanceof WrongChain ? "error" : "warn";
    // By its kind: a cause that names the question would be another for each.
    const cause = `${upstream.host} ${error instanceof Error ? error.name : ""} ${reason.replace(/\b(?:eth|net)_\w+/, "")}`;
    this.#logOnce.write(level, cause, { host: upstream.host, reason }, "RPC endpoint skipped");
  }
}

export const isBlock = (method: string) => method === "eth_getBlockByHash" || method === "eth_getBlockByNumber";

const lasts = (one: NodeRefusal | null) => one !== null && askAgainNoMore.includes(one.kind);

/**
 * The answer where no node has one: a smaller question is better than none, whatever else went wrong; otherwise what all of
 * them say, unless one gave nothing at all.
 */
function errorOf(refused: readonly (NodeRefusal | null)[]): RpcAnswer | null {
  const known = refused.filter((one) => one !== null);
  const narrow = known.find(({ kind }) => kind === "too_wide");
  if (narrow) return { error: { code: tooWideCode, message: narrow.error.message } };
  const [first] = known;
  // Ponder gives up at most errors, and repeats what is no answer.
  if (!first || !refused.every(lasts)) return null;
  const code = known.every(({ kind }) => kind === "unsupported") ? unsupportedCode : first.error.code;
  return { error: { code, message: [...new Set(known.map(({ error }) => error.message))].join("; ") } };
}

/** Of EIP-1474: the method does not exist. */
export const unsupportedCode = -32601;

function runCheck(check: Check, result: unknown, endpoint: number): void {
  try {
    check(result, endpoint);
  } catch (error) {
    if (error instanceof UnusableAnswer) throw error;
    throw new Refused(`not a usable answer: ${String(error).slice(0, 200)}`);
  }
}
