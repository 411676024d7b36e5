import type { Chain } from "../chains.ts";
import { tracedFetch } from "../telemetry/trace-rpc.ts";

export interface RpcCall {
  method: string;
  params: readonly unknown[];
}

/** One call's outcome as the node gave it; `data` of an error is a revert's. */
export type RpcResult = { result: unknown } | { error: { code: number; message: string; data?: unknown } };

/** The node gave no usable answer: unreachable, too slow, cut off, mixed up, or another chain's. */
export class NodeFault extends Error {
  override readonly name = "NodeFault";
}

const timeoutMs = 10_000;
const maxAnswerBytes = 32 * 1024 * 1024;

/**
 * Asks one endpoint several things in one request, together with the chain's id: an answer that does not
 * come with the right id in the same breath may be about another chain, and is none.
 *
 * @param url http(s) only.
 * @returns one result per call, in the order of the calls.
 * @throws NodeFault; its text never contains the URL, which may hold a key.
 */
export async function askBatch(url: string, chain: Chain, calls: readonly RpcCall[]): Promise<RpcResult[]> {
  const asked = [{ method: "eth_chainId", params: [] }, ...calls];
  const body = JSON.stringify(asked.map((call, id) => ({ jsonrpc: "2.0", id, ...call })));
  const answers = parseAnswers(await post(url, body), asked.length);
  const [id, ...results] = answers;
  const chainId = id && "result" in id ? Number(id.result) : Number.NaN;
  if (chainId !== chain.id)
    throw new NodeFault(`a node of ${chain.name} answered for chain ${chainId}, not ${chain.id}`);
  return results;
}

async function post(url: string, body: string): Promise<string> {
  try {
    const response = await tracedFetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
      signal: AbortSignal.timeout(timeoutMs),
      redirect: "error",
    });
    const text = await readCapped(response);
    if (!response.ok) throw new NodeFault(`HTTP ${response.status}`);
    return text;
  } catch (error) {
    if (error instanceof NodeFault) throw error;
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    throw new NodeFault(`no answer: ${cause}`);
  }
}

/** Results by id: nodes may answer in any order, but each call must be answered once. */
function parseAnswers(text: string, count: number): RpcResult[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new NodeFault("the answer is not JSON");
  }
  if (!Array.isArray(parsed)) throw new NodeFault("the answer to a batch is not a list");
  const results = new Map<number, RpcResult>();
  for (const item of parsed as unknown[]) {
    if (typeof item !== "object" || item === null) throw new NodeFault("an answer is not an object");
    const { id, result, error } = item as { id?: unknown; result?: unknown; error?: unknown };
    if (typeof id !== "number" || id < 0 || id >= count || results.has(id)) throw new NodeFault("an answer to nothing");
    if (typeof error === "object" && error !== null) {
      const { code, message, data } = error as { code?: unknown; message?: unknown; data?: unknown };
      results.set(id, { error: { code: Number(code), message: String(message), data } });
    } else {
      results.set(id, { result });
    }
  }
  if (results.size !== count) throw new NodeFault(`${results.size} answers to ${count} calls`);
  return Array.from({ length: count }, (_, id) => results.get(id) as RpcResult);
}

async function readCapped(response: Response): Promise<string> {
  if (!response.body) return "";
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength;
    if (size > maxAnswerBytes) throw new NodeFault("the answer is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
