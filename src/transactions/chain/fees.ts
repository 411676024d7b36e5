import { type Hex, hexToBytes } from "viem";
import type { Chain } from "../../chains.ts";

export interface Fees {
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
}

/** A node's current fee data; amounts in wei. */
export interface Market {
  /** Of the next block. */
  baseFee: bigint;
  /** The 20th percentile of the tips in each of ten blocks (`eth_feeHistory`). */
  tips: readonly bigint[];
  /** The node's own suggestion (`eth_maxPriorityFeePerGas`), never below its minimum. Null: it gives none. */
  suggestedTip: bigint | null;
  /** The maximum L1 data fee per byte of a transaction (chains of the OP stack); else 0. */
  dataByteWei: bigint;
}

/** Per chain policy: the minimum tip that a node stated in a refusal, and until when it is believed. */
const named = new WeakMap<Chain["relay"], { tip: bigint; until: number }>();
/** A node that still requires as much states it again, which costs one replacement. */
const namedMs = 3_600_000;

function namedTip(relay: Chain["relay"]): bigint {
  const { tip = 0n, until = 0 } = named.get(relay) ?? {};
  return performance.now() < until ? tip : 0n;
}

/**
 * Learns the minimum tip from a node's error message, for an hour. It is limited to the operator's cap and to a
 * thousand times the chain's minimum: a node must not set the price.
 *
 * @param words such as bor's "transaction underpriced: gas tip cap 1000000, minimum needed 25000000000".
 */
export function learnTip({ relay }: Pick<Chain, "relay">, words: string): void {
  const [, wanted] = /tip.*\b(?:minimum needed|min(?:imum)?(?: required)?:?) (\d{1,24})\b/i.exec(words) ?? [];
  if (!wanted) return;
  const tip = BigInt(wanted);
  const mayBe = least(relay.maxFeeWei, 1_000n * most(relay.minTipWei, 10n ** 8n));
  if (tip > namedTip(relay) && tip <= mayBe) named.set(relay, { tip, until: performance.now() + namedMs });
}

/**
 * EIP-1559 fees of the next transaction. The tip is the median of ten blocks' 20th percentiles, or, for empty blocks,
 * the node's suggestion; never less than the minimum that the chain or its nodes state. Twice the base fee leaves a
 * margin for five full blocks in a row. Where all of the node's answers say that gas is free, the fees are 0.
 *
 * @param waited earlier bytes were not mined: the tip is at least the node's suggestion. Nodes drop transactions below
 *   their minimum, which raises of an eighth would reach late.
 */
export function freshFees({ relay }: Pick<Chain, "relay">, market: Omit<Market, "dataByteWei">, waited = false): Fees {
  const tips = [...market.tips].sort(compare);
  const median = tips[tips.length >> 1] ?? 0n;
  const suggested = median === 0n || waited ? (market.suggestedTip ?? 0n) : 0n;
  const isFree = market.baseFee === 0n && market.suggestedTip === 0n && tips.every((tip) => tip === 0n);
  const floor = most(isFree ? 0n : relay.minTipWei, namedTip(relay));
  const maxPriorityFeePerGas = most(most(median, suggested), floor);
  return { maxFeePerGas: 2n * market.baseFee + maxPriorityFeePerGas, maxPriorityFeePerGas };
}

/**
 * Fees that replace a pending transaction: an eighth more on both, or today's fees if they are higher. Nodes require a
 * tenth more; some round in their own favour.
 *
 * @param cap the highest fee per gas allowed.
 * @returns null when the cap is too low for a replacement.
 */
export function bumpFees(old: Fees, fresh: Fees, cap: bigint): Fees | null {
  const needed = { fee: raised(old.maxFeePerGas), tip: raised(old.maxPriorityFeePerGas) };
  if (needed.fee > cap) return null;
  const maxFeePerGas = least(most(needed.fee, fresh.maxFeePerGas), cap);
  const maxPriorityFeePerGas = most(needed.tip, fresh.maxPriorityFeePerGas);
  if (needed.tip > maxFeePerGas) return null;
  return { maxFeePerGas, maxPriorityFeePerGas: least(maxPriorityFeePerGas, maxFeePerGas) };
}

/** Where gas is free nothing can be raised: the same bytes would be signed again. */
export function isRaised(old: Fees, { maxFeePerGas, maxPriorityFeePerGas }: Fees): boolean {
  return maxFeePerGas > old.maxFeePerGas || maxPriorityFeePerGas > old.maxPriorityFeePerGas;
}

/** An eighth more, rounded up. */
function raised(value: bigint): bigint {
  return (value * 9n + 7n) / 8n;
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export function most(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

export function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

const transactionGas = 21_000n;
/** Per token of calldata: a zero byte is one, any other byte is four. */
const gasPerToken = 10n;

/**
 * The gas below which no node takes a call with this data, whatever it does: the base of every transaction and the
 * floor for its data (EIP-7623, which is above the older rule's intrinsic gas).
 */
export function intrinsicGas(data: Hex): bigint {
  const tokens = hexToBytes(data).reduce((sum, byte) => sum + (byte === 0 ? 1 : 4), 0);
  return transactionGas + gasPerToken * BigInt(tokens);
}
