import type { PublicClient } from "viem";
import type { Chain } from "../chains.ts";

export interface Fees {
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
}

/** Polygon's nodes drop transactions that tip less. */
const polygonTipFloor = 30_000_000_000n;
const tipFloor = 100_000_000n;

/**
 * EIP-1559 fees of the next transaction: the tip is the median of the 20th percentiles of ten blocks,
 * and twice the base fee leaves room for five full blocks in a row.
 */
export async function readFees(client: PublicClient, chain: Chain): Promise<Fees> {
  const history = await client.getFeeHistory({ blockCount: 10, rewardPercentiles: [20] });
  const rewards = (history.reward ?? []).flatMap((block) => block.slice(0, 1)).sort(compare);
  const median = rewards[rewards.length >> 1] ?? 0n;
  const floor = chain.id === 137 ? polygonTipFloor : tipFloor;
  const maxPriorityFeePerGas = median > floor ? median : floor;
  // The list has one entry more than there are blocks: the base fee of the next block.
  const base = history.baseFeePerGas.at(-1) ?? 0n;
  return { maxFeePerGas: 2n * base + maxPriorityFeePerGas, maxPriorityFeePerGas };
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
