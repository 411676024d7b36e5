import { splitCredentials } from "../rpc/endpoint-url.ts";

/** A JSON-RPC answer as a node gave it; `result` is unchecked. */
export interface RpcAnswer {
  result?: unknown;
  error?: { code: number; message: string; data?: unknown };
}

/** The node did not give a usable answer: unreachable, too slow, overloaded, not JSON-RPC. */
export class UnusableAnswer extends Error {
  override readonly name: string = "UnusableAnswer";
}

/** The answer is larger than the cap; another node's would be as well. */
export class AnswerTooLarge extends UnusableAnswer {
  override readonly name = "AnswerTooLarge";
}

export interface RpcLimits {
  timeoutMs: number;
  maxAnswerBytes: number;
}

/**
 * Sends one request to one node.
 *
 * @param signal ends it: nobody waits for the answer any more.
 * @throws UnusableAnswer; its text never contains the URL, which may hold a key.
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
    text = await readCapped(response, limits.maxAnswerBytes);
  } catch (error) {
    if (error instanceof UnusableAnswer) throw error;
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    throw new UnusableAnswer(`no answer to ${method}: ${cause}`);
  }
  // Many nodes send a JSON-RPC error with a 4xx status; only overload and breakdown mean "ask another".
  if (response.status === 429 || response.status >= 500) throw new UnusableAnswer(`${method}: HTTP ${response.status}`);
  return parseAnswer(text, method);
}

function parseAnswer(text: string, method: string): RpcAnswer {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new UnusableAnswer(`${method}: the answer is not JSON`);
  }
  const isAnswer = typeof answer === "object" && answer !== null && ("result" in answer || "error" in answer);
  if (!isAnswer) throw new UnusableAnswer(`${method}: the answer is not JSON-RPC`);
  return answer as RpcAnswer;
}

async function readCapped(response: Response, maxBytes: number): Promise<string> {
  if (!response.body) return "";
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > maxBytes) throw new AnswerTooLarge(`the answer is larger than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
