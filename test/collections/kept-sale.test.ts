import { type Address, createWalletClient, http, parseEther } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import { KeptReadings, type Sign } from "../../src/collections/kept-readings.ts";
import { getPublicSale } from "../../src/collections/public-sale.ts";
import { ServiceError } from "../../src/errors/errors.ts";
import type { Services } from "../../src/services.ts";
import { createIndexedDatabase } from "../setup/database.ts";
import { addressOf, type Movement, type NftFixture } from "../setup/nft-fixture.ts";
import { patient } from "../setup/wait.ts";
import { RelayHarness, randomAddress } from "../transactions/harness.ts";
import { HttpApi } from "./http-api.ts";
import { LaunchFixture } from "./launch-fixture.ts";

let fixture: LaunchFixture;
let index: NftFixture;
/** A process for which the chain is no local one, and its coin is worth something. */
let services: Services;
let collection: Address;
const owner = privateKeyToAccount(generatePrivateKey());

beforeAll(async () => {
  const h = await RelayHarness.start(async () => {
    const made = await createIndexedDatabase([31337]);
    if (made.nfts[0]) [index] = made.nfts as [NftFixture];
    return made.database;
  });
  fixture = LaunchFixture.of(h, await HttpApi.start(h.process()));
  services = h.process({ LOCAL_GOERLI: "false", COIN_EUR_GOERLI: "0.5" });
  const body = await fixture.deployed({ owner_address: owner.address, max_supply: 50 });
  collection = String(body["predicted_address"]).toLowerCase() as Address;
  await h.chain.setBalance({ address: owner.address, value: parseEther("10") });
  await h.chain.mine({ blocks: 10 });
  await index.setHead(1);
});
afterAll(() => fixture?.stop());

let paid = 0;
let mayPay = true;
const reader = {
  owner: "address:198.51.100.1",
  admit: async (calls: number) => {
    if (!mayPay) throw new ServiceError("rate_limit_exceeded", "no more");
    paid += calls;
  },
};
const sale = (address = collection) => getPublicSale(services, { chain: "goerli", collection: address }, reader);
const asked = () => fixture.h.proxy.seen.length;

async function mint(): Promise<void> {
  const wallet = createWalletClient({ account: owner, transport: http(fixture.h.node.url) });
  const hash = await wallet.writeContract({
    ...{ address: collection, abi: collectionAbi, functionName: "mint", args: [1n], chain: null },
    value: parseEther("0.01"),
  });
  expect((await fixture.h.chain.waitForTransactionReceipt({ hash })).status).toBe("success");
}

test("a reading is one call of the node, of one block, for all who ask; the contract itself says the same", async () => {
  await sale();
  // Nearly the longest texts that a collection may have.
  const prereveal_token_uri = `https://example.com/${"a".repeat(7_900)}`;
  const deployed = await fixture.deployed({ max_supply: 7, tokens_per_mint: 2, prereveal_token_uri });
  const other = String(deployed["predicted_address"]) as Address;
  const [calls, before] = [asked(), paid];
  const answers = await Promise.all(Array.from({ length: 50 }, () => sale(other.toLowerCase() as Address)));
  expect([asked() - calls, paid - before]).toEqual([1, 1]);
  expect(new Set(answers).size).toBe(1);
  const { chain } = fixture.h;
  const info = await chain.readContract({ address: other, abi: collectionAbi, functionName: "getInfo" });
  const head = await chain.getBlock();
  expect(answers[0]).toMatchObject({
    ...{ name: info.deploymentConfig.name, maxSupply: 7n, tokensPerMint: 2n, minted: 0n, reserved: 0n },
    ...{ publicPriceWei: parseEther("0.01"), block: head.number, blockTime: head.timestamp, deployedHere: true },
    ...{ balanceWei: 0n },
  });
});

test("an address without such a contract is none; one that answers too much is asked in parts, which count", async () => {
  await expect(sale(randomAddress().toLowerCase() as Address)).rejects.toMatchObject({ code: "not_found" });
  const talker = randomAddress().toLowerCase() as Address;
  await fixture.h.chain.setCode({ address: talker, bytecode: "0x620186a06000f3" });
  const [calls, before] = [asked(), paid];
  await sale(talker).catch(() => null);
  const endless = randomAddress().toLowerCase() as Address;
  await fixture.h.chain.setCode({ address: endless, bytecode: "0x5b600056" });
  const once = asked();
  await expect(sale(endless)).rejects.toMatchObject({ code: "not_found" });
  expect(asked() - once).toBe(1);
  expect(asked() - calls).toBeLessThanOrEqual(paid - before);
});

test("what the index has of a collection is seen soon, and nobody pays; without it nothing is asked", async () => {
  mayPay = false;
  const [calls, before] = [asked(), (await sale()).minted];
  await mint();
  await index.add([{ from: addressOf(0), to: owner.address.toLowerCase(), contract: collection, tokenId: 0n }]);
  await expect.poll(async () => (await sale()).minted, patient).toBe(before + 1n);
  // What was paid for it is in the same answer.
  expect((await sale()).balanceWei).toBe(await fixture.h.chain.getBalance({ address: collection }));
  const after = asked() - calls;
  expect(after).toBeLessThanOrEqual(3);
  // A start that the service's own update changed has no event.
  mayPay = true;
  const { data } = await fixture.api.graphql(
    `mutation { updateCollection(input: { chain: "goerli", collection: "${collection}", publicMintStart: "2022-07-13T00:00:00Z" }) {
      update { id } userErrors { message } } }`,
  );
  const id = String(data["updateCollection"]?.["update"]?.["id"]);
  await fixture.h.until(fixture.api.services, id, ["mined", "confirmed", "finalized"]);
  mayPay = false;
  await expect.poll(async () => (await sale()).publicStart, patient).toBe(1_657_670_400n);
  mayPay = true;
});

test("where an event costs its sender nothing the visitor pays for the reading, and sees the old one when it cannot", async () => {
  const cheap = fixture.h.process({ LOCAL_GOERLI: "false", COIN_EUR_GOERLI: "0" });
  const look = () => getPublicSale(cheap, { chain: "goerli", collection }, reader);
  const before = (await look()).minted;
  await mint();
  await index.add([{ from: addressOf(0), to: owner.address.toLowerCase(), contract: collection, tokenId: 1n }]);
  mayPay = false;
  const until = performance.now() + 4_000;
  while (performance.now() < until) expect((await look()).minted).toBe(before);
  mayPay = true;
  await expect.poll(async () => (await look()).minted, patient).toBe(before + 1n);
});

test("one question gives the figures of many collections; what is no collection takes no other along", async () => {
  const deployed = await Promise.all([fixture.deployed({ max_supply: 30 }), fixture.deployed({ max_supply: 40 })]);
  const [one = "", other = ""] = deployed.map((body) => String(body["predicted_address"]).toLowerCase());
  const hour = Math.floor(Date.now() / 3_600_000) * 3_600;
  const mints = [hour - 30 * 3_600, hour - 2 * 3_600, hour - 2 * 3_600 + 5, hour].map((timestamp, id) => ({
    ...{ from: addressOf(0), to: owner.address.toLowerCase(), contract: other, tokenId: BigInt(id), timestamp },
  }));
  for (const mint of mints) await index.add([mint]);
  await index.add([{ ...mints[0], from: owner.address.toLowerCase(), to: addressOf(7), timestamp: hour } as Movement]);
  const nobody = randomAddress().toLowerCase();
  const places = [one, nobody, other].map((address) => `of=goerli:${address}`);
  const { status, body } = await fixture.api.get(`/console/figures?${places.join("&")}`);
  expect(status).toBe(200);
  const counted = { from: hour - 23 * 3_600, mints: [...Array(21).fill(0), 2, 0, 1] };
  expect(body["figures"]).toMatchObject([
    {
      address: one,
      sale: { max_supply: "30", balance_wei: "0" },
      mints_by_hour: { mints: Array(24).fill(0) },
      error: null,
    },
    { address: nobody, sale: null, mints_by_hour: null, error: { code: "not_found" } },
    { address: other, sale: { max_supply: "40" }, mints_by_hour: counted, error: null },
  ]);
  const refused = async (query: string) => (await fixture.api.get(`/console/figures${query}`)).body;
  expect(await refused("?of=goerli")).toMatchObject({ error: { code: "value_error" }, detail: [{ loc: ["of"] }] });
  expect(await refused("?of=goerli:0x12")).toMatchObject({ error: { code: "invalid_address" } });
  expect(await refused(`?${Array(101).fill(places[0]).join("&")}`)).toMatchObject({ error: { code: "value_error" } });
  expect(await refused("")).toEqual({ figures: [] });
});

test("who knows of a block gets an answer that has it, however new the kept one is", async () => {
  const before = (await sale()).minted;
  await mint();
  const sinceBlock = await fixture.h.chain.getBlockNumber();
  const since = await getPublicSale(services, { chain: "goerli", collection }, reader, { sinceBlock });
  expect([since.minted, since.block >= sinceBlock]).toEqual([before + 1n, true]);
});

/** Hours of a page, without a node: what a reading is, and when something happens, is given. */
async function watch(
  hours: number,
  everyMs: number,
  visitors: number,
  happens: (second: number) => number,
  patience?: number,
) {
  vi.useFakeTimers({ toFake: ["performance"] });
  try {
    let readings = 0;
    let oldest = 0;
    let readAt = 0;
    const kept = new KeptReadings<{ at: number }>({
      ...{ keptMs: 2_000, mostKeptMs: 60_000, oldestMs: 600_000, signsMs: 1_000, isSame: () => true },
    });
    const second = () => Math.floor(performance.now() / 1_000);
    const sign = (): Sign => ({ name: String(happens(second())), block: 0n, mostKeptMs: 60_000 });
    const question = {
      patience,
      admit: async () => undefined,
      read: async () => {
        readings += 1;
        readAt = performance.now();
        return { at: happens(second()) };
      },
      signs: { look: async () => sign(), has: () => true, isPaid: () => true },
    };
    for (let at = 0; at < (hours * 3_600_000) / everyMs; at += 1) {
      vi.advanceTimersByTime(everyMs);
      await Promise.all(Array.from({ length: visitors }, () => kept.get("sale", question)));
      oldest = Math.max(oldest, performance.now() - readAt);
    }
    return { readings, oldest };
  } finally {
    vi.useRealTimers();
  }
}

test("a page that is open for a day on a quiet collection is a call a minute; a thousand visitors are what one is", async () => {
  const day = await watch(24, 2_000, 1, () => 0);
  expect(day.readings).toBeGreaterThan(1_380);
  expect(day.readings).toBeLessThanOrEqual(1_440 + 10);
  expect(day.oldest).toBeLessThanOrEqual(62_000);
  // Fifty that are asked for together are what one is, too.
  const ofFifty = await watch(24, 4_000, 1, () => 0, 50);
  expect(ofFifty.readings * 50).toBeGreaterThan(1_000);
  expect(ofFifty.readings * 50).toBeLessThanOrEqual(1_440 + 500);
  const launch = (second: number) => Math.floor(second / 3);
  const [one, thousand] = [await watch(0.2, 2_000, 1, launch), await watch(0.2, 2_000, 1_000, launch)];
  expect(thousand).toEqual(one);
});
