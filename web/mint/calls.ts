import type { Provider } from "../shared/wallets.ts";

type Hex = `0x${string}`;

/** Selectors of the functions for visitors: `mint(uint256)`, `presaleMint(uint256,bytes32[])`, `tokenURI(uint256)`. */
const selectors = { mint: "a0712d68", presaleMint: "e3e1e8ef", tokenUri: "c87b56dd" };
const wordDigits = 64;

const word = (value: bigint | number) => value.toString(16).padStart(wordDigits, "0");

export interface MintCall {
  from: Hex;
  to: Hex;
  data: Hex;
  /** Wei, hexadecimal. */
  value: Hex;
}

/** @param proof null in the public sale. */
export function mintCall(from: Hex, to: Hex, amount: bigint, value: bigint, proof: readonly Hex[] | null): MintCall {
  const data: Hex =
    proof === null
      ? `0x${selectors.mint}${word(amount)}`
      : // The proof's list comes after the two words of the head.
        `0x${selectors.presaleMint}${word(amount)}${word(64)}${word(proof.length)}${proof.map((hash) => hash.slice(2)).join("")}`;
  return { from, to, data, value: `0x${value.toString(16)}` };
}

export async function quantity(provider: Provider, method: string, params: readonly unknown[] = []): Promise<bigint> {
  return BigInt((await provider.request({ method, params })) as string);
}

/** @returns null when the token's metadata cannot be read. */
export async function readTokenUri(provider: Provider, to: Hex, tokenId: bigint): Promise<string | null> {
  const data = `0x${selectors.tokenUri}${word(tokenId)}`;
  try {
    return decodeText((await provider.request({ method: "eth_call", params: [{ to, data }, "latest"] })) as Hex);
  } catch {
    return null;
  }
}

/** Decodes a `string` that a contract returned: offset, length in bytes, bytes. @throws for anything else. */
export function decodeText(answer: Hex): string {
  const digits = answer.slice(2);
  const numberAt = (byte: number) => Number(`0x${digits.slice(byte * 2, byte * 2 + wordDigits)}`);
  const start = numberAt(0);
  const length = numberAt(start);
  const hex = digits.slice((start + 32) * 2, (start + 32 + length) * 2);
  if (!(start >= 32) || hex.length !== length * 2) throw new Error("the contract returned no text");
  const bytes = Uint8Array.from({ length }, (_, at) => Number.parseInt(hex.slice(at * 2, at * 2 + 2), 16));
  return new TextDecoder().decode(bytes);
}

export interface Receipt {
  status: Hex;
  blockNumber: Hex;
  logs: { address: Hex; topics: Hex[] }[];
}

const transferTopic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

/** The tokens that a transaction minted, from its receipt. */
export function mintedTokens(receipt: Receipt, collection: Hex): bigint[] {
  return receipt.logs.flatMap(({ address, topics: [topic, from, , id] }) => {
    const isMint = address.toLowerCase() === collection && topic === transferTopic && BigInt(from ?? 1) === 0n;
    return isMint && id !== undefined ? [BigInt(id)] : [];
  });
}
