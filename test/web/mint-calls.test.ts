import { decodeFunctionData, encodeAbiParameters, keccak256, toHex } from "viem";
import { expect, test } from "vitest";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import { decodeText, mintCall, readTokenUri } from "../../web/mint/calls.ts";

// The mint page writes its calls itself; viem and the compiler's ABI say whether they are right.
const [from, to] = [`0x${"11".repeat(20)}`, `0x${"22".repeat(20)}`] as const;

test("a mint page's calls are those of the contract's ABI", () => {
  for (const amount of [1n, 255n, 2n ** 64n]) {
    const { data, value } = mintCall(from, to, amount, 30n, null);
    expect(decodeFunctionData({ abi: collectionAbi, data })).toEqual({ functionName: "mint", args: [amount] });
    expect(BigInt(value)).toBe(30n);
  }
  for (const count of [0, 1, 2, 17]) {
    const proof = Array.from({ length: count }, (_, at) => keccak256(toHex(at)));
    const { data } = mintCall(from, to, 2n, 0n, proof);
    expect(decodeFunctionData({ abi: collectionAbi, data })).toEqual({
      functionName: "presaleMint",
      args: [2n, proof],
    });
  }
});

test("a token's URI is read as the ABI has it, and what is no text is none", async () => {
  for (const text of ["", "ipfs://a/1", "ü".repeat(40), "x".repeat(32)])
    expect(decodeText(encodeAbiParameters([{ type: "string" }], [text]))).toBe(text);
  for (const wrong of [
    "0x",
    "0x00",
    `0x${"ff".repeat(64)}`,
    `0x${"20".padStart(64, "0")}${"40".padStart(64, "0")}`,
  ] as const)
    expect(() => decodeText(wrong)).toThrow();
  const asked: unknown[] = [];
  const answer = encodeAbiParameters([{ type: "string" }], ["ipfs://a/7"]);
  const request = async (call: unknown) => {
    asked.push(call);
    return answer;
  };
  const provider = { request };
  expect(await readTokenUri(provider, to, 7n)).toBe("ipfs://a/7");
  const [{ params }] = asked as [{ params: [{ data: `0x${string}` }] }];
  expect(decodeFunctionData({ abi: collectionAbi, data: params[0].data })).toEqual({
    functionName: "tokenURI",
    args: [7n],
  });
});
