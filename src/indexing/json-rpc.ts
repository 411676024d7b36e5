import { readText } from "../read-at-most.ts";
import {
  type AnswerClass,
  advice,
  classOf,
  classOfStatus,
  errorIn,
  type NodeError,
  nodeWords,
} from "../rpc/answers.ts";
import { splitCredentials } from "../rpc/endpoint.ts";

/** A JSON-RPC answer. `result` is unchecked; `error` is one that every node would give. */
export interface RpcAnswer {
  result?: unknown;
  error?: NodeError;
}

/** The node did not give a usable answer: unreachable, too slow, overloaded, not JSON-RPC. */
export class UnusableAnswer extends Error {
  override readonly name: string = "UnusableAnswer";
}

/** A node serves another chain than the one it is configured for: nothing of it may be indexed. */
export class WrongChain extends Error {
  override readonly name = "WrongChain";
}

/** An answer that cannot be true, as the answer itself or the chain's hashes show. */
export class Refused extends UnusableAnswer {
  override readonly name = "Refused";
}

/** The node does not have what was requested. It may lag; when all nodes lack it, that is the answer. */
export class Absent extends UnusableAnswer {
  override readonly name = "Absent";
}

/** The request is about a block that has left the chain: no node will ever have it again. */
export class LeftChain extends UnusableAnswer {
  override readonly name = "LeftChain";
}

/** The answer is larger than the cap, as another node's would be. */
export class AnswerTooLarge extends UnusableAnswer {
  override readonly name = "AnswerTooLarge";
}

/** The node contradicts an earlier answer of its own. */
export class Contradiction extends UnusableAnswer {
  override readonly name = "Contradiction";
}

/** The node answered with an error about itself: another node may have an answer. */
export class NodeRefusal extends UnusableAnswer {
  override readonly name = "NodeRefusal";
  readonly method: string;
  readonly kind: AnswerClass;
  /** The node's error without addresses. */
  readonly error: NodeError;

  constructor(method: string, kind: AnswerClass, { code, message }: NodeError) {
    const words = nodeWords(message);
    super([`${method}: ${kind}: ${words}`, ...(advice[kind] ? [`(${advice[kind]})`] : [])].join(" "));
    this.method = method;
    this.kind = kind;
    this.error = { code, message: words };
  }
}

export interface RpcLimits {
  timeoutMs: number;
  maxAnswerBytes: number;
}

/**
 * Sends one request to one node.
 *
 * @param signal cancels it: nobody waits for the answer any more.
 * @throws UnusableAnswer, NodeRefusal. Their text never contains the URL, which may contain a key.
 */
export async function sendRpc(
  address: string,
  method: string,
  params: unknown,
  limits: RpcLimits,
  signal?: AbortSignal,
): Promise<RpcAnswer> {
  const { url, headers } = splitCredentials(address);
  const timeout = AbortSignal.timeout(limits.timeoutMs);
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
      signal: signal ? AbortSignal.any([timeout, signal]) : timeout,
      redirect: "error",
    });
    const { maxAnswerBytes } = limits;
    const tooLarge = () => new AnswerTooLarge(`the answer is larger than ${maxAnswerBytes} bytes`);
    text = await readText(response, maxAnswerBytes, tooLarge);
  } catch (error) {
    if (error instanceof UnusableAnswer) throw error;
    // A cancelled request is no fault of the node.
    signal?.throwIfAborted();
    if (timeout.aborted) throw new NodeRefusal(method, "too_slow", { code: 0, message: "no answer in time" });
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    throw new UnusableAnswer(`no answer to ${method}: ${cause}`);
  }
  return parseAnswer(text, method, response.status);
}

/** Many nodes send a JSON-RPC error with an HTTP error status. Its message then takes precedence. */
function parseAnswer(text: string, method: string, status: number): RpcAnswer {
  const answer = parseJson(text);
  const error = errorIn(answer);
  const said = error && classOf(error, method);
  const kind = said === "broken" || said === null ? (classOfStatus(status) ?? said) : said;
  if (error && kind === "refused") return { error };
  if (kind) throw new NodeRefusal(method, kind, error ?? { code: status, message: `HTTP ${status}` });
  if (status >= 300) throw new UnusableAnswer(`${method}: HTTP ${status}`);
  if (typeof answer === "object" && answer !== null && "result" in answer) return { result: answer.result };
  throw new UnusableAnswer(`${method}: the answer is not ${answer === undefined ? "JSON" : "JSON-RPC"}`);
}

/** @returns undefined for invalid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
