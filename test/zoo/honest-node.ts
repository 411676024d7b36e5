import { postOnce } from "../setup/post-once.ts";
import type { Answer, Call } from "./fault.ts";

const lasting = new Set(["eth_chainId", "eth_getBlockByHash", "eth_getBlockReceipts"]);

/**
 * The node behind all endpoints. What it says of old blocks is asked of it once, and the receipts of a block, which Hardhat
 * has no method for, are put together from those of its transactions.
 */
export class HonestNode {
  readonly #url: string;
  readonly #known = new Map<string, Promise<Answer>>();
  /** Blocks up to here do not change any more. */
  lastFixed = -1;

  constructor(url: string) {
    this.#url = url;
  }

  async ask(calls: readonly Call[]): Promise<Answer[]> {
    return await Promise.all(calls.map((call) => this.#answer(call)));
  }

  /** @throws Error with the node's error. */
  async result<T>(method: string, params: unknown[] = []): Promise<T> {
    const { result, error } = await this.#answer({ id: 1, method, params });
    if (error) throw new Error(`${method}: ${error.message}`);
    return result as T;
  }

  async #answer(call: Call): Promise<Answer> {
    if (!this.#isFixed(call)) return await this.#fetch(call);
    const key = JSON.stringify([call.method, call.params]);
    const known = this.#known.get(key) ?? this.#fetch(call);
    this.#known.set(key, known);
    return await known;
  }

  #isFixed({ method, params }: Call): boolean {
    const [first] = params as [unknown];
    const block = (first as { toBlock?: unknown } | undefined)?.toBlock ?? first;
    const isOld = typeof block === "string" && /^0x[0-9a-f]{1,16}$/.test(block) && Number(block) <= this.lastFixed;
    return lasting.has(method) || ((method === "eth_getLogs" || method === "eth_getBlockByNumber") && isOld);
  }

  async #fetch(call: Call): Promise<Answer> {
    if (call.method === "eth_getBlockReceipts") return { result: await this.#blockReceipts(String(call.params[0])) };
    const { result, error } = await postOnce<Answer>(this.#url, {
      jsonrpc: "2.0",
      id: 1,
      method: call.method,
      params: call.params,
    });
    return error ? { error } : { result };
  }

  async #blockReceipts(block: string): Promise<unknown[] | null> {
    const method = block.length === 66 ? "eth_getBlockByHash" : "eth_getBlockByNumber";
    const found = await this.result<{ transactions: string[] } | null>(method, [block, false]);
    if (!found) return null;
    return await Promise.all(found.transactions.map((hash) => this.result("eth_getTransactionReceipt", [hash])));
  }
}
