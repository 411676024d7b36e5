import { setTimeout as wait } from "node:timers/promises";
import type { AnswerClass } from "../rpc/answers.ts";
import { type Asking, EndpointList, ofTheQuestion } from "./endpoint-list.ts";
import { Absent, AnswerTooLarge, NodeRefusal, type RpcAnswer, UnusableAnswer } from "./json-rpc.ts";
import { orAbandoned } from "./shared-work.ts";
import { type BlockRange, isAway, rangeOf, smallerRange, tooWideCode, type Upstream } from "./upstream.ts";

const askAgainNoMore: readonly AnswerClass[] = ["too_wide", "pruned", "unsupported"];
/** How often all nodes are asked when an answer is checked: a wrong one is often right the next time. */
const checkedRounds = 4;
const pauseMs = 25;
/** While no node gives a usable answer, before each request: Ponder repeats at once. */
const awayPauseMs = 500;

/** The nodes of one chain, best first; a request goes to the first that gives a usable answer. */
export class RpcUpstreams extends EndpointList {
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
    const smaller = range && smallerRange(this.usable(), range);
    if (smaller) return smaller;
    if (this.allAreAway()) await wait(awayPauseMs, undefined, { signal });
    for (let round = 0; round < (check ? checkedRounds : 1); round++) {
      if (round > 0) await wait(pauseMs * round, undefined, { signal });
      for (const upstream of this.inOrder(range)) {
        try {
          return await this.ask(upstream, method, params, { check, signal });
        } catch (error) {
          // The end of the question says nothing of the node.
          signal?.throwIfAborted();
          if (error instanceof AnswerTooLarge) throw error;
          const refusal = error instanceof NodeRefusal ? error : null;
          refused.set(upstream, refusal);
          if (error instanceof Absent || (isBlock(method) && refusal?.kind === "not_there_yet")) upstream.failures = 0;
          else {
            absent = false;
            this.failed(upstream, error, range);
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
    const narrow = words.some((one) => one?.kind === "too_wide") && range && smallerRange(this.usable(), range);
    if (narrow) return narrow;
    const answer = errorOf(words);
    if (answer) return answer;
    this.awaySince ??= Date.now();
    throw last;
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
    const [best, ...rest] = this.inOrder();
    for (const upstream of best ? (others ? [...rest, best] : [best, ...rest]) : []) {
      const answer = await this.ask(upstream, method, params, { check, signal }).catch((error: unknown) => {
        signal?.throwIfAborted();
        // A sample takes nothing from what Ponder asks.
        if (!others) this.failed(upstream, error, null);
        return null;
      });
      if (answer && !answer.error) yield { host: upstream.host, result: answer.result };
    }
  }

  /**
   * The logs of a range by an endpoint that is not the given one.
   *
   * @param deadline after which it is too late for an answer.
   * @returns null where no other one can say: there is none, its answers have limits, or it has been away for half a minute.
   * @throws UnusableAnswer while one may soon; of a smaller range, where it took too long or was too large.
   */
  async rangeByAnother(
    params: unknown,
    range: BlockRange,
    endpoint: number,
    { check, signal, deadline }: Asking & { deadline: AbortSignal },
  ): Promise<unknown> {
    const either = signal ? AbortSignal.any([signal, deadline]) : deadline;
    const tooLate = new NodeRefusal("eth_getLogs", "too_slow", { code: 0, message: "no answer in time" });
    const askedEnough = new Set<Upstream>();
    let last: unknown = null;
    for (let round = 0; round < checkedRounds; round++) {
      if (round > 0) await wait(pauseMs * round, undefined, { signal });
      for (const upstream of this.inOrder(range)) {
        if (upstream === this.upstreams[endpoint] || isAway(upstream) || askedEnough.has(upstream)) continue;
        if (!upstream.width.takes(range.to - range.from + 1n)) continue;
        // The time went elsewhere: that is no fault of this one.
        if (deadline.aborted) throw tooLate;
        try {
          const asked = this.ask(upstream, "eth_getLogs", params, { check, signal: either });
          // What it is asked on the way, such as its chain, has a time of its own.
          const { error, result } = await orAbandoned(asked, either);
          if (!error) return result;
        } catch (error) {
          signal?.throwIfAborted();
          if (error instanceof AnswerTooLarge) throw error;
          const fault = deadline.aborted ? tooLate : error;
          this.failed(upstream, fault, range);
          const kind = fault instanceof NodeRefusal ? fault.kind : null;
          if (isAway(upstream) || (kind && ofTheQuestion.includes(kind))) continue;
          if (kind === "too_slow") throw fault;
          if (kind === "rate_limited" || kind === "quota_ended" || kind === "key_refused") askedEnough.add(upstream);
          last = fault;
        }
      }
      if (!last) return null;
    }
    throw last;
  }

  /** The same question to every node; those that give no usable answer are left out. */
  async requestAll(method: string, params: unknown): Promise<RpcAnswer[]> {
    const answers = await Promise.allSettled(this.upstreams.map((one) => this.ask(one, method, params, {})));
    return answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
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
