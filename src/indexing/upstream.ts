import { type AnswerClass, nodeWords } from "../rpc/answers.ts";
import { quantityOf } from "./header.ts";
import { Contradiction, LeftChain, NodeRefusal, Refused, type RpcAnswer, WrongChain } from "./json-rpc.ts";
import { rateLimit } from "./line.ts";

/** One endpoint of a chain, and what is known of it since the start. */
export type Upstream = ReturnType<typeof openUpstream>;

export function openUpstream(url: string, requestsPerSecond: number) {
  return {
    url,
    host: new URL(url).host,
    /** Its chain id was checked since it last failed. */
    verified: false,
    failures: 0,
    /** Since when it has answered no range, though it was asked (ms), and when it failed to last; null while it answers. */
    noRanges: null as { since: number; last: number } | null,
    /** It contradicted itself: not a witness before this time (ms). */
    distrustedUntil: 0,
    /** Keeps to the requests per second that this node allows. */
    limit: rateLimit(requestsPerSecond),
    /** Not asked before this time (ms), unless all others fail too. */
    restsUntil: 0,
    /** The last audit found that it serves something else; not asked as long as another endpoint does not. */
    contradicts: false,
    /** The newest block that it said it has. */
    head: -1n,
    /** Of its chain, after an answer that only that check can prove: the one that has begun, and the one that will. */
    lastCheck: Promise.resolve(),
    nextCheck: null as Promise<void> | null,
    width: new LogWidth(),
    faults: new EndpointFaults(),
  };
}

/** After so long without the logs of a range others do not wait for this endpoint's word. */
const awayAfterMs = 30_000;

/** Takes note that it gave no logs of a range. Whether it still cannot is not known of one that was not asked for a minute. */
export function noteNoRange(upstream: Upstream): void {
  const now = Date.now();
  const known =
    upstream.noRanges && now - upstream.noRanges.last < 2 * awayAfterMs ? upstream.noRanges : { since: now };
  upstream.noRanges = { since: known.since, last: now };
}

/** Whether its word on a range is not to be had for now. */
export function isAway({ noRanges, restsUntil, distrustedUntil }: Upstream): boolean {
  const now = Date.now();
  return distrustedUntil > now || (noRanges !== null && now - noRanges.since > awayAfterMs && restsUntil > now);
}

/** What an endpoint can do, and what went wrong with it. */
export interface EndpointHealth {
  host: string;
  /** `rests`: it failed and is asked last; `contradicts`: it serves another chain or history, and is asked only if all do. */
  state: "used" | "rests" | "contradicts";
  /** Of how many blocks it gives logs at a time; null: of as many as were asked for. */
  blocksOfLogs: number | null;
  fault: EndpointFaults["last"];
  /** How many of each class. */
  faults: ReadonlyMap<FaultClass, number>;
}

export function healthOf({ host, contradicts, restsUntil, width, faults }: Upstream): EndpointHealth {
  return {
    host,
    state: contradicts ? "contradicts" : restsUntil > Date.now() ? "rests" : "used",
    blocksOfLogs: width.most === null ? null : Number(width.most),
    fault: faults.last,
    faults: faults.counts,
  };
}

/** What was wrong with an answer. `unbelieved`: it cannot be true. `unreachable`: none came, or it was not JSON-RPC. */
type FaultClass = AnswerClass | "unbelieved" | "wrong_chain" | "unreachable";

/** What went wrong with one endpoint since the start. */
class EndpointFaults {
  readonly counts = new Map<FaultClass, number>();
  /** When (ms), and in a line that anybody may read: without addresses and keys. */
  last: { class: FaultClass; at: number; words: string } | null = null;

  record(error: unknown): void {
    const kind = faultOf(error);
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
    const words = error instanceof NodeRefusal ? error.error.message : error instanceof Error ? error.message : error;
    this.last = { class: kind, at: Date.now(), words: publicWords(String(words)) };
  }
}

function faultOf(error: unknown): FaultClass {
  if (error instanceof NodeRefusal) return error.kind;
  if (error instanceof WrongChain) return "wrong_chain";
  return error instanceof Refused || error instanceof Contradiction || error instanceof LeftChain
    ? "unbelieved"
    : "unreachable";
}

/** `/status` is for anybody: neither hosts nor what may be a key. */
function publicWords(text: string): string {
  return nodeWords(text)
    .replaceAll(/\b(ENOTFOUND|EAI_AGAIN) \S+/g, "$1 <host>")
    .replaceAll(/\[[0-9a-f:]{3,}\]|\b[\w-]+(\.[\w-]+)+(:\d+)?\b|\blocalhost(:\d+)?\b/gi, (word) =>
      /^\d+(\.\d+)?$/.test(word) ? word : "<host>",
    )
    .replaceAll(/\b(?!0x)(?=[\w-]*\d)[\w-]{16,}\b/g, "<key>");
}

/** After so many answers of full width the next one may be twice as wide. */
const firstPatience = 32;
const mostPatience = 1_024;

/**
 * How many blocks of logs one endpoint gives at a time, as its refusals have shown. It grows again, slowly: a limit can be of a
 * stretch of the chain that is full of logs, and ends with it.
 */
class LogWidth {
  /** Null: as many as are asked for. */
  most: bigint | null = null;
  /** Whether the endpoint named the width itself; otherwise it follows from what was refused, and may pass with its cause. */
  isNamed = false;
  #answers = 0;
  #patience = firstPatience;
  #hasGrown = false;

  takes(width: bigint): boolean {
    return this.most === null || width <= this.most;
  }

  /** @param words of the node, which may name its limit. */
  refused({ from, to }: BlockRange, words: string): void {
    const width = to - from + 1n;
    // A growth that is refused was no end of a full stretch: the next one waits for longer.
    if (this.#hasGrown) this.#patience = Math.min(2 * this.#patience, mostPatience);
    const half = width > 1n ? width / 2n : 1n;
    const named = widthIn(words, { from, to });
    this.isNamed = named !== null;
    this.most = named ?? half;
    this.#answers = 0;
    this.#hasGrown = false;
  }

  answered({ from, to }: BlockRange): void {
    const width = to - from + 1n;
    if (this.most === null || 2n * width < this.most) return;
    this.#answers += 1;
    if (this.#answers < this.#patience) return;
    this.most *= 2n;
    this.#answers = 0;
    this.#hasGrown = true;
  }
}

export interface BlockRange {
  from: bigint;
  to: bigint;
}

/** The blocks that logs are asked of; null for those of one block by its hash, and where a tag stands for a number. */
export function rangeOf(params: unknown): BlockRange | null {
  const [filter] = Array.isArray(params) ? (params as { fromBlock?: unknown; toBlock?: unknown }[]) : [];
  const [from, to] = [quantityOf(filter?.fromBlock), quantityOf(filter?.toBlock)];
  return from !== null && to !== null && to >= from ? { from, to } : null;
}

/**
 * The width that a node's words allow; null unless they name one number that can be it. Words about results, logs or bytes limit something
 * else.
 */
export function widthIn(words: string, { from, to }: BlockRange): bigint | null {
  const asked = to - from + 1n;
  const works = /\[(0x[0-9a-f]+),\s*(0x[0-9a-f]+)\]/i.exec(words);
  if (works?.[1] && works[2]) {
    const width = BigInt(works[2]) - BigInt(works[1]) + 1n;
    return BigInt(works[1]) === from && width > 0n && width < asked ? width : null;
  }
  const text = words.replaceAll(/eth_getLogs|0x[0-9a-f]+/gi, "");
  if (!/\b(blocks?|ranges?|limited)\b/i.test(text) || /\b(results?|logs|entries|items|bytes|size|[kmg]b)\b/i.test(text))
    return null;
  const named = [...text.matchAll(/(?<![-\w.])(\d{1,3}(?:[,_]\d{3})+|\d+)(k?)\b(?![-.]\d)/gi)].map(
    ([, digits = "", k]) => BigInt(digits.replaceAll(/[,_]/g, "")) * (k ? 1_000n : 1n),
  );
  // A node repeats what it was asked.
  const spoken = new Set([from, to, asked, asked - 1n]);
  const limits = new Set(named.filter((one) => !spoken.has(one)));
  const [limit] = limits;
  return limits.size === 1 && limit !== undefined && limit > 0n && limit < asked ? limit : null;
}

/** Of answers that are too large, in the words of a provider that Ponder understands. */
export const tooWideCode = -32005;
/** Ponder asks for half then, and for more again with each answer; a range that is named it keeps until it is started anew. */
export const halfWords = "query exceeds max results";

/**
 * The advice to ask for less, where no endpoint that may be asked now gives logs of so many blocks; no request is spent on finding
 * that out again.
 */
export function smallerRange(
  endpoints: readonly { width: LogWidth; restsUntil: number }[],
  { from, to }: BlockRange,
): RpcAnswer | null {
  const width = to - from + 1n;
  const awake = endpoints.filter(({ restsUntil }) => restsUntil <= Date.now());
  const asked = awake.length > 0 ? awake : endpoints;
  if (asked.some((one) => one.width.takes(width))) return null;
  // More than a range that is named Ponder never asks for again. One that could take all is back soon.
  if (endpoints.some((one) => one.width.takes(width))) return { error: { code: tooWideCode, message: halfWords } };
  const [widest] = asked.toSorted((a, b) => Number((b.width.most ?? 0n) - (a.width.most ?? 0n)));
  if (!widest?.width.isNamed) return { error: { code: tooWideCode, message: halfWords } };
  const most = widest.width.most ?? 1n;
  // Ponder takes the difference for the number of blocks, and one as large as what it asked for is no advice.
  const last = from + (most < width - 2n ? most : width - 2n);
  const message = `response size exceeded; this block range should work: [0x${from.toString(16)}, 0x${last.toString(16)}]`;
  return { error: { code: tooWideCode, message } };
}
