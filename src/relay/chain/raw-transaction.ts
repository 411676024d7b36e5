import { type AccessList, type Address, type Hex, serializeTransaction, type TransactionSerialized } from "viem";

/** A signed transaction as a node shows it, of any kind. */
export interface ShownTransaction {
  type: string;
  nonce: number;
  to: Address | null;
  input: Hex;
  value: bigint;
  gas: bigint;
  gasPrice?: bigint | undefined;
  maxFeePerGas?: bigint | undefined;
  maxPriorityFeePerGas?: bigint | undefined;
  accessList?: AccessList | undefined;
  r: Hex;
  s: Hex;
  v: bigint;
  yParity?: number | undefined;
}

/** What a transaction offered for its gas; a legacy one has one price for both. */
export function feesOf({ maxFeePerGas, maxPriorityFeePerGas, gasPrice = 0n }: ShownTransaction) {
  return { maxFeePerGas: maxFeePerGas ?? gasPrice, maxPriorityFeePerGas: maxPriorityFeePerGas ?? gasPrice };
}

/**
 * The signed bytes of a transaction that a node showed: whether they are its hash's is for the caller to see.
 *
 * @returns null for a kind that we never sign: neither EIP-1559 nor legacy with a chain's id (EIP-155).
 */
export function rawOf(chainId: number, sent: ShownTransaction): TransactionSerialized | null {
  const { nonce, to, input: data, value, gas, r, s, v } = sent;
  const fields = { chainId, nonce, to, data, value, gas };
  if (sent.type === "eip1559") {
    const { yParity = Number(v), accessList = [] } = sent;
    return serializeTransaction({ type: "eip1559", ...fields, ...feesOf(sent), accessList }, { r, s, yParity });
  }
  if (sent.type !== "legacy" || v < 35n) return null;
  return serializeTransaction({ type: "legacy", ...fields, gasPrice: sent.gasPrice ?? 0n }, { r, s, v });
}
