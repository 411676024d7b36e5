import { setTimeout as wait } from "node:timers/promises";
import type { AnswerClass } from "../rpc/answers.ts";
import { type Asking, EndpointList, ofTheQuestion } from "./endpoint-list.ts";
import { Absent, AnswerTooLarge, NodeRefusal, type RpcAnswer, UnusableAnswer } from "./json-rpc.ts";
import { orAbandoned } from "./shared-work.ts";
import { type BlockRange, isAway, rangeOf, smallerRange, tooWideCode, type Upstream } from "./upstream.ts";

const askAgainNoMore: readonly AnswerClass[] = ["too_wide", "pruned", "unsupported"];
/** How many times all nodes are asked when answers are checked: a wrong answer is often right the next time. */
const checkedRounds = 4;
const pauseMs = 25;
/** Pause before each request while no node gives a usable answer: Ponder repeats failed requests at once. */
const awayPauseMs = 500;

/** The nodes of one chain, best first. A request goes down the list until a node gives a usable answer. */
export class RpcUpstreams extends EndpointList {
  /**
   * @returns a null result when every node answers that there is nothing; an error when every node refuses for good,
   *   with the messages of all, or when one needs a narrower range.
   * @throws UnusableAnswer when no node gave a usable answer, for logs also when the first one took too long; the
   *   signal's reason when it aborts.
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
          // A cancelled request says nothing about the node.
          signal?.throwIfAborted();
          if (error instanceof AnswerTooLarge) throw error;
          const refusal = error instanceof NodeRefusal ? error : null;
          refused.set(upstream, refusal);
          if (error instanceof Absent || (isBlock(method) && refusal?.kind === "not_there_yet")) upstream.failures = 0;
          else {
            absent = false;
            this.failed(upstream, error, range);
          }
          // Ponder would not wait for a second endpoint. It asks for a narrower range, which goes to the next one.
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
   * Asks one endpoint after the other, best first. Endpoints that give no usable answer are skipped.
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
        // A failed sample must not affect the endpoints that Ponder's requests go to.
        if (!others) this.failed(upstream, error, null);
        return null;
      });
      if (answer && !answer.error) yield { host: upstream.host, result: answer.result };
    }
  }

  /**
   * Reads the logs of a range from an endpoint other than the given one.
   *
   * @param deadline aborts when it is too late for an answer.
   * @returns null where no other can answer: there is none, the range is too wide, or it has been away half a minute.
   * @throws UnusableAnswer while one may answer soon, or an error that asks for a narrower range.
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
        // The time went elsewhere, so it is no fault of this endpoint.
        if (deadline.aborted) throw tooLate;
        try {
          const asked = this.ask(upstream, "eth_getLogs", params, { check, signal: either });
          // Requests that precede this one, such as for its chain id, have a timeout of their own.
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

  /** Asks every node. Nodes that give no usable answer are left out. */
  async requestAll(method: string, params: unknown): Promise<RpcAnswer[]> {
    const answers = await Promise.allSettled(this.upstreams.map((one) => this.ask(one, method, params, {})));
    return answers.flatMap((answer) => (answer.status === "fulfilled" ? [answer.value] : []));
  }
}

export const isBlock = (method: string) => method === "eth_getBlockByHash" || method === "eth_getBlockByNumber";

const lasts = (one: NodeRefusal | null) => one !== null && askAgainNoMore.includes(one.kind);

/**
 * The answer where no node has a result. A request for a narrower range comes first, whatever else went wrong.
 * Otherwise it is an error with the messages of all nodes, unless one gave no lasting error.
 */
function errorOf(refused: readonly (NodeRefusal | null)[]): RpcAnswer | null {
  const known = refused.filter((one) => one !== null);
  const narrow = known.find(({ kind }) => kind === "too_wide");
  if (narrow) return { error: { code: tooWideCode, message: narrow.error.message } };
  const [first] = known;
  // Ponder gives up at most errors, but repeats a request without an answer.
  if (!first || !refused.every(lasts)) return null;
  const code = known.every(({ kind }) => kind === "unsupported") ? unsupportedCode : first.error.code;
  return { error: { code, message: [...new Set(known.map(({ error }) => error.message))].join("; ") } };
}

/** EIP-1474: method not supported. */
export const unsupportedCode = -32601;
