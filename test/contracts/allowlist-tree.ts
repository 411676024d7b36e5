import { MerkleTree } from "merkletreejs";
import { type Address, type Hex, keccak256 } from "viem";

/** Root and proofs as the service builds them: leaf = keccak256 of the 20 address bytes, sorted pairs. */
export function allowlist(addresses: readonly Address[]): { root: Hex; proof: (address: Address) => Hex[] } {
  const lower = addresses.map((address) => address.toLowerCase() as Hex);
  const { root, proof } = merkleTree(lower.map((address) => keccak256(address)));
  return { root, proof: (address) => proof(lower.indexOf(address.toLowerCase() as Hex)) };
}

/** A tree over ready leaves. */
export function merkleTree(leaves: Hex[]): { root: Hex; proof: (index: number) => Hex[] } {
  const tree = new MerkleTree(leaves, keccak256, { sortPairs: true });
  return { root: tree.getHexRoot() as Hex, proof: (index) => tree.getHexProof(leaves[index] ?? "0x", index) as Hex[] };
}
