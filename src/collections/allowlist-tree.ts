import { MerkleTree } from "merkletreejs";
import { type Hex, hexToBytes, keccak256, zeroHash } from "viem";
import { ServiceError } from "../errors.ts";

export interface AllowlistTree {
  /** 32 zero bytes for an empty list: nobody's proof leads there. */
  root: Hex;
  /** The wallets in the spelling that was sent, without repeats, in the order of the leaves. */
  entries: readonly string[];
  /** The path of a wallet, leaf side first; null for one that is not listed. With one wallet it is `[]`. */
  proofOf(wallet: string): Hex[] | null;
}

/**
 * Builds the presale tree that the collection's `presaleMint` checks.
 *
 * @param wallets any letter case; later repeats are dropped, order is kept (it changes the root).
 * @throws ServiceError `invalid_address`: every bad entry with its position, in `details.entries`.
 * Source: leaf = keccak256 of the 20 bytes; pairs sorted as in OpenZeppelin `MerkleProof`; an odd
 *   node moves up unchanged.
 */
export function buildAllowlistTree(wallets: readonly string[]): AllowlistTree {
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
  const leaves = [...positions.keys()].map((wallet) => Buffer.from(keccak256(hexToBytes(wallet as Hex), "bytes")));
  const tree = new MerkleTree(leaves, (data: Buffer) => Buffer.from(keccak256(data, "bytes")), { sortPairs: true });
  return {
    root: leaves.length === 0 ? zeroHash : (tree.getHexRoot() as Hex),
    entries,
    proofOf: (wallet) => {
      const position = positions.get(wallet.toLowerCase());
      const leaf = position === undefined ? undefined : leaves[position];
      // Without the position the library searches all leaves for it.
      return leaf === undefined ? null : (tree.getHexProof(leaf, position) as Hex[]);
    },
  };
}
