import { bytesToHex, type Hex, zeroHash } from "viem";
import { ServiceError } from "../errors.ts";
import { buildLayers, type TreeLayers } from "./allowlist-layers.ts";

export interface AllowlistTree {
  /** 32 zero bytes for an empty list: nobody's proof leads there. */
  root: Hex;
  /** The wallets in the spelling that was sent, without repeats, in the order of the leaves. */
  entries: readonly string[];
  /** The path of a wallet, leaf side first; null for one that is not listed. With one wallet it is `[]`. */
  proofOf(wallet: string): Hex[] | null;
}

/**
 * Builds the presale tree that the collection's `presaleMint` checks; more than 5,000 wallets are hashed
 * in a thread of their own.
 *
 * @param wallets any letter case; later repeats are dropped, order is kept (it changes the root).
 * @throws ServiceError `invalid_address`: every bad entry with its position, in `details.entries`.
 */
export async function buildAllowlistTree(wallets: readonly string[]): Promise<AllowlistTree> {
  const positions = new Map<string, number>();
  const entries: string[] = [];
  const bad: { position: number; got: string }[] = [];
  for (const [position, wallet] of wallets.entries()) {
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
  const layers = entries.length === 0 ? [] : await buildLayers([...positions.keys()]);
  const top = layers.at(-1);
  return {
    root: top ? bytesToHex(top) : zeroHash,
    entries,
    proofOf: (wallet) => {
      const position = positions.get(wallet.toLowerCase());
      return position === undefined ? null : climb(layers, position);
    },
  };
}

/** The siblings on the way from a leaf to the root; a node without a sibling moves up by itself. */
function climb(layers: TreeLayers, position: number): Hex[] {
  const proof: Hex[] = [];
  let index = position;
  for (const layer of layers.slice(0, -1)) {
    const sibling = 32 * (index ^ 1);
    if (sibling < layer.length) proof.push(bytesToHex(layer.subarray(sibling, sibling + 32)));
    index >>= 1;
  }
  return proof;
}
