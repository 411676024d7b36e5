import type { PublicClient } from "viem";
import type { Chain } from "../chains.ts";

export interface Head {
  number: bigint;
  /** The newest block that cannot be taken back any more. */
  finalized: bigint;
}

/** For nodes that do not know the tag: deeper than any reorganisation a chain of ours has had. */
const depthWithoutTag = 300n;

/**
 * Where a chain stands. Development chains have no finality worth the name (one of them keeps its tag
 * at 0 for long), so there it is the depth of a confirmation.
 *
 * @throws Error when the node serves another chain than the configured one.
 */
export async function readHead(client: PublicClient, chain: Chain): Promise<Head> {
  const [chainId, latest, finalized] = await Promise.all([
    client.getChainId(),
    client.getBlock({ blockTag: "latest" }),
    chain.local ? null : client.getBlock({ blockTag: "finalized" }).catch(() => null),
  ]);
  if (chainId !== chain.id) throw new Error(`the node of ${chain.name} serves chain ${chainId}, not ${chain.id}`);
  const depth = chain.local ? BigInt(Math.max(chain.confirmations - 1, 0)) : depthWithoutTag;
  const buried = latest.number > depth ? latest.number - depth : 0n;
  return { number: latest.number, finalized: finalized?.number ?? buried };
}

/** How many blocks vouch for block `number`: its own is the first. */
export function depthOf(head: Head, number: bigint): bigint {
  return head.number - number + 1n;
}
