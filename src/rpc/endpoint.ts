import { backoffMs } from "../backoff.ts";
import type { Chain } from "../chains.ts";
import { readText } from "../read-at-most.ts";
import { tracedFetch } from "../telemetry/trace-rpc.ts";
import { type AnswerClass, classOf, classOfStatus, errorIn, type NodeError, nodeWords } from "./answers.ts";

/**
 * An endpoint's URL in the form that `fetch` accepts. A user and password in it (RFC 3986) become a header: `fetch`
 * refuses URLs with credentials, which would look as if no node answered.
 */
export function splitCredentials(url: string): { url: string; headers: Record<string, string> } {
  const parsed = new URL(url);
  const { username, password } = parsed;
  if (username === "" && password === "") return { url, headers: {} };
  parsed.username = "";
  parsed.password = "";
  const credentials = Buffer.from(`${decode(username)}:${decode(password)}`).toString("base64");
  return { url: parsed.href, headers: { authorization: `Basic ${credentials}` } };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export interface RpcCall {
  method: string;
  params: readonly unknown[];
  /** Reads the chain id from the result, where it contains one: then no separate call for the chain id is needed. */
  chainIn?: (result: unknown) => number | null;
}

/** The outcome of one call as the node returned it; `data` of an error is that of a revert. */
export type RpcResult = { result: unknown } | { error: NodeError };

/** The node gave no usable answer: unreachable, too slow, truncated, mixed up, from another chain, or it refused us. */
export class NodeFault extends Error {
  override readonly name = "NodeFault";
  readonly kind: AnswerClass;

  constructor(message: string, kind: AnswerClass = "broken") {
    super(message);
    this.kind = kind;
  }
}

/** The node answered, but has not reached the requested state: another one may have. */
export class LaggingNode extends NodeFault {}

/** Errors about the node itself. A rate limit may hit some calls of a batch; quota and key errors count only in all. */
const ofTheNode: readonly AnswerClass[] = ["rate_limited", "quota_ended", "key_refused"];
const timeoutMs = 10_000;
const maxAnswerBytes = 32 * 1024 * 1024;
/** Batch sizes, with the chain id call, for an endpoint that refuses more; below the last, each call is sent alone. */
const listSizes = [100, 50, 20, 10, 5, 3, 2];
/** Concurrent requests to an endpoint that takes only small batches. */
const atOnce = 4;
/**
 * How long an endpoint gets no larger batch than it accepted: longer each time, until it accepts one. Short at first: a
 * garbled answer means little, and with calls sent alone, a round over many requests fails with the first that fails.
 */
const lowered = { firstMs: 10_000, mostMs: 600_000 };

/** The endpoint answered, but not in the form of a batch: it may accept smaller ones, or none. */
class ListRefused extends NodeFault {}

/** One http(s) endpoint of a chain. */
interface Endpoint {
  /**
   * Sends several calls in one request, with a call for the chain id: an answer without the right id in the same
   * response may be about another chain, and is rejected. For an endpoint that accepts no batches, or only small ones,
   * the calls are split over as many requests as needed; each batch includes the id, and for calls sent alone it is
   * requested in parallel. Calls whose own results contain the id (`chainIn`) need no such call.
   *
   * @returns one result per call, in the order of the calls.
   * @throws NodeFault; its text never contains the URL, which may hold a key.
   */
  ask(calls: readonly RpcCall[]): Promise<RpcResult[]>;
  /** Largest number of calls per request, as learned so far; 1: it accepts no batches. */
  readonly mostCalls: number;
}

/** @param address its URL, http(s) only; it may contain a user and a password. */
export function openEndpoint(address: string, chain: Chain): Endpoint {
  const { url, headers } = splitCredentials(address);
  let most = Number.POSITIVE_INFINITY;
  let lowerUntil = 0;
  /** The length that it was found to take last, and how often in a row. */
  let learned = { size: Number.POSITIVE_INFINITY, times: 0 };

  async function ask(calls: readonly RpcCall[]): Promise<RpcResult[]> {
    const results = await askEach(calls);
    // The outcome of each sent transaction is reported as it is.
    const reads = results.filter((_, at) => calls[at]?.method !== "eth_sendRawTransaction");
    const all = reads.every((result) => "error" in result);
    for (const result of reads) refuse(result, all ? ofTheNode : ["rate_limited"]);
    return results;
  }

  async function askEach(calls: readonly RpcCall[]): Promise<RpcResult[]> {
    if (performance.now() >= lowerUntil) most = Number.POSITIVE_INFINITY;
    const named = calls.length < most && calls.every(({ chainIn }) => chainIn) ? await askNamed(calls) : null;
    if (named) return named;
    for (let size = most; ; ) {
      try {
        const results = size === 1 ? await askAlone(calls) : await askInLists(calls, size - 1);
        if (size < most) {
          most = size;
          learned = { size, times: learned.times + 1 };
          lowerUntil = performance.now() + backoffMs(learned.times, lowered);
        } else if (calls.length < size && calls.length >= learned.size)
          learned = { size: Number.POSITIVE_INFINITY, times: 0 };
        return results;
      } catch (error) {
        if (!(error instanceof ListRefused)) throw error;
        // An endpoint that also refuses a single call is broken, and a smaller batch would not help.
        await askAlone([]);
        const refused = Math.min(size, calls.length + 1);
        size = listSizes.find((shorter) => shorter < refused) ?? 1;
      }
    }
  }

  /** Sends calls whose results have the chain id. @returns null if one has not: a refusal may be another chain's. */
  async function askNamed(calls: readonly RpcCall[]): Promise<RpcResult[] | null> {
    const { status, body } = await post(calls.map((call, id) => bare(call, id)));
    try {
      const results = parseList(body, calls.length, status);
      const names = results.map((answer, at) => ("result" in answer ? calls[at]?.chainIn?.(answer.result) : null));
      return names.every((id) => id === chain.id) ? results : null;
    } catch (error) {
      if (error instanceof ListRefused) return null;
      throw error;
    }
  }

  async function askInLists(calls: readonly RpcCall[], each: number): Promise<RpcResult[]> {
    const lists: (readonly RpcCall[])[] = [];
    for (let at = 0; at < calls.length; at += each) lists.push(calls.slice(at, at + each));
    return (await inGroups(lists, askList)).flat();
  }

  async function askList(calls: readonly RpcCall[]): Promise<RpcResult[]> {
    const asked = [chainIdCall, ...calls];
    const { status, body } = await post(asked.map((call, id) => bare(call, id)));
    const [id, ...results] = parseList(body, asked.length, status);
    if (id && "error" in id) throw new ListRefused("an error instead of the chain's id");
    checkChain(id);
    return results;
  }

  /** Sends each call in a request of its own, the chain id first. */
  async function askAlone(calls: readonly RpcCall[]): Promise<RpcResult[]> {
    const [id, ...results] = await inGroups([chainIdCall, ...calls], async (call) => {
      const { status, body } = await post(bare(call, 0));
      return parseAnswer(body, status);
    });
    checkChain(id);
    return results;
  }

  function checkChain(answer: RpcResult | undefined): void {
    refuse(answer, ofTheNode);
    const chainId = answer && "result" in answer ? Number(answer.result) : Number.NaN;
    if (chainId !== chain.id)
      throw new NodeFault(`a node of ${chain.name} answered for chain ${chainId}, not ${chain.id}`);
  }

  /** @returns the answer's JSON; undefined if it is not JSON. */
  async function post(question: unknown): Promise<{ status: number; body: unknown }> {
    try {
      const response = await tracedFetch(url, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(question),
        signal: AbortSignal.timeout(timeoutMs),
        redirect: "error",
      });
      const { status } = response;
      const text = await readText(response, maxAnswerBytes, () => new NodeFault("the answer is too large"));
      // Overload, a broken proxy in front of the node, or a wrong key: another form of the request changes nothing.
      const kind = [401, 402, 403, 407, 408, 429, 502, 503, 504].includes(status) ? classOfStatus(status) : null;
      const body = parseJson(text);
      if (kind) throw refusal(kind, status, body, Array.isArray(question));
      return { status, body };
    } catch (error) {
      if (error instanceof NodeFault) throw error;
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
      throw new NodeFault(`no answer: ${cause}`);
    }
  }

  return {
    ask,
    get mostCalls() {
      return most;
    },
  };
}

/** If the body reports a problem with the plan or the key, its message decides: one HTTP status stands for both. */
function refusal(kind: AnswerClass, status: number, body: unknown, isList: boolean): NodeFault {
  const error = errorIn([body].flat()[0]);
  const said = error && classOf(error, "");
  if (error && said && ofTheNode.includes(said)) return new NodeFault(`${said}: ${nodeWords(error.message)}`, said);
  // Proxies in front of some nodes forbid batches.
  const ofTheForm = isList && (status === 402 || status === 403);
  return ofTheForm ? new ListRefused(`HTTP ${status}`) : new NodeFault(`${kind}: HTTP ${status}`, kind);
}

/** @throws NodeFault for an error of one of these classes. */
function refuse(answer: RpcResult | undefined, classes: readonly AnswerClass[]): void {
  if (!answer || !("error" in answer)) return;
  const kind = classOf(answer.error, "");
  if (!classes.includes(kind)) return;
  throw new NodeFault(`${kind}: ${nodeWords(answer.error.message)}`, kind);
}

const bare = ({ method, params }: RpcCall, id: number) => ({ jsonrpc: "2.0", id, method, params });
const chainIdCall: RpcCall = { method: "eth_chainId", params: [] };

async function inGroups<In, Out>(items: readonly In[], run: (item: In) => Promise<Out>): Promise<Out[]> {
  const done: Out[] = [];
  for (let at = 0; at < items.length; at += atOnce)
    done.push(...(await Promise.all(items.slice(at, at + atOnce).map(run))));
  return done;
}

/** Results by id: nodes may answer in any order, but each call must be answered once. */
function parseList(answers: unknown, count: number, status: number): RpcResult[] {
  if (!Array.isArray(answers))
    throw new ListRefused(isFine(status) ? "the answer to a list of calls is no list" : `HTTP ${status}`);
  const results = new Map<number, RpcResult>();
  for (const item of answers as unknown[]) {
    const id = typeof item === "object" && item !== null && "id" in item ? item.id : undefined;
    if (typeof id !== "number" || id < 0 || id >= count || results.has(id))
      throw new ListRefused("an answer to nothing");
    results.set(id, parseAnswer(item, status));
  }
  if (results.size !== count) throw new ListRefused(`${results.size} answers to ${count} calls`);
  return Array.from({ length: count }, (_, id) => results.get(id) as RpcResult);
}

/** Many nodes send a JSON-RPC error with an HTTP error status. */
function parseAnswer(answer: unknown, status: number): RpcResult {
  if (typeof answer === "object" && answer !== null) {
    const { result, error } = answer as { result?: unknown; error?: unknown };
    if (typeof error === "object" && error !== null) {
      const { code, message, data } = error as { code?: unknown; message?: unknown; data?: unknown };
      return { error: { code: Number(code), message: String(message), data } };
    }
    if (isFine(status) && !Array.isArray(answer)) return { result };
  }
  throw new NodeFault(isFine(status) ? "the answer is not JSON-RPC" : `HTTP ${status}`);
}

function isFine(status: number): boolean {
  return status >= 200 && status < 300;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
