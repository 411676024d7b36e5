import { type AnswerClass, nodeWords } from "../rpc/answers.ts";
import { quantityOf } from "./header.ts";
import { Contradiction, LeftChain, NodeRefusal, Refused, type RpcAnswer, WrongChain } from "./json-rpc.ts";
import { rateLimit } from "./line.ts";

/** One endpoint of a chain, and its state since the start. */
export type Upstream = ReturnType<typeof openUpstream>;

export function openUpstream(url: string, requestsPerSecond: number) {
  return {
    url,
    host: new URL(url).host,
    /** Whether its chain id was checked since its last failure. */
    verified: false,
    failures: 0,
    /** Since when it has answered no request for a range (ms), and when the last one failed; null while it answers. */
    noRanges: null as { since: number; last: number } | null,
    /** It contradicted itself: it is not asked to confirm an answer before this time (ms). */
    distrustedUntil: 0,
    /** Keeps to the requests per second that this node allows. */
    limit: rateLimit(requestsPerSecond),
    /** Not asked before this time (ms), unless all others fail too. */
    restsUntil: 0,
    /** At the last audit it served something else. It is not asked as long as another endpoint passes the audit. */
    contradicts: false,
    /** Number of the newest block that it reported. */
    head: -1n,
    /** Checks of its chain, after an answer that proves nothing by itself: `lastCheck` began, `nextCheck` will. */
    lastCheck: Promise.resolve(),
    nextCheck: null as Promise<void> | null,
    width: new LogWidth(),
    faults: new EndpointFaults(),
  };
}

/** After this time without the logs of any range, other endpoints' answers are not confirmed by this one. */
const awayAfterMs = 30_000;

/** Records that it gave no logs of a range. An earlier failure does not count if it was not asked for a minute. */
export function noteNoRange(upstream: Upstream): void {
  const now = Date.now();
  const known =
    upstream.noRanges && now - upstream.noRanges.last < 2 * awayAfterMs ? upstream.noRanges : { since: now };
  upstream.noRanges = { since: known.since, last: now };
}

/** Whether it cannot be asked to confirm a range for now. */
export function isAway({ noRanges, restsUntil, distrustedUntil }: Upstream): boolean {
  const now = Date.now();
  return distrustedUntil > now || (noRanges !== null && now - noRanges.since > awayAfterMs && restsUntil > now);
}

/** What an endpoint can do, and which faults it had. */
export interface EndpointHealth {
  host: string;
  /** `rests`: it failed and is asked last; `contradicts`: it serves another chain or history, and is asked only if all do. */
  state: "used" | "rests" | "contradicts";
  /** Number of blocks per request for logs; null: no limit is known. */
  blocksOfLogs: number | null;
  fault: EndpointFaults["last"];
  /** Number of faults of each class. */
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

/** Faults of one endpoint since the start. */
class EndpointFaults {
  readonly counts = new Map<FaultClass, number>();
  /** Time (ms) and text of the last one. The text is public: it has no addresses and no keys. */
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

/** `/status` is public: removes hosts, and everything that may be a key. */
function publicWords(text: string): string {
  return nodeWords(text)
    .replaceAll(/\b(ENOTFOUND|EAI_AGAIN) \S+/g, "$1 <host>")
    .replaceAll(/\[[0-9a-f:]{3,}\]|\b[\w-]+(\.[\w-]+)+(:\d+)?\b|\blocalhost(:\d+)?\b/gi, (word) =>
      /^\d+(\.\d+)?$/.test(word) ? word : "<host>",
    )
    .replaceAll(/\b(?!0x)(?=[\w-]*\d)[\w-]{16,}\b/g, "<key>");
}

/** After this many answers of full width the next request may be twice as wide. */
const firstPatience = 32;
const mostPatience = 1_024;

/**
 * How many blocks of logs one endpoint gives per request, as its refusals have shown. The width grows again, slowly: a
 * limit may only apply to a stretch of the chain that is full of logs.
 */
class LogWidth {
  /** Null: no limit is known. */
  most: bigint | null = null;
  /** Whether the endpoint stated the width itself. If not, a refused request suggested it, and its cause may pass. */
  isNamed = false;
  #answers = 0;
  #patience = firstPatience;
  #hasGrown = false;

  takes(width: bigint): boolean {
    return this.most === null || width <= this.most;
  }

  /** @param words the node's message, which may state its limit. */
  refused({ from, to }: BlockRange, words: string): void {
    const width = to - from + 1n;
    // The wider request was refused, so the limit still applies: the next attempt waits longer.
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

/** The range of blocks in a request for logs; null for one block by its hash, and where a tag stands for a number. */
export function rangeOf(params: unknown): BlockRange | null {
  const [filter] = Array.isArray(params) ? (params as { fromBlock?: unknown; toBlock?: unknown }[]) : [];
  const [from, to] = [quantityOf(filter?.fromBlock), quantityOf(filter?.toBlock)];
  return from !== null && to !== null && to >= from ? { from, to } : null;
}

/**
 * The width that a node's message allows; null unless it contains exactly one number that can be a width. Messages
 * about results, logs or bytes limit something else.
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
  // Nodes repeat the numbers of the request.
  const spoken = new Set([from, to, asked, asked - 1n]);
  const limits = new Set(named.filter((one) => !spoken.has(one)));
  const [limit] = limits;
  return limits.size === 1 && limit !== undefined && limit > 0n && limit < asked ? limit : null;
}

/** The code of a provider for answers that are too large, with which Ponder asks for a narrower range. */
export const tooWideCode = -32005;
/** Makes Ponder halve the range, then widen it with each answer; a suggested range would be kept until its restart. */
export const halfWords = "query exceeds max results";

/**
 * The error that asks Ponder for a narrower range, where no endpoint that may be asked now gives logs of so many
 * blocks. It saves the requests that would only fail again.
 */
export function smallerRange(
  endpoints: readonly { width: LogWidth; restsUntil: number }[],
  { from, to }: BlockRange,
): RpcAnswer | null {
  const width = to - from + 1n;
  const awake = endpoints.filter(({ restsUntil }) => restsUntil <= Date.now());
  const asked = awake.length > 0 ? awake : endpoints;
  if (asked.some((one) => one.width.takes(width))) return null;
  // Ponder would never ask for more than a suggested range again, although an endpoint without that limit is back soon.
  if (endpoints.some((one) => one.width.takes(width))) return { error: { code: tooWideCode, message: halfWords } };
  const [widest] = asked.toSorted((a, b) => Number((b.width.most ?? 0n) - (a.width.most ?? 0n)));
  if (!widest?.width.isNamed) return { error: { code: tooWideCode, message: halfWords } };
  const most = widest.width.most ?? 1n;
  // Ponder takes the difference for the number of blocks, and does not accept a suggestion as wide as its request.
  const last = from + (most < width - 2n ? most : width - 2n);
  const message = `response size exceeded; this block range should work: [0x${from.toString(16)}, 0x${last.toString(16)}]`;
  return { error: { code: tooWideCode, message } };
}
