import { createWalletClient, encodeAbiParameters, type Hex, http } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { carryOut, planOperation } from "../../src/products/carry-out.ts";
import { createContract } from "../../src/products/create-contract.ts";
import { easyMint } from "../../src/products/easy-mint.ts";
import { mintTokens } from "../../src/products/mint-tokens.ts";
import { burnTokens } from "../../src/products/move-tokens.ts";
import { ProductScenario, randomAddress, uri } from "./scenario.ts";

let s: ProductScenario;
beforeAll(async () => {
  s = await ProductScenario.start();
});
afterAll(async () => s?.stop());

test("a refusal under one key answers no request of another key that stands", async () => {
  const owner = await s.unlocked();
  const contract = await s.contract("erc1155", owner);
  await s.ended(await s.mint({ contract, tokens: [{ to: owner, uri, tokenId: 1n, quantity: 5n }] }));
  const burn = async (idempotencyKey: string) =>
    await carryOut(
      s.services,
      s.caller,
      await burnTokens(s.services, s.caller, {
        ...{ chain: "goerli", contract, tokens: [{ tokenId: 1n, quantity: 5n }], idempotencyKey },
      }),
    );
  const first = await burn("stands");
  await s.ended(first);
  await expect(burn("refused")).rejects.toMatchObject({ code: "value_error" });
  expect((await burn("stands")).request.id).toBe(first.request.id);
});

test("a receiver that says what the operator says of a request that is done is refused", async () => {
  const contract = await s.contract();
  const words = `08c379a0${encodeAbiParameters([{ type: "string" }], ["IntentDone"]).slice(2)}`;
  const byte = (value: number) => value.toString(16).padStart(2, "0");
  const size = byte(words.length / 2);
  // Copies what follows these twelve bytes, and reverts with it.
  const code = `60${size}600c60003960${size}6000fd${words}`;
  const length = byte(code.length / 2);
  const data: Hex = `0x60${length}600c60003960${length}6000f3${code}`;
  const wallet = createWalletClient({ transport: http(s.h.node.url) });
  const hash = await wallet.sendTransaction({ account: await s.unlocked(), data, chain: null });
  const { contractAddress } = await s.h.chain.waitForTransactionReceipt({ hash });
  const before = await s.sent();
  await expect(s.mint({ contract, tokens: [{ to: contractAddress ?? "", uri }] })).rejects.toMatchObject({
    code: "value_error",
  });
  expect(await s.sent()).toBe(before);
});

test("half of a character is refused as the client's fault, wherever it is", async () => {
  const contract = await s.contract();
  const half = "\ud800";
  const fault = { code: "value_error" };
  await expect(s.mint({ contract, tokens: [{ to: randomAddress(), uri: `ipfs://${half}` }] })).rejects.toMatchObject(
    fault,
  );
  const made = { chain: "goerli", name: `N${half}`, symbol: "N", ownerAddress: randomAddress() };
  await expect(createContract(s.services, s.caller, made)).rejects.toMatchObject({ ...fault, field: "name" });
  const easy = { chain: "goerli", name: "n", description: half, fileUrl: "ipfs://x", to: randomAddress() };
  expect(() => easyMint(s.services, s.caller, easy)).toThrow("half of a character");
});

test("the same mint of a burned id is another mint", async () => {
  const owner = await s.unlocked();
  const contract = await s.contract("erc721", owner);
  const tokens = [{ to: owner, uri, tokenId: 7n }];
  const first = await s.mint({ contract, tokens });
  await s.ended(first);
  const burn = { chain: "goerli", contract, tokens: [{ tokenId: 7n }] };
  await s.ended(await carryOut(s.services, s.caller, await burnTokens(s.services, s.caller, burn)));
  // Without a key it is the first one for minutes.
  expect((await s.mint({ contract, tokens })).request.id).toBe(first.request.id);
  const second = await s.mint({ contract, tokens, idempotencyKey: "after-the-burn" });
  expect(second.request.id).not.toBe(first.request.id);
  await s.ended(second);
  const third = await s.mint({ contract, tokens, idempotencyKey: "while-it-stands" });
  expect(third.request.id).toBe(second.request.id);
});

test("only an accepted mint takes a burned id over, and no other id of its batch", async () => {
  const owner = await s.unlocked();
  const contract = await s.contract("erc1155", owner);
  const batch = await s.mint({ contract, tokens: [1n, 2n, 3n].map((tokenId) => ({ to: owner, uri, tokenId })) });
  await s.ended(batch);
  const burn = { chain: "goerli", contract, tokens: [{ tokenId: 1n }] };
  await s.ended(await carryOut(s.services, s.caller, await burnTokens(s.services, s.caller, burn)));
  const claimed = async () => {
    const { rows } = await s.h.database.pool.query(
      "SELECT token_id::int AS id FROM service.token_claim WHERE root_id = $1 ORDER BY 1",
      [batch.request.id],
    );
    return rows.map(({ id }) => id);
  };
  const again = { contract, tokens: [{ to: randomAddress(), uri, tokenId: 1n }] };
  await planOperation(s.services, s.caller, await mintTokens(s.services, s.caller, { chain: "goerli", ...again }));
  expect(await claimed()).toEqual([1, 2, 3]);
  await s.ended(await s.mint(again));
  expect(await claimed()).toEqual([2, 3]);
  await expect(s.mint({ contract, tokens: [{ to: owner, uri, tokenId: 2n }] })).rejects.toThrow(
    batch.request.transactionHash,
  );
});
