import { type Hex, hexToBytes } from "viem";

const transactionGas = 21_000n;
/** Per token of calldata: a zero byte is one, any other byte is four. */
const gasPerToken = 10n;

/**
 * The gas below which no node takes a call with this data, whatever it does: the base of every transaction and the
 * floor for its data (EIP-7623, which is above the older rule's intrinsic gas).
 */
export function intrinsicGas(data: Hex): bigint {
  const tokens = hexToBytes(data).reduce((sum, byte) => sum + (byte === 0 ? 1 : 4), 0);
  return transactionGas + gasPerToken * BigInt(tokens);
}
