import type { Chain } from "../../chains.ts";

export interface Fees {
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
}

/** What `eth_feeHistory` of ten blocks with the 20th percentile says; amounts in wei. */
export interface FeeHistory {
  /** One entry more than there are blocks: the last is of the next block. */
  baseFeePerGas: readonly bigint[];
  rewards: readonly bigint[];
}

/** Polygon's nodes drop transactions that tip less. */
const polygonTipFloor = 30_000_000_000n;
const tipFloor = 100_000_000n;

/**
 * EIP-1559 fees of the next transaction: the tip is the median of the 20th percentiles of ten blocks,
 * and twice the base fee leaves room for five full blocks in a row.
 */
export function freshFees(chain: Pick<Chain, "id">, history: FeeHistory): Fees {
  const rewards = [...history.rewards].sort(compare);
  const median = rewards[rewards.length >> 1] ?? 0n;
  const floor = chain.id === 137 ? polygonTipFloor : tipFloor;
  const maxPriorityFeePerGas = most(median, floor);
  const base = history.baseFeePerGas.at(-1) ?? 0n;
  return { maxFeePerGas: 2n * base + maxPriorityFeePerGas, maxPriorityFeePerGas };
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

function most(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

function least(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
