import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { carryOut, planOperation } from "../../src/products/carry-out.ts";
import { burnTokens, transferTokens, updateToken } from "../../src/products/change-tokens.ts";
import { productRequests } from "../../src/products/find-product.ts";
import { mintTokens } from "../../src/products/mint-tokens.ts";
import { updateContract } from "../../src/products/update-contract.ts";
import { getRequest } from "../../src/requests/requests.ts";
import type { TokensPayload } from "../../src/transactions/store/payloads.ts";
import { loseRows } from "../transactions/lost-rows.ts";
import { ProductScenario, productReads, randomAddress, uri } from "./scenario.ts";

let s: ProductScenario;
beforeAll(async () => {
  s = await ProductScenario.start();
});
afterAll(async () => s?.stop());

const idOf = (payload: object) => (payload as TokensPayload).tokens[0]?.tokenId ?? "";

describe("an ERC-721 contract", () => {
  test("mints with a drawn id, updates, transfers and burns: each effect is on the chain", async () => {
    const owner = await s.unlocked();
    const contract = await s.contract("erc721", owner);
    const read = { address: contract, abi: productReads } as const;
    expect((await s.h.chain.readContract({ ...read, functionName: "owner" })).toLowerCase()).toBe(owner);

    const minted = await s.mint({ contract, tokens: [{ to: owner, uri }] });
    await s.ended(minted);
    const tokenId = BigInt(idOf(minted.request.payload));
    expect((await s.h.chain.readContract({ ...read, functionName: "ownerOf", args: [tokenId] })).toLowerCase()).toBe(
      owner,
    );

    const place = { chain: "goerli", contract };
    const other = "ipfs://bafkreigfpjajcargicualhqfbsyhxk2e2uf2rfplvvmdrjx2coamhpkoaq";
    const updated = await carryOut(
      s.services,
      s.caller,
      await updateToken(s.services, s.caller, { ...place, tokenId, uri: other }),
    );
    await s.ended(updated);
    expect(await s.h.chain.readContract({ ...read, functionName: "tokenURI", args: [tokenId] })).toBe(other);

    const to = randomAddress();
    const moved = await carryOut(
      s.services,
      s.caller,
      await transferTokens(s.services, s.caller, { ...place, tokens: [{ tokenId, to }] }),
    );
    await s.ended(moved);
    expect((await s.h.chain.readContract({ ...read, functionName: "ownerOf", args: [tokenId] })).toLowerCase()).toBe(
      to,
    );

    const burnt = await s.mint({ contract, tokens: [{ to: owner, uri, tokenId: 7n }] });
    await s.ended(burnt);
    const gone = await carryOut(
      s.services,
      s.caller,
      await burnTokens(s.services, s.caller, { ...place, tokens: [{ tokenId: 7n }] }),
    );
    await s.ended(gone);
    await expect(s.h.chain.readContract({ ...read, functionName: "ownerOf", args: [7n] })).rejects.toThrow("invalid");
    // Burned, so the id is free again, for another mint than the first.
    await s.ended(await s.mint({ contract, tokens: [{ to, uri, tokenId: 7n }] }));
  });

  test("changes settings one after the other, and gives its rights up", async () => {
    const contract = await s.contract();
    const place = { chain: "goerli", contract };
    const change = async (changes: object) =>
      await carryOut(s.services, s.caller, await updateContract(s.services, s.caller, { ...place, ...changes }));
    await s.ended(await change({ baseUri: "ipfs://a/" }));
    await s.ended(await change({ royaltiesBps: 100n, exit: true }));
    const read = { address: contract, abi: productReads } as const;
    expect(await s.h.chain.readContract({ ...read, functionName: "baseURI" })).toBe("ipfs://a/");
    expect(await s.h.chain.readContract({ ...read, functionName: "royaltiesBasisPoints" })).toBe(100n);
    const before = await s.sent();
    await expect(s.mint({ contract, tokens: [{ to: randomAddress(), uri }] })).rejects.toThrow("missing role");
    expect(await s.sent()).toBe(before);
  });
});

describe("exactly once", () => {
  test("the same mint again is the mint that stands; a different one of its id names the transaction", async () => {
    const contract = await s.contract();
    const to = randomAddress();
    const token = { to, uri, tokenId: 5n };
    const first = await s.mint({ contract, tokens: [token] });
    const again = await s.mint({ contract, tokens: [token] });
    expect(again.request.transactionHash).toBe(first.request.transactionHash);
    await s.ended(first);
    // With a key of its own, and whenever: a token id is minted once.
    const later = await s.mint({
      contract,
      tokens: [{ ...token, to: to.toUpperCase().replace("0X", "0x") }],
      idempotencyKey: "x",
    });
    expect(later.request.transactionHash).toBe(first.request.transactionHash);
    const before = await s.sent();
    await expect(s.mint({ contract, tokens: [{ ...token, to: randomAddress() }] })).rejects.toThrow(
      first.request.transactionHash,
    );
    expect(await s.sent()).toBe(before);
  });

  test("one key is one mint with one id; a dry run names it and leaves nothing", async () => {
    const contract = await s.contract();
    const input = { contract, tokens: [{ to: randomAddress(), uri }], idempotencyKey: "of the client" };
    input.idempotencyKey = "of-the-client";
    const before = await s.sent();
    const plan = await planOperation(
      s.services,
      s.caller,
      await mintTokens(s.services, s.caller, { chain: "goerli", ...input }),
    );
    expect(await s.sent()).toBe(before);
    expect(plan.gas).toBeGreaterThan(50_000n);
    const [one, two] = await Promise.all([s.mint(input), s.mint(input, s.h.process())]);
    expect(one.request.id).toBe(two.request.id);
    expect(idOf(one.request.payload)).toBe(idOf(plan.payload));
    await s.ended(one);
    await expect(s.mint({ ...input, tokens: [{ to: randomAddress(), uri }] })).rejects.toThrow("Idempotency-Key");
    expect(await s.sent()).toBe(before + 1);
  });

  test("rows that were lost: the chain knows the request, and the repeated one ends as its transaction", async () => {
    const contract = await s.contract();
    const input = { contract, tokens: [{ to: randomAddress(), uri }], idempotencyKey: "lost" };
    const first = await s.mint(input);
    await s.ended(first);
    await loseRows(s.h.database.pool, [first.request.id], s.h.relayer);
    const sent = await s.sent();
    const again = await s.mint(input);
    expect(again.request.id).toBe(first.request.id);
    expect(again.request.transactionHash).toBe(first.request.transactionHash);
    await s.ended(again);
    expect(await s.sent()).toBe(sent);
  });
});

describe("an ERC-1155 contract", () => {
  test("mints, transfers and burns in batches", async () => {
    const owner = await s.unlocked();
    const contract = await s.contract("erc1155", owner);
    const place = { chain: "goerli", contract };
    const read = { address: contract, abi: productReads } as const;
    const tokens = [1n, 2n, 3n].map((tokenId) => ({ to: owner, uri, tokenId, quantity: 10n * tokenId }));
    await s.ended(await s.mint({ contract, tokens }));
    const to = randomAddress();
    const moving = { ...place, tokens: [1n, 2n].map((tokenId) => ({ to, tokenId, quantity: 4n })) };
    await s.ended(await carryOut(s.services, s.caller, await transferTokens(s.services, s.caller, moving)));
    expect(await s.h.chain.readContract({ ...read, functionName: "balanceOf", args: [to, 2n] })).toBe(4n);
    const burning = { ...place, tokens: [{ tokenId: 3n, quantity: 30n }] };
    await s.ended(await carryOut(s.services, s.caller, await burnTokens(s.services, s.caller, burning)));
    expect(await s.h.chain.readContract({ ...read, functionName: "totalSupply", args: [3n] })).toBe(0n);
  });
});

describe("what cannot be done", () => {
  test("is refused before anything is stored or spent", async () => {
    const contract = await s.contract();
    const before = await s.sent();
    const token = { to: randomAddress(), uri };
    const count = async () => (await s.services.pool.query("SELECT count(*) FROM service.intent")).rows[0].count;
    const rows = await count();
    await expect(s.mint({ contract: randomAddress(), tokens: [token] })).rejects.toMatchObject({ code: "not_found" });
    await expect(s.mint({ contract, tokens: [] })).rejects.toMatchObject({ code: "value_error" });
    await expect(s.mint({ contract, tokens: [token, token] })).rejects.toThrow("one token per request");
    await expect(s.mint({ contract, tokens: [{ ...token, to: "0x12" }] })).rejects.toMatchObject({
      code: "invalid_address",
    });
    await expect(s.mint({ contract, tokens: [{ to: token.to }] })).rejects.toMatchObject({ code: "parameter_missing" });
    // A contract that takes no tokens.
    const { operator } = s.h;
    await expect(s.mint({ contract, tokens: [{ ...token, to: operator?.address ?? "" }] })).rejects.toThrow(
      "would refuse",
    );
    const burn = { chain: "goerli", contract, tokens: [{ tokenId: 99n }] };
    await expect(carryOut(s.services, s.caller, await burnTokens(s.services, s.caller, burn))).rejects.toThrow("exist");
    expect(await s.sent()).toBe(before);
    expect(await count()).toBe(rows);
  });

  test("of another account is not there", async () => {
    const contract = await s.contract();
    const thirdParty = await s.h.caller("growth");
    const input = { chain: "goerli", contract, tokens: [{ to: randomAddress(), uri }] };
    await expect(mintTokens(s.services, thirdParty, input)).rejects.toMatchObject({ code: "not_found" });
    const minted = await s.mint(input);
    await expect(getRequest(s.services, thirdParty, productRequests, { id: minted.request.id })).rejects.toMatchObject({
      code: "not_found",
    });
  });
});
