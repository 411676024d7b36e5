import type { Address, Hash, Hex } from "viem";
import { z } from "zod";
import { NodeFault, type RpcCall, type RpcResult } from "./endpoint.ts";

const hex = z
  .string()
  .regex(/^0x[0-9a-fA-F]*$/)
  .transform((text) => text.toLowerCase() as Hex);
export const quantity = z
  .string()
  .regex(/^0x[0-9a-fA-F]{1,64}$/)
  .transform((text) => BigInt(text));
const hash = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/)
  .transform((text) => text.toLowerCase() as Hash);
const block = z.object({
  number: quantity,
  hash,
  parentHash: hash,
  timestamp: quantity.optional(),
  gasLimit: quantity,
  baseFeePerGas: quantity.optional(),
});
const receipt = z.object({
  transactionHash: hash,
  blockHash: hash,
  blockNumber: quantity,
  transactionIndex: quantity,
  status: quantity,
  gasUsed: quantity,
  // Some nodes omit it or send no usable number; only accounting needs it (`costOf`).
  effectiveGasPrice: quantity.nullish().catch(null).default(null),
  // For chains of the OP stack: the L1 data fee, charged to the sender in addition to the gas.
  l1Fee: quantity.nullish().catch(null).default(null),
  logs: z.array(z.object({ address: hex.transform((text) => text as Address), topics: z.array(hash), data: hex })),
});
const placedLog = z.object({ topics: z.array(hash), transactionHash: hash, blockNumber: quantity, blockHash: hash });

/** A block by its hash (EIP-1898): after a reorganisation its number means another block. */
export interface ByHash {
  blockHash: Hash;
}

export type Block = z.infer<typeof block>;
export type Receipt = z.infer<typeof receipt>;

export const calls = {
  block: (at: bigint | "latest" | "finalized"): RpcCall => ({
    method: "eth_getBlockByNumber",
    params: [at === "latest" || at === "finalized" ? at : toQuantity(at), false],
  }),
  receipt: (ofHash: Hash): RpcCall => ({ method: "eth_getTransactionReceipt", params: [ofHash] }),
  balance: (address: Address): RpcCall => ({ method: "eth_getBalance", params: [address, "latest"] }),
  count: (address: Address, at: bigint | "latest" | "pending"): RpcCall => ({
    method: "eth_getTransactionCount",
    params: [address, typeof at === "bigint" ? toQuantity(at) : at],
  }),
  code: (address: Address, at: bigint | "latest"): RpcCall => ({
    method: "eth_getCode",
    params: [address, typeof at === "bigint" ? toQuantity(at) : at],
  }),
  call: (to: Address, data: Hex, at: bigint | "latest" | "pending" | ByHash): RpcCall => ({
    method: "eth_call",
    params: [{ to, data }, typeof at === "bigint" ? toQuantity(at) : at],
  }),
  estimate: (from: Address, to: Address, data: Hex): RpcCall => ({
    method: "eth_estimateGas",
    params: [{ from, to, data, value: "0x0" }],
  }),
  /** Runs as a transaction with this gas would run now; an error if it would fail. */
  run: (from: Address, to: Address, data: Hex, gas: bigint): RpcCall => ({
    method: "eth_call",
    params: [{ from, to, data, value: "0x0", gas: toQuantity(gas) }, "latest"],
  }),
  logs: (of: { address: Address; block: bigint }, topics: readonly unknown[]): RpcCall => ({
    method: "eth_getLogs",
    params: [{ address: of.address, topics, fromBlock: toQuantity(of.block), toBlock: "latest" }],
  }),
  send: (raw: Hex): RpcCall => ({ method: "eth_sendRawTransaction", params: [raw] }),
};

export function parseBlock(answer: RpcResult | undefined): Block {
  return parse(block, answer, "a block");
}

/** Hashes of a block's transactions, in their order. */
export function parseTransactions(answer: RpcResult | undefined): Hash[] {
  return parse(z.object({ transactions: z.array(hash) }), answer, "a block").transactions;
}

/** A block that the node may not have. */
export function parseBlockOrNull(answer: RpcResult | undefined): Block | null {
  if (!answer || "error" in answer || answer.result === null) return null;
  return parse(block, answer, "a block");
}

/**
 * @param asked the hash that was asked for: the receipt of another transaction is rejected.
 * @returns null when the node has none.
 */
export function parseReceipt(answer: RpcResult | undefined, asked: Hash): Receipt | null {
  if (answer && "result" in answer && answer.result === null) return null;
  const parsed = parse(receipt, answer, "a receipt");
  if (parsed.transactionHash !== asked) throw new NodeFault("the receipt of another transaction");
  return parsed;
}

/**
 * What a mined transaction cost its sender, apart from its value (always 0): gas, and on chains of the OP stack the L1
 * data fee. If a node's receipt has no gas price, the signed maximum counts, so that no limit is exceeded.
 */
export function costOf(
  receipt: Pick<Receipt, "gasUsed" | "effectiveGasPrice" | "l1Fee">,
  maxFeePerGas: bigint | string,
): bigint {
  return receipt.gasUsed * (receipt.effectiveGasPrice ?? BigInt(maxFeePerGas)) + (receipt.l1Fee ?? 0n);
}

export function parseQuantity(answer: RpcResult | undefined, what: string): bigint {
  return parse(quantity, answer, what);
}

export function parseHex(answer: RpcResult | undefined, what: string): Hex {
  return parse(hex, answer, what);
}

/** @param asked the topics of the filter: logs without them are not counted. */
export function countLogs(answer: RpcResult | undefined, asked: readonly unknown[]): number {
  const logs = parse(z.array(z.object({ topics: z.array(hash) })), answer, "logs");
  return logs.filter(({ topics }) => asked.every((topic, index) => topic === null || topic === topics[index])).length;
}

/**
 * The logs of a filter with transaction and block, in the chain's order.
 *
 * @param asked as for `countLogs`.
 */
export function parsePlacedLogs(answer: RpcResult | undefined, asked: readonly unknown[]) {
  const logs = parse(z.array(placedLog), answer, "logs");
  return logs
    .filter(({ topics }) => asked.every((topic, index) => topic === null || topic === topics[index]))
    .map(({ transactionHash, blockNumber, blockHash }) => ({ hash: transactionHash, block: blockNumber, blockHash }));
}

/** @throws NodeFault for an error, or an answer of another shape. */
export function parse<T>(schema: z.ZodType<T>, answer: RpcResult | undefined, what: string): T {
  if (!answer || "error" in answer) throw new NodeFault(`an error instead of ${what}`);
  const parsed = schema.safeParse(answer.result);
  if (!parsed.success) throw new NodeFault(`not ${what}`);
  return parsed.data;
}

function toQuantity(value: bigint): Hex {
  return `0x${value.toString(16)}`;
}
