import { type Address, createTestClient, http } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CarriedOut, carryOut } from "../../src/products/carry-out.ts";
import { burnTokens, updateToken } from "../../src/products/change-tokens.ts";
import { updateContract } from "../../src/products/update-contract.ts";
import type { TokensPayload } from "../../src/transactions/store/payloads.ts";
import { ProductScenario, productReads, uri } from "./scenario.ts";

const other = "ipfs://bafkreigfpjajcargicualhqfbsyhxk2e2uf2rfplvvmdrjx2coamhpkoaq";

let s: ProductScenario;
beforeAll(async () => {
  s = await ProductScenario.start();
});
afterAll(async () => s?.stop());

async function minted(): Promise<{ contract: Address; tokenId: bigint }> {
  const owner = await s.unlocked();
  const contract = await s.contract("erc721", owner);
  const mint = await s.mint({ contract, tokens: [{ to: owner, uri: "ipfs://first" }] });
  await s.ended(mint);
  return { contract, tokenId: BigInt((mint.request.payload as TokensPayload).tokens[0]?.tokenId ?? 0) };
}

async function setUri(contract: Address, tokenId: bigint, to: string): Promise<CarriedOut> {
  const input = { chain: "goerli", contract, tokenId, uri: to };
  return await carryOut(s.services, s.caller, await updateToken(s.services, s.caller, input));
}

async function uriOf(contract: Address, tokenId: bigint): Promise<string> {
  return await s.h.chain.readContract({
    ...{ address: contract, abi: productReads, functionName: "tokenURI", args: [tokenId] },
  });
}

test("after A and B a second A is a request of its own, of a token and of a contract", async () => {
  const { contract, tokenId } = await minted();
  const first = await setUri(contract, tokenId, uri);
  await s.ended(first);
  // Repeated at once it is the same one.
  expect((await setUri(contract, tokenId, uri)).request.id).toBe(first.request.id);
  await s.ended(await setUri(contract, tokenId, other));
  const again = await setUri(contract, tokenId, uri);
  await s.ended(again);
  expect(again.request.transactionHash).not.toBe(first.request.transactionHash);
  expect(await uriOf(contract, tokenId)).toBe(uri);

  const change = async (royaltiesBps: bigint) => {
    const operation = await updateContract(s.services, s.caller, { chain: "goerli", contract, royaltiesBps });
    await s.ended(await carryOut(s.services, s.caller, operation));
  };
  for (const bps of [100n, 200n, 100n]) await change(bps);
  expect(
    await s.h.chain.readContract({ address: contract, abi: productReads, functionName: "royaltiesBasisPoints" }),
  ).toBe(100n);
});

test("an update of a token that is burned in the same block is confirmed by the operator's event", async () => {
  const { contract, tokenId } = await minted();
  const node = createTestClient({ mode: "hardhat", transport: http(s.h.node.url) });
  await node.setAutomine(false);
  const update = await setUri(contract, tokenId, uri);
  const burn = await burnTokens(s.services, s.caller, { chain: "goerli", contract, tokens: [{ tokenId }] });
  const burned = await carryOut(s.services, s.caller, burn);
  try {
    for (const { request } of [update, burned]) await s.h.pooled(s.services, request.transactionHash);
    await node.mine({ blocks: 1 });
  } finally {
    await node.setAutomine(true);
  }
  await s.ended(burned);
  await s.ended(update);
});
