import { type Address, createWalletClient, http, parseEther } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import { watchSale } from "../../src/collections/public-sale.ts";
import { ServiceError } from "../../src/errors/errors.ts";
import { type EventClient, subscribeTo } from "../graphql/event-client.ts";
import { patient } from "../setup/wait.ts";
import { LaunchFixture } from "./launch-fixture.ts";

let fixture: LaunchFixture;
let collection: Address;
const clients: EventClient[] = [];
const owner = privateKeyToAccount(generatePrivateKey());
beforeAll(async () => {
  fixture = await LaunchFixture.start();
  const body = await fixture.deployed({
    mint_price: 0.01,
    max_supply: 9,
    tokens_per_mint: 3,
    owner_address: owner.address,
  });
  collection = String(body["predicted_address"]).toLowerCase() as Address;
  await fixture.h.chain.setBalance({ address: owner.address, value: parseEther("10") });
});
afterEach(() => {
  for (const client of clients.splice(0)) client.destroy();
});
afterAll(() => fixture?.stop());

const query = `subscription ($address: Address!) { collection(chain: "goerli", collection: $address) {
  chain address name maxSupply minted reserved publicPriceWei publicStart presaleStart revealed block } }`;

async function watch(address: string, key: string | null = null): Promise<EventClient> {
  const client = await subscribeTo(fixture.api.base, "POST", key, { query, variables: { address } });
  clients.push(client);
  return client;
}

interface Sale {
  data?: { collection: Record<string, unknown> | null };
  errors?: { extensions: { code: string } }[];
}
const salesOf = (client: EventClient) => client.events() as unknown as Sale[];
const minted = (client: EventClient) => salesOf(client).map(({ data }) => data?.collection?.["minted"]);

async function mint(count: bigint): Promise<void> {
  const wallet = createWalletClient({ account: owner, transport: http(fixture.h.node.url) });
  const hash = await wallet.writeContract({
    ...{ address: collection, abi: collectionAbi, functionName: "mint", args: [count], chain: null },
    value: parseEther("0.01") * count,
  });
  expect((await fixture.h.chain.waitForTransactionReceipt({ hash })).status).toBe("success");
}

test("everybody without a key is told of each mint, and of nothing else", async () => {
  const [first, second] = [await watch(collection), await watch(collection, fixture.api.key)];
  await expect.poll(() => [minted(first), minted(second)], patient).toEqual([["0"], ["0"]]);
  expect(salesOf(first)[0]?.data?.collection).toMatchObject({
    ...{ chain: "goerli", address: collection, maxSupply: "9", publicPriceWei: "10000000000000000" },
    ...{ publicStart: String(Date.parse("2022-07-12T11:30:48Z") / 1_000), presaleStart: null, revealed: false },
  });
  await mint(2n);
  await expect.poll(() => minted(first), patient).toEqual(["0", "2"]);
  // Blocks without a mint change nothing that a visitor sees.
  await fixture.h.chain.mine({ blocks: 3 });
  await mint(1n);
  await expect
    .poll(() => [minted(first), minted(second)], patient)
    .toEqual([
      ["0", "2", "3"],
      ["0", "2", "3"],
    ]);
  const supply = await fixture.h.chain.readContract({
    ...{ address: collection, abi: collectionAbi, functionName: "totalSupply" },
  });
  expect(String(supply)).toBe(minted(first).at(-1));
});

test("an address without a collection is told as that, and an account's own fields need a key still", async () => {
  const nothing = await watch(`0x${"7".repeat(40)}`);
  await expect.poll(() => nothing.text(), patient).toContain("not_found");
  const { body } = await fixture.api.post(
    "/graphql",
    { query: `{ collection(chain: "goerli", address: "${collection}") { name } }` },
    { Authorization: "" },
  );
  expect(JSON.stringify(body)).toContain("authorization_missing");
});

test("a client without a key has as many streams as an account, and gets them back", async () => {
  const all = await Promise.all(Array.from({ length: 21 }, () => watch(collection)));
  await expect
    .poll(() => all.filter((client) => client.text().includes("rate_limit_exceeded")).length, patient)
    .toBe(1);
  for (const client of clients.splice(0)) client.destroy();
  await expect.poll(() => fixture.api.services.auth.streams.open, patient).toBe(0);
  const again = await watch(collection);
  await expect.poll(() => minted(again), patient).toHaveLength(1);
});

test("a contract is read only as often as its client may ask, whosever collection it is", async () => {
  const { services } = fixture.api;
  const elsewhere: Address = `0x${"5".repeat(40)}`;
  const bytecode = await fixture.h.chain.getCode({ address: collection });
  await fixture.h.chain.setCode({ address: elsewhere, bytecode: bytecode ?? "0x" });
  const asked = { own: 0, elsewhere: 0 };
  let closed = true;
  const watched = async (address: Address, whose: keyof typeof asked) =>
    await watchSale(services, `address:${whose}`, { chain: "goerli", collection: address }, async () => {
      asked[whose] += 1;
      if (closed) throw new ServiceError("rate_limit_exceeded", "not now");
    });
  const streams = [await watched(collection, "own"), await watched(elsewhere, "elsewhere")] as const;
  for (const stream of streams) expect((await stream.next()).value?.block).toBeGreaterThan(0n);
  const waiting = streams.map((stream) => stream.next());
  await mint(1n);
  await expect.poll(() => Math.min(asked.elsewhere, asked.own), patient).toBeGreaterThan(2);
  // What was refused has ended nothing.
  closed = false;
  expect((await waiting[0])?.value?.minted).toBeGreaterThan(0n);
  for (const stream of streams) await stream.return();
  expect(services.auth.streams.open).toBe(0);
});
