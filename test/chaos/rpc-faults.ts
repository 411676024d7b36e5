import type { SeededGenerator } from "../setup/seeded-generator.ts";

export interface Call {
  id: number;
  method: string;
  params: unknown[];
}

export interface Answer {
  jsonrpc: "2.0";
  id: number;
  result?: unknown;
  error?: { code: number; message: string };
}

type RpcFault = (call: Call, answer: Answer, random: SeededGenerator) => Answer;

const only =
  (methods: readonly string[], change: (answer: Answer, random: SeededGenerator, call: Call) => Answer): RpcFault =>
  (call, answer, random) =>
    methods.includes(call.method) ? change(answer, random, call) : answer;
const failing = (answer: Answer, code: number, message: string): Answer => ({
  jsonrpc: "2.0",
  id: answer.id,
  error: { code, message },
});
const send = ["eth_sendRawTransaction"];
const asHex = (value: bigint) => `0x${value.toString(16)}`;
const record = (value: unknown) => value as Record<string, unknown>;

/** Wrong answers of a node that did receive the request. Each changes what it understands and leaves the rest. */
export const rpcFaults: Record<string, RpcFault> = {
  "already-known": only(send, (a) => failing(a, -32000, "already known")),
  "nonce-too-low": only(send, (a) => failing(a, -32000, "nonce too low: next nonce 7, tx nonce 3")),
  "nonce-too-high": only(send, (a) => failing(a, -32000, "nonce too high")),
  underpriced: only(send, (a) => failing(a, -32000, "replacement transaction underpriced")),
  "fee-too-low": only(send, (a) => failing(a, -32000, "max fee per gas less than block base fee")),
  "no-funds": only(send, (a) => failing(a, -32000, "insufficient funds for gas * price + value")),
  "pool-full": only(send, (a) => failing(a, -32000, "txpool is full")),
  "other-hash": only(send, (a) => ({ ...a, result: `0x${"ab".repeat(32)}` })),
  "rate-limited": (_, a) => failing(a, -32005, "limit exceeded"),
  "internal-error": only(["eth_getTransactionReceipt", "eth_getBlockByNumber", "eth_feeHistory"], (a) =>
    failing(a, -32603, "internal error"),
  ),
  "wrong-chain-id": only(["eth_chainId"], (a) => ({ ...a, result: "0x1" })),
  "no-receipt": only(["eth_getTransactionReceipt"], (a) => ({ ...a, result: null })),
  "receipt-of-another": only(["eth_getTransactionReceipt"], (a) =>
    a.result ? { ...a, result: { ...record(a.result), transactionHash: `0x${"cd".repeat(32)}` } } : a,
  ),
  "receipt-reverted-elsewhere": only(["eth_getTransactionReceipt"], (a) =>
    a.result ? { ...a, result: { ...record(a.result), status: "0x0", blockHash: `0x${"ef".repeat(32)}` } } : a,
  ),
  "receipt-reverted-here": only(["eth_getTransactionReceipt"], (a) =>
    a.result ? { ...a, result: { ...record(a.result), status: "0x0" } } : a,
  ),
  "receipt-garbage": only(["eth_getTransactionReceipt"], (a) => ({ ...a, result: { blockNumber: "soon" } })),
  "block-missing": only(["eth_getBlockByNumber"], (a) => ({ ...a, result: null })),
  "block-garbage": only(["eth_getBlockByNumber"], (a) => ({ ...a, result: { number: 12 } })),
  "block-of-another-number": only(["eth_getBlockByNumber"], (a) =>
    a.result ? { ...a, result: { ...record(a.result), number: "0x3" } } : a,
  ),
  "head-stale": only(["eth_getBlockByNumber"], (a, random, call) =>
    call.params[0] === "latest" && a.result
      ? { ...a, result: { ...record(a.result), number: back(record(a.result)["number"], random.between(1, 6)) } }
      : a,
  ),
  "head-ahead": only(["eth_getBlockByNumber"], (a, random, call) =>
    call.params[0] === "latest" && a.result
      ? { ...a, result: { ...record(a.result), number: back(record(a.result)["number"], -random.between(3, 6)) } }
      : a,
  ),
  "estimate-error": only(["eth_estimateGas"], (a) => failing(a, 3, "execution reverted")),
  "estimate-high": only(["eth_estimateGas"], (a) =>
    typeof a.result === "string" ? { ...a, result: asHex(BigInt(a.result) * 2n) } : a,
  ),
  "estimate-low": only(["eth_estimateGas"], (a) =>
    typeof a.result === "string" ? { ...a, result: asHex(BigInt(a.result) / 2n) } : a,
  ),
  "estimate-nothing": only(["eth_estimateGas"], (a) => (typeof a.result === "string" ? { ...a, result: "0x5208" } : a)),
  "fees-high": only(["eth_feeHistory"], (a) =>
    a.result ? { ...a, result: { ...record(a.result), baseFeePerGas: ["0x174876e800"] } } : a,
  ),
  "fees-missing": only(["eth_feeHistory"], (a) => ({ ...a, result: null })),
  "balance-zero": only(["eth_getBalance"], (a) => ({ ...a, result: "0x0" })),
  "nonce-zero": only(["eth_getTransactionCount"], (a) => ({ ...a, result: "0x0" })),
  "nonce-ahead": only(["eth_getTransactionCount"], (a) =>
    typeof a.result === "string" ? { ...a, result: asHex(BigInt(a.result) + 4n) } : a,
  ),
  "pending-ahead": only(["eth_getTransactionCount"], (a, _, call) =>
    typeof a.result === "string" && call.params[1] === "pending" ? { ...a, result: asHex(BigInt(a.result) + 4n) } : a,
  ),
  "results-of-wrong-type": (_, a) => ({ ...a, result: ["?"] }),
};

/** Beside those that a run meets at random, for scenarios: what one endpoint alone may say and must not be believed. */
export const forcedFaults: Record<string, RpcFault> = {
  "no-logs": only(["eth_getLogs"], (a) => ({ ...a, result: [] })),
  "transactions-spoilt": only(["eth_getBlockByNumber"], (a) => {
    const { transactions } = record(a.result ?? {});
    if (!Array.isArray(transactions)) return a;
    const spoilt = transactions.map((sent) => (typeof sent === "object" ? { ...sent, input: "0xdeadbeef" } : sent));
    return { ...a, result: { ...record(a.result), transactions: spoilt } };
  }),
  "senders-of-nobody": only(["eth_getTransactionByHash"], (a) =>
    a.result ? { ...a, result: { ...record(a.result), from: `0x${"11".repeat(20)}` } } : a,
  ),
  "config-of-another-date": only(["eth_call"], (a) =>
    typeof a.result === "string" && a.result.length > 1_000
      ? {
          ...a,
          result: a.result.replace(/0{56}6[0-9a-f]{7}/, (word) => `${word.slice(0, -1)}${word.endsWith("1") ? 2 : 1}`),
        }
      : a,
  ),
};

function back(number: unknown, blocks: number): unknown {
  if (typeof number !== "string") return number;
  const value = BigInt(number) - BigInt(blocks);
  return asHex(value > 0n ? value : 0n);
}
