import { decodeFunctionResult, encodeFunctionData } from "viem/utils";
import type { Provider } from "../shared/wallets.ts";

type Hex = `0x${string}`;

/** The part of the contract that a visitor meets. */
const abi = [
  {
    type: "function",
    name: "mint",
    stateMutability: "payable",
    inputs: [{ name: "amount", type: "uint256" }],
    outputs: [],
  },
  {
    type: "function",
    name: "presaleMint",
    stateMutability: "payable",
    inputs: [
      { name: "amount", type: "uint256" },
      { name: "proof", type: "bytes32[]" },
    ],
    outputs: [],
  },
  {
    type: "function",
    name: "tokenURI",
    stateMutability: "view",
    inputs: [{ name: "tokenId", type: "uint256" }],
    outputs: [{ type: "string" }],
  },
] as const;

export interface MintCall {
  from: Hex;
  to: Hex;
  data: Hex;
  /** Wei, hexadecimal. */
  value: Hex;
}

/** @param proof null in the public sale. */
export function mintCall(from: Hex, to: Hex, amount: bigint, value: bigint, proof: readonly Hex[] | null): MintCall {
  const data =
    proof === null
      ? encodeFunctionData({ abi, functionName: "mint", args: [amount] })
      : encodeFunctionData({ abi, functionName: "presaleMint", args: [amount, proof] });
  return { from, to, data, value: `0x${value.toString(16)}` };
}

export async function quantity(provider: Provider, method: string, params: readonly unknown[] = []): Promise<bigint> {
  return BigInt((await provider.request({ method, params })) as string);
}

/** @returns null when the token's metadata cannot be read. */
export async function readTokenUri(provider: Provider, to: Hex, tokenId: bigint): Promise<string | null> {
  const data = encodeFunctionData({ abi, functionName: "tokenURI", args: [tokenId] });
  try {
    const answer = (await provider.request({ method: "eth_call", params: [{ to, data }, "latest"] })) as Hex;
    return decodeFunctionResult({ abi, functionName: "tokenURI", data: answer });
  } catch {
    return null;
  }
}

export interface Receipt {
  status: Hex;
  blockNumber: Hex;
  logs: { address: Hex; topics: Hex[] }[];
}

const transferTopic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/** The tokens that a transaction minted, as its receipt has them. */
export function mintedTokens(receipt: Receipt, collection: Hex): bigint[] {
  return receipt.logs.flatMap(({ address, topics: [topic, from, , id] }) => {
    const isMint = address.toLowerCase() === collection && topic === transferTopic && BigInt(from ?? 1) === 0n;
    return isMint && id !== undefined ? [BigInt(id)] : [];
  });
}
