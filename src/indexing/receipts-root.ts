import { concatHex, type Hex, keccak256, toRlp } from "viem";
import { isHex, rlpQuantity } from "./header.ts";

export interface TrieReceipt {
  type?: Hex;
  status?: Hex;
  root?: Hex;
  cumulativeGasUsed: Hex;
  logsBloom: Hex;
  transactionIndex: Hex;
  transactionHash?: Hex;
  logs: readonly { address: Hex; topics: readonly Hex[]; data: Hex }[];
}

/** Of a block without receipts. */
export const emptyRoot: Hex = keccak256("0x80");

/**
 * Root of the Merkle-Patricia trie of a block's receipts, the one its header commits to.
 *
 * Source: Yellow Paper 4.3.1 and appendix D; EIP-2718 for typed receipts.
 */
export function receiptsRoot(receipts: readonly TrieReceipt[]): Hex {
  if (receipts.length === 0) return emptyRoot;
  const leaves = receipts.map((receipt, index) => ({
    path: nibbles(toRlp(rlpQuantity(`0x${index.toString(16)}`))),
    value: encodeReceipt(receipt),
  }));
  return keccak256(toRlp(node(leaves, 0)));
}

function encodeReceipt({ type = "0x0", status, root, cumulativeGasUsed, logsBloom, logs }: TrieReceipt): Hex {
  const outcome = isHex(root) ? root : rlpQuantity(status ?? "0x0");
  const body = toRlp([
    outcome,
    rlpQuantity(cumulativeGasUsed),
    logsBloom,
    logs.map(({ address, topics, data }) => [address, [...topics], data]),
  ]);
  const kind = rlpQuantity(type);
  return kind === "0x" ? body : concatHex([kind, body]);
}

interface Leaf {
  path: number[];
  value: Hex;
}
type Rlp = Hex | Rlp[];

/** The trie node over these leaves, which share the first `depth` nibbles of their paths. */
function node(leaves: readonly Leaf[], depth: number): Rlp[] {
  const [first] = leaves;
  if (!first) throw new Error("a trie node needs leaves");
  if (leaves.length === 1) return [compact(first.path.slice(depth), true), first.value];
  let shared = depth;
  while (leaves.every(({ path }) => path[shared] !== undefined && path[shared] === first.path[shared])) shared += 1;
  if (shared > depth) return [compact(first.path.slice(depth, shared), false), reference(node(leaves, shared))];
  const branch: Rlp[] = Array.from({ length: 16 }, (_, nibble) => {
    const below = leaves.filter(({ path }) => path[depth] === nibble);
    return below.length === 0 ? "0x" : reference(node(below, depth + 1));
  });
  return [...branch, leaves.find(({ path }) => path.length === depth)?.value ?? "0x"];
}

/** A node below 32 bytes is part of its parent, a larger one by its hash. */
function reference(child: Rlp[]): Rlp {
  const encoded = toRlp(child);
  return encoded.length < 2 + 64 ? child : keccak256(encoded);
}

function nibbles(hex: Hex): number[] {
  return [...hex.slice(2)].map((digit) => Number.parseInt(digit, 16));
}

function compact(path: readonly number[], isLeaf: boolean): Hex {
  const odd = path.length % 2 === 1;
  const flag = (isLeaf ? 2 : 0) + (odd ? 1 : 0);
  const digits = [flag, ...(odd ? [] : [0]), ...path].map((nibble) => nibble.toString(16)).join("");
  return `0x${digits}`;
}
