import { concatHex, type Hex, keccak256, numberToHex, stringToHex } from "viem";
import type { Header } from "./header.ts";

/** Polygon and its test network Amoy. */
const chainIds: ReadonlySet<number> = new Set([137, 80002]);
/** Sprints of Bor have 64 or 16 blocks, and only their ends take state from the chain below. */
const sprint = 16n;

export const hasStateSync = (chainId: number): boolean => chainIds.has(chainId);

/**
 * Whether a block can have a state-sync transaction: on Polygon one without a sender, last in its block, by which tokens come from
 * the chain below. Before the fork that put it into the block's body neither receipts root nor bloom of the header have it.
 */
export function mayHaveStateSync(chainId: number, number: bigint): boolean {
  return chainIds.has(chainId) && number % sprint === 0n;
}

/**
 * Hash of a block's state-sync transaction from before that fork.
 *
 * Source: Bor, core/types/bor_receipt.go (`GetDerivedBorTxHash` of `BorReceiptKey`).
 */
export function stateSyncHash({ number, hash }: Pick<Header, "number" | "hash">): Hex {
  return keccak256(concatHex([stringToHex("matic-bor-receipt-"), numberToHex(number, { size: 8 }), hash]));
}
