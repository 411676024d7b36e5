import { type Address, createWalletClient, encodeAbiParameters, type Hex, http, parseAbi, parseGwei } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { carryOut, type Operation, planOperation } from "../../src/products/carry-out.ts";
import type { TokenInput } from "../../src/products/check-tokens.ts";
import { createContract } from "../../src/products/create-contract.ts";
import { easyMint } from "../../src/products/easy-mint.ts";
import { getRequest } from "../../src/products/get-request.ts";
import { mintTokens } from "../../src/products/mint-tokens.ts";
import { burnTokens, transferTokens } from "../../src/products/move-tokens.ts";
import { updateToken } from "../../src/products/update-token.ts";
import type { TokensPayload } from "../../src/relay/store/operation-payload.ts";
import { ProductScenario, productReads, randomAddress, uri } from "./scenario.ts";

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

const place = (contract: Address) => ({ chain: "goerli", contract });
const done = async (operation: Promise<Operation> | Operation) => {
  const carried = await carryOut(s.services, s.caller, await operation);
  await s.ended(carried);
  return carried.request.id;
};
const burnOf = (contract: Address, tokens: readonly TokenInput[]) =>
  burnTokens(s.services, s.caller, { ...place(contract), tokens });

test("the same mint of a burned id is another mint, and so is the same burn after it", async () => {
  for (const type of ["erc721", "erc1155"] as const) {
    const owner = await s.unlocked();
    const contract = await s.contract(type, owner);
    const quantity = type === "erc721" ? {} : { quantity: 5n };
    const mint = () =>
      mintTokens(s.services, s.caller, { ...place(contract), tokens: [{ to: owner, uri, tokenId: 7n, ...quantity }] });
    const burn = () => burnOf(contract, [{ tokenId: 7n, ...quantity }]);
    const first = await done(mint());
    expect(await done(mint())).toBe(first);
    const burned = await done(burn());
    expect(await done(burn())).toBe(burned);
    // Also from several processes at once it is one more mint.
    const other = s.h.process();
    const again = await Promise.all(
      [s.services, other, s.services, other].map(async (services) => await carryOut(services, s.caller, await mint())),
    );
    const second = again[0]?.request.id ?? "";
    expect(new Set(again.map(({ request }) => request.id))).toEqual(new Set([second]));
    expect(second).not.toBe(first);
    await s.h.until(s.services, second, ["finalized"]);
    expect(await done(mint())).toBe(second);
    expect(await done(burn())).not.toBe(burned);
    expect(await done(mint())).not.toBe(second);
    const keyed = await mintTokens(s.services, s.caller, {
      ...{
        ...place(contract),
        tokens: [{ to: owner, uri, tokenId: 7n, ...quantity }],
        idempotencyKey: "while-it-stands",
      },
    });
    expect(await done(keyed)).toBe(await done(mint()));
  }
});

test("a mint whose drawn token was burned is another mint, by the service or by its owner", async () => {
  const owner = await s.unlocked();
  const contract = await s.contract("erc721", owner);
  const mint = () => mintTokens(s.services, s.caller, { ...place(contract), tokens: [{ to: owner, uri }] });
  const tokenOf = async (id: string) =>
    BigInt(((await getRequest(s.services, s.caller, { id })).payload as TokensPayload).tokens[0]?.tokenId ?? 0);
  const first = await done(mint());
  await done(burnOf(contract, [{ tokenId: await tokenOf(first) }]));
  const second = await done(mint());
  expect(second).not.toBe(first);
  await owned(contract, "transferFrom(address,address,uint256)", [owner, randomAddress(), await tokenOf(second)]);
  // It stands, wherever it went.
  expect(await done(mint())).toBe(second);
});

test("a transfer whose token came back is another transfer; one that was passed on is not", async () => {
  const owner = await s.unlocked();
  const accounts = (await s.h.chain.request({ method: "eth_accounts" } as never)) as Address[];
  const to = accounts[2] ?? randomAddress();
  const contract = await s.contract("erc721", owner);
  await s.ended(await s.mint({ contract, tokens: [{ to: owner, uri, tokenId: 1n }] }));
  const transfer = () => transferTokens(s.services, s.caller, { ...place(contract), tokens: [{ tokenId: 1n, to }] });
  const first = await done(transfer());
  expect(await done(transfer())).toBe(first);
  const move = "transferFrom(address,address,uint256)";
  await owned(contract, move, [to, owner, 1n], to);
  const second = await done(transfer());
  expect(second).not.toBe(first);
  const holder = () =>
    s.h.chain.readContract({ address: contract, abi: productReads, functionName: "ownerOf", args: [1n] });
  expect((await holder()).toLowerCase()).toBe(to.toLowerCase());
  await owned(contract, move, [to, randomAddress(), 1n], to);
  expect(await done(transfer())).toBe(second);
});

test("an update of a token that was burned and minted again is another update", async () => {
  const owner = await s.unlocked();
  const contract = await s.contract("erc721", owner);
  const mint = () =>
    mintTokens(s.services, s.caller, { ...place(contract), tokens: [{ to: owner, uri, tokenId: 3n }] });
  const update = () => updateToken(s.services, s.caller, { ...place(contract), tokenId: 3n, uri: "ipfs://other" });
  await done(mint());
  const first = await done(update());
  expect(await done(update())).toBe(first);
  await done(burnOf(contract, [{ tokenId: 3n }]));
  await done(mint());
  expect(await done(update())).not.toBe(first);
  const shown = { address: contract, abi: productReads, functionName: "tokenURI", args: [3n] } as const;
  expect(await s.h.chain.readContract(shown)).toBe("ipfs://other");
});

test("what failed on the chain is asked for again as a new request", async () => {
  const owner = await s.unlocked();
  const contract = await s.contract("erc721", owner);
  await s.ended(await s.mint({ contract, tokens: [{ to: owner, uri, tokenId: 1n }] }));
  const tokens = [{ tokenId: 1n, to: randomAddress() }];
  const created = { chain: "goerli", name: "Again", symbol: "AGN", ownerAddress: owner };
  for (const ask of [
    () => mintTokens(s.services, s.caller, { ...place(contract), tokens: [{ to: owner, uri }] }),
    () => transferTokens(s.services, s.caller, { ...place(contract), tokens }),
    () => createContract(s.services, s.caller, created),
  ]) {
    const failed = await failing(ask);
    const again = await done(ask());
    expect(again).not.toBe(failed);
    expect(await done(ask())).toBe(again);
  }
});

/** Has the operator stopped in the block that the request is mined in. */
async function failing(ask: () => Promise<Operation>): Promise<string> {
  const [admin] = (await s.h.chain.request({ method: "eth_accounts" } as never)) as Address[];
  await s.h.chain.setAutomine(false);
  try {
    const { request } = await carryOut(s.services, s.caller, await ask());
    // Sent later it would be held: the operator is stopped then.
    await s.h.pooled(s.services, request.transactionHash);
    const wallet = createWalletClient({ transport: http(s.h.node.url) });
    await wallet.writeContract({
      ...{ account: admin ?? "0x", address: s.h.operator?.address ?? "0x", chain: null },
      ...{ abi: parseAbi(["function pause()"]), functionName: "pause" },
      ...{ gas: 500_000n, maxFeePerGas: parseGwei("2000"), maxPriorityFeePerGas: parseGwei("100") },
    });
    await s.h.chain.mine({ blocks: 1 });
    await s.h.chain.setAutomine(true);
    await s.ended({ request }, ["failed_onchain"]);
    return request.id;
  } finally {
    await s.h.chain.setAutomine(true);
    await s.h.pauseOperator(false);
  }
}

/** A call that a holder sends by itself. */
async function owned(address: Address, call: string, args: readonly unknown[], account?: Address): Promise<void> {
  const wallet = createWalletClient({ transport: http(s.h.node.url) });
  const hash = await wallet.writeContract({
    ...{ account: account ?? (await s.unlocked()), address, abi: parseAbi([`function ${call}`] as never), chain: null },
    ...{ functionName: call.slice(0, call.indexOf("(")) as never, args: args as never },
  });
  await s.h.chain.waitForTransactionReceipt({ hash });
}

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
