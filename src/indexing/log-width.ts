import type { RpcAnswer } from "./json-rpc.ts";

/** After so many answers of full width the next one may be twice as wide. */
const firstPatience = 32;
const mostPatience = 1_024;

/**
 * How many blocks of logs one endpoint gives at a time, as its refusals have shown. It grows again, slowly: a limit can be of a
 * stretch of the chain that is full of logs, and ends with it.
 */
export class LogWidth {
  #most: bigint | null = null;
  #answers = 0;
  #patience = firstPatience;
  #hasGrown = false;
  #isNamed = false;

  /** Whether the endpoint named the width itself; otherwise it follows from what was refused, and may pass with its cause. */
  get isNamed(): boolean {
    return this.#isNamed;
  }

  /** Null: as many as are asked for. */
  get most(): bigint | null {
    return this.#most;
  }

  takes(width: bigint): boolean {
    return this.#most === null || width <= this.#most;
  }

  /** @param words of the node, which may name its limit. */
  refused({ from, to }: BlockRange, words: string): void {
    const width = to - from + 1n;
    // A growth that is refused was no end of a full stretch: the next one waits for longer.
    if (this.#hasGrown) this.#patience = Math.min(2 * this.#patience, mostPatience);
    const half = width > 1n ? width / 2n : 1n;
    const named = widthIn(words, { from, to });
    this.#isNamed = named !== null;
    this.#most = named ?? half;
    this.#answers = 0;
    this.#hasGrown = false;
  }

  answered({ from, to }: BlockRange): void {
    const width = to - from + 1n;
    if (this.#most === null || 2n * width < this.#most) return;
    this.#answers += 1;
    if (this.#answers < this.#patience) return;
    this.#most *= 2n;
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
  const isNumber = (value: unknown): value is string => typeof value === "string" && /^0x[0-9a-f]+$/i.test(value);
  const { fromBlock, toBlock } = filter ?? {};
  if (!isNumber(fromBlock) || !isNumber(toBlock)) return null;
  const [from, to] = [BigInt(fromBlock), BigInt(toBlock)];
  return to >= from ? { from, to } : null;
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
