import { concatHex, type Hex, keccak256, numberToHex, stringToHex, toRlp } from "viem";

/** The fields of a block that are kept. With VERIFY=proofs its hash was recomputed from its fields. */
export interface Header {
  number: bigint;
  hash: Hex;
  parentHash: Hex;
  timestamp: bigint;
  receiptsRoot: Hex;
  logsBloom: Hex;
}

/** A block as a node gave it. */
export type Fields = Record<string, unknown>;

/** In the order in which they are hashed. Each field from `baseFeePerGas` on came with a fork; older blocks lack it. */
const required = ["parentHash", "sha3Uncles", "miner", "stateRoot", "transactionsRoot", "receiptsRoot", "logsBloom"];
const numbers = ["difficulty", "number", "gasLimit", "gasUsed", "timestamp"];
const sealing = ["extraData", "mixHash", "nonce"];
const byFork = [
  "baseFeePerGas",
  "withdrawalsRoot",
  "blobGasUsed",
  "excessBlobGas",
  "parentBeaconBlockRoot",
  "requestsHash",
];
const quantities = new Set([...numbers, "baseFeePerGas", "blobGasUsed", "excessBlobGas"]);

/**
 * Recomputes a block's hash from the fields of its JSON.
 * Source: Yellow Paper 4.3; EIP-1559, 4895, 4844, 4788, 7685 for the fields of later forks. Chains with fields of their
 * own hash differently and cannot be checked this way.
 */
export function headerHash(block: Fields): Hex {
  const later = byFork.filter((name) => block[name] !== undefined && block[name] !== null);
  const fields = [...required, ...numbers, ...sealing, ...later].map((name) => {
    const value = block[name];
    if (!isHex(value)) throw new Error(`header field ${name} is missing`);
    return quantities.has(name) ? rlpQuantity(value) : value;
  });
  return keccak256(toRlp(fields));
}

/** Whether a block's fields give its hash; also false on chains whose headers have other fields. */
export function givesHash(block: Fields): boolean {
  try {
    return headerHash(block) === String(block["hash"]).toLowerCase();
  } catch {
    return false;
  }
}

/** @throws Error when a field is missing that every block has. */
export function readHeader(block: Fields): Header {
  const { number, hash, parentHash, timestamp, receiptsRoot, logsBloom } = block;
  for (const value of [number, hash, parentHash, timestamp, receiptsRoot, logsBloom])
    if (!isHex(value)) throw new Error("a field of the header is missing");
  return {
    number: BigInt(number as Hex),
    hash: (hash as Hex).toLowerCase() as Hex,
    parentHash: (parentHash as Hex).toLowerCase() as Hex,
    timestamp: BigInt(timestamp as Hex),
    receiptsRoot: (receiptsRoot as Hex).toLowerCase() as Hex,
    logsBloom: logsBloom as Hex,
  };
}

function rlpQuantity(value: Hex): Hex {
  const digits = BigInt(value).toString(16);
  if (digits === "0") return "0x";
  return `0x${digits.length % 2 === 0 ? "" : "0"}${digits}`;
}

export function isHex(value: unknown): value is Hex {
  return typeof value === "string" && /^0x[0-9a-fA-F]*$/.test(value);
}

/** A number in JSON-RPC's encoding; null for anything else. */
export function quantityOf(value: unknown): bigint | null {
  return typeof value === "string" && /^0x[0-9a-f]{1,64}$/i.test(value) ? BigInt(value) : null;
}

/** The bits of a bloom filter that a value sets (Yellow Paper 4.3.1). */
export function bloomBits(value: Hex): number[] {
  const hash = keccak256(value);
  return [0, 1, 2].map((pair) => Number.parseInt(hash.slice(2 + pair * 4, 6 + pair * 4), 16) & 2047);
}

/** Whether the bloom filter may contain the value; false is certain. */
export function bloomMayHold(bloom: Hex, value: Hex): boolean {
  return bloomBits(value).every((bit) => {
    const digit = Number.parseInt(bloom[2 + 511 - (bit >> 2)] ?? "0", 16);
    return ((digit >> (bit & 3)) & 1) === 1;
  });
}

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

/** The receipts root of a block without receipts. */
export const emptyRoot: Hex = keccak256("0x80");

/**
 * Root of the Merkle-Patricia trie of a block's receipts, to which its header commits.
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

/** The trie node for these leaves, which share the first `depth` nibbles of their paths. */
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

/** A node shorter than 32 bytes is embedded in its parent, a longer one referenced by its hash. */
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

/** Polygon and its test network Amoy. */
const chainIds: ReadonlySet<number> = new Set([137, 80002]);
/** Sprints of Bor have 64 or 16 blocks. Only the last block of a sprint takes state from the root chain. */
const sprint = 16n;

export const hasStateSync = (chainId: number): boolean => chainIds.has(chainId);

/**
 * Whether a block can have a state-sync transaction: on Polygon one without a sender, last in its block, that brings
 * tokens from Ethereum or Sepolia. Before the fork that put it into the body neither receipts root nor bloom covers it.
 */
export function mayHaveStateSync(chainId: number, number: bigint): boolean {
  return chainIds.has(chainId) && number % sprint === 0n;
}

/**
 * Hash of a block's state-sync transaction before that fork.
 * Source: Bor, core/types/bor_receipt.go (`GetDerivedBorTxHash` of `BorReceiptKey`).
 */
export function stateSyncHash({ number, hash }: Pick<Header, "number" | "hash">): Hex {
  return keccak256(concatHex([stringToHex("matic-bor-receipt-"), numberToHex(number, { size: 8 }), hash]));
}
