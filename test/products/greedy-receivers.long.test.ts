import { type Address, type Hash, type Hex, parseAbiItem } from "viem";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { ProductType } from "../../src/transactions/store/payloads.ts";
import { slowness } from "../setup/wait.ts";
import { burnsAllGas, hostileReceivers, justEnough, polite } from "./receivers.ts";
import { ProductScenario, productReads } from "./scenario.ts";
import { WaitingMints, type Wanted } from "./waiting-mints.ts";

// A receiver does in the block what it did not do when its mint was simulated. The mints beside it are carried out once.

vi.setConfig({ testTimeout: 240_000 * slowness });

let s: ProductScenario;
let mints: WaitingMints;
beforeAll(async () => {
  s = await ProductScenario.start();
  mints = new WaitingMints(s);
});
afterAll(async () => s?.stop());

interface Round {
  contract: Address;
  tokens: Wanted[];
  ids: string[];
  /** Of the first transactions, in the order of the tokens. */
  hashes: string[];
}

/** Mints that wait at once, and get into one block after some of their receivers got another code. */
async function mintBeside(
  type: ProductType,
  count: number,
  greedy: { places: readonly number[]; simulated: Hex; mined: Hex },
): Promise<Round> {
  const contract = await mints.contract(type);
  const tokens = mints.wanted(count);
  const become = async (bytecode: Hex) => {
    for (const place of greedy.places) await s.h.chain.setCode({ address: tokens[place]?.to as Address, bytecode });
  };
  await become(greedy.simulated);
  const ids = await mints.waiting(contract, tokens);
  let hashes: string[] = [];
  await mints.inOneBlock(async () => {
    hashes = await mints.hashes(ids);
    await become(greedy.mined);
  });
  return { contract, tokens, ids, hashes };
}

/** By the chain itself: how often each token was minted to whom it was for. */
async function timesMinted(contract: Address, { to, tokenId }: Wanted): Promise<number> {
  const single = parseAbiItem("event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)");
  const many = parseAbiItem(
    "event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value)",
  );
  const filter = { address: contract, strict: true, fromBlock: 0n } as const;
  const [ones, sums] = await Promise.all([
    s.h.chain.getLogs({ ...filter, event: single, args: { to, tokenId } }),
    s.h.chain.getLogs({ ...filter, event: many, args: { to } }),
  ]);
  return ones.length + sums.filter(({ args }) => args.id === tokenId).length;
}

async function expectMintedOnce({ contract, tokens }: Round, but: readonly number[]): Promise<void> {
  for (const [index, token] of tokens.entries())
    expect(await timesMinted(contract, token), `token ${index}`).toBe(but.includes(index) ? 0 : 1);
}

const others = <Item>(items: readonly Item[], but: readonly number[]) =>
  items.filter((_, index) => !but.includes(index));

test.each(Object.entries(hostileReceivers))("a receiver that %s ends its own mint alone", async (_, mined) => {
  const round = await mintBeside("erc721", 4, { places: [1], simulated: polite("erc721"), mined });
  const { ids, hashes } = round;
  expect(new Set(others(hashes, [1])).size).toBe(1);
  await mints.settled(others(ids, [1]), ["finalized"]);
  expect(others(await mints.hashes(ids), [1])).toEqual(others(hashes, [1]));
  // What it says in the operator's words is no word of the operator's: its request has not become another one's.
  await mints.settled(ids, ["finalized", "failed_onchain", "held"]);
  expect(["failed_onchain", "held"]).toContain((await mints.states(ids))[1]);
  await expectMintedOnce(round, [1]);
});

test("a receiver that is gone when its mint is mined has the token, as any account", async () => {
  const round = await mintBeside("erc721", 4, { places: [1], simulated: polite("erc721"), mined: "0x" });
  await mints.settled(round.ids, ["finalized"]);
  await expectMintedOnce(round, []);
});

test("a receiver that uses as much as leaves its own mint alive leaves the others' alive", async () => {
  for (const type of ["erc721", "erc1155"] as const) {
    const round = await mintBeside(type, 4, { places: [0, 2], simulated: polite(type), mined: justEnough(type) });
    await mints.settled(round.ids, ["finalized"]);
    expect(await mints.hashes(round.ids)).toEqual(round.hashes);
    await expectMintedOnce(round, []);
  }
});

test("a receiver of an ERC-1155 token with code goes alone too", async () => {
  const round = await mintBeside("erc1155", 4, { places: [0], simulated: polite("erc1155"), mined: burnsAllGas });
  const { contract, tokens, ids, hashes } = round;
  expect(new Set(others(hashes, [0])).size).toBe(1);
  await mints.settled(ids, ["finalized", "failed_onchain", "held"]);
  expect(others(await mints.states(ids), [0])).toEqual(["finalized", "finalized", "finalized"]);
  await expectMintedOnce(round, [0]);
  const [, second] = tokens;
  const args = [second?.to ?? "0x", second?.tokenId ?? 0n] as const;
  const call = { address: contract, abi: productReads, functionName: "balanceOf", args } as const;
  expect(await s.h.chain.readContract(call)).toBe(1n);
});

test("contract wallets that take their tokens are minted to, each in a transaction of its own", async () => {
  const kind = { simulated: polite("erc721"), mined: polite("erc721") };
  const round = await mintBeside("erc721", 6, { places: [0, 3, 5], ...kind });
  expect(new Set(round.hashes).size).toBe(4);
  await mints.settled(round.ids, ["finalized"]);
  await expectMintedOnce(round, []);
});

test("where more accounts get code than a batch has gas for, each of the others is repeated alone, and minted once", async () => {
  const greedy = [0, 1, 2];
  const round = await mintBeside("erc721", 5, { places: greedy, simulated: "0x", mined: burnsAllGas });
  const { ids, hashes } = round;
  expect(new Set(hashes).size).toBe(1);
  const { status } = await s.h.chain.getTransactionReceipt({ hash: hashes[0] as Hash });
  expect(status).toBe("reverted");
  await mints.settled(others(ids, greedy), ["finalized"]);
  const repeated = others(await mints.hashes(ids), greedy);
  expect(new Set([...repeated, hashes[0]]).size).toBe(3);
  await expectMintedOnce(round, greedy);
  // They count once in the account's plan: what was repeated is no request of its own.
  const [counted] = await mints.query(
    "SELECT count(*)::int AS count FROM service.intent WHERE root_id = ANY ($1) AND retry_number = 0",
    [ids],
  );
  expect(counted).toEqual({ count: 5 });
});
