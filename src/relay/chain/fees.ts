import type { Chain } from "../../chains.ts";

export interface Fees {
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
}

/** What a node says of fees now; amounts in wei. */
export interface Market {
  /** Of the next block. */
  baseFee: bigint;
  /** The 20th percentile of the tips in each of ten blocks (`eth_feeHistory`). */
  tips: readonly bigint[];
  /** What the node itself would offer (`eth_maxPriorityFeePerGas`): never less than it takes. Null: it does not say. */
  suggestedTip: bigint | null;
}

/**
 * EIP-1559 fees of the next transaction: the tip is the median of the 20th percentiles of ten blocks, where blocks are
 * empty the node's suggestion, and never below the chain's least. Twice the base fee leaves room for five full blocks in
 * a row.
 *
 * @param waited earlier bytes stayed out of blocks: the tip is what the node suggests, at least. Nodes drop what offers less
 *   than they take, and an eighth more each time would come there late.
 */
export function freshFees({ relay }: Pick<Chain, "relay">, market: Market, waited = false): Fees {
  const tips = [...market.tips].sort(compare);
  const median = tips[tips.length >> 1] ?? 0n;
  const suggested = median === 0n || waited ? (market.suggestedTip ?? 0n) : 0n;
  const maxPriorityFeePerGas = most(most(median, suggested), relay.minTipWei);
  return { maxFeePerGas: 2n * market.baseFee + maxPriorityFeePerGas, maxPriorityFeePerGas };
}

/**
 * Fees that replace a pending transaction: an eighth more on both, or today's where that is more. Nodes
 * want a tenth more; some round in their own favour.
 *
 * @param cap the highest fee per gas allowed.
 * @returns null when the cap leaves no room for a replacement.
 */
export function bumpFees(old: Fees, fresh: Fees, cap: bigint): Fees | null {
  const needed = { fee: raised(old.maxFeePerGas), tip: raised(old.maxPriorityFeePerGas) };
  if (needed.fee > cap) return null;
  const maxFeePerGas = least(most(needed.fee, fresh.maxFeePerGas), cap);
  const maxPriorityFeePerGas = most(needed.tip, fresh.maxPriorityFeePerGas);
  if (needed.tip > maxFeePerGas) return null;
  return { maxFeePerGas, maxPriorityFeePerGas: least(maxPriorityFeePerGas, maxFeePerGas) };
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
