import { bytesToHex, type Hex, zeroHash } from "viem";
import type { Caller } from "../auth/caller.ts";
import { entriesForOneDeployment, LargeRequest } from "../auth/large-requests.ts";
import { ServiceError } from "../errors/errors.ts";
import { LongWork } from "../long-work.ts";
import type { Services } from "../services.ts";
import { growTree, type StoredTree } from "./stored-tree.ts";

export interface AllowlistTree {
  /** 32 zero bytes for an empty list: no proof leads to it. */
  root: Hex;
  /** The wallets as spelled in the request, without repeats, in the order of the leaves. */
  entries: readonly string[];
  /** The stored form that proofs are read from; null for an empty list. */
  stored: StoredTree | null;
  /** The proof of a wallet, leaf side first; null if it is not listed. With a single wallet it is `[]`. */
  proofOf(wallet: string): Hex[] | null;
}

/**
 * Counts a list's entries for its account, and builds the tree.
 *
 * @throws ServiceError `rate_limit_exceeded`; as `buildAllowlistTree`.
 */
export async function takeAllowlist(
  { auth, config }: Services,
  caller: Caller,
  wallets: readonly string[],
): Promise<AllowlistTree> {
  const price = new LargeRequest(config.rateLimits ? auth.limiter : null, caller, "deploy");
  await price.count(wallets.length / entriesForOneDeployment, `a presale list of ${wallets.length} wallets`);
  return await buildAllowlistTree(wallets, caller.accountId);
}

/**
 * Builds the presale tree that the collection's `presaleMint` checks; lists of more than 50 wallets are hashed in a
 * separate thread.
 *
 * @param wallets any letter case; later repeats are dropped, order is kept (it changes the root).
 * @param account the account of the list; accounts take turns.
 * @throws ServiceError `invalid_address`: every invalid entry with its position, in `details.entries`.
 */
export async function buildAllowlistTree(wallets: readonly string[], account = ""): Promise<AllowlistTree> {
  const work = new LongWork(account);
  const positions = new Map<string, number>();
  const entries: string[] = [];
  const bad: { position: number; got: string }[] = [];
  for (const [position, wallet] of wallets.entries()) {
    if (work.isOver) await work.rest();
    const key = wallet.toLowerCase();
    if (!/^0x[0-9a-f]{40}$/.test(key)) bad.push({ position, got: wallet.slice(0, 64) });
    else if (!positions.has(key)) {
      positions.set(key, entries.length);
      entries.push(wallet);
    }
  }
  if (bad.length > 0) {
    throw new ServiceError("invalid_address", `entry ${bad[0]?.position} of the presale list is not an address`, {
      field: "allowlist",
      details: { entries: bad.slice(0, 20) },
    });
  }
  const stored = entries.length === 0 ? null : await growTree([...positions.keys()], work);
  return {
    root: stored ? bytesToHex(stored.nodes.subarray(-32)) : zeroHash,
    entries,
    stored,
    proofOf: (wallet) => {
      const position = positions.get(wallet.toLowerCase());
      return position === undefined || !stored ? null : climb(stored.nodes, entries.length, position);
    },
  };
}

/**
 * The sibling hashes from a leaf to the root; a node without a sibling moves up unchanged.
 *
 * @param nodes every level, leaves first; see `StoredTree`.
 */
export function climb(nodes: Uint8Array, leaves: number, position: number): Hex[] {
  const proof: Hex[] = [];
  let [level, count, index] = [0, leaves, position];
  while (count > 1) {
    const sibling = index ^ 1;
    if (sibling < count) proof.push(bytesToHex(nodes.subarray(32 * (level + sibling), 32 * (level + sibling + 1))));
    level += count;
    count = Math.ceil(count / 2);
    index >>= 1;
  }
  return proof;
}
