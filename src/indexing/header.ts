import { type Hex, keccak256, toRlp } from "viem";

/** What is kept of a block. With VERIFY=proofs its hash was recomputed from its fields. */
export interface Header {
  number: bigint;
  hash: Hex;
  parentHash: Hex;
  timestamp: bigint;
  receiptsRoot: Hex;
  logsBloom: Hex;
}

type Fields = Record<string, unknown>;

/** In the order in which they are hashed; from `baseFeePerGas` on each came with a fork, and older blocks lack it. */
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
 *
 * Source: Yellow Paper 4.3; EIP-1559, 4895, 4844, 4788, 7685 for the fields of later forks. Chains that
 * add fields of their own hash differently and cannot be checked like this.
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

/** Whether a block's fields give its hash; false also on chains whose headers have other fields. */
export function givesHash(block: Fields): boolean {
  try {
    return headerHash(block) === String(block["hash"]).toLowerCase();
  } catch {
    return false;
  }
}

/** @throws Error when the fields that every block has are not there. */
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

export function rlpQuantity(value: Hex): Hex {
  const digits = BigInt(value).toString(16);
  if (digits === "0") return "0x";
  return `0x${digits.length % 2 === 0 ? "" : "0"}${digits}`;
}

export function isHex(value: unknown): value is Hex {
  return typeof value === "string" && /^0x[0-9a-fA-F]*$/.test(value);
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
