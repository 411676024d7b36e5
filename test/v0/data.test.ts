import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createIndexedDatabase, type TestDatabase } from "../setup/database.ts";
import { addressOf, type Movement, nobody } from "../setup/nft-fixture.ts";
import { openReadApis, type ReadApis } from "../setup/read-apis.ts";

const [keys, potions] = [0xa1, 0xb2].map(addressOf) as [string, string];
const [alice, bob, carol, artist] = [0x11, 0x22, 0x33, 0xcc].map(addressOf) as [string, string, string, string];
const time = Date.UTC(2022, 10, 26, 20, 38, 59) / 1000;

const move = (contract: string, tokenId: bigint, from: string, to: string, more: Partial<Movement> = {}): Movement => ({
  ...{ contract, tokenId, from, to, ...more },
});
const potion = (tokenId: bigint, from: string, to: string, amount: bigint, more: Partial<Movement> = {}) =>
  move(potions, tokenId, from, to, { amount, standard: "ERC1155", ...more });

const blocks: Movement[][] = [
  [1n, 2n, 3n].map((id) => move(keys, id, nobody, alice, { timestamp: time, sender: artist })),
  [move(keys, 1n, alice, bob, { timestamp: time + 12 }), move(keys, 2n, alice, nobody, { timestamp: time + 12 })],
  [potion(9n, nobody, alice, 10n, { sender: alice, timestamp: time + 24 })],
  [potion(9n, alice, bob, 4n, { timestamp: time + 36 }), potion(9n, alice, alice, 1n, { timestamp: time + 36 })],
  [move(keys, 4n, nobody, bob, { sender: bob, timestamp: time + 48 })],
];
/** Newest first, as `token from>to`, with the sequence number of its block. */
const moves = blocks
  .flatMap((block, number) => block.map((one, log) => ({ ...one, number, log })))
  .sort((a, b) => b.number - a.number || b.log - a.log);

let database: TestDatabase;
let apis: ReadApis;
let firstBlock: number;
beforeAll(async () => {
  const indexed = await createIndexedDatabase([31337]);
  database = indexed.database;
  const [chain] = indexed.nfts;
  const numbers: number[] = [];
  for (const block of blocks) numbers.push((await chain?.add(block)) ?? 0);
  firstBlock = numbers[0] ?? 0;
  const texts = [
    { contract: keys, id: "1", name: "Gate Key", description: "Opens the garden", document: '{"name":"Gate Key"}' },
    { contract: keys, id: "3", name: "Cellar Key", description: "Nobody keeps this one", document: '{"a":1.0}' },
    { contract: potions, id: "9", name: "Sleep", description: "A potion for the gatekeeper", document: '{"b":2}' },
  ];
  for (const { contract, id, name, description, document } of texts) {
    await database.db
      .insertInto("service.token_metadata")
      .values({
        ...{ chain_id: 31337, contract: Buffer.from(contract.slice(2), "hex"), token_id: id, status: "fresh" },
        ...{ name, description, metadata: document, image: `ipfs://pictures/${id}.png`, token_uri: `ipfs://x/${id}` },
      })
      .execute();
  }
  apis = openReadApis(database);
});
afterAll(() => database.drop());

type Item = Record<string, unknown> & { type: string; token_id: string };
const shortOf = (item: Item) =>
  `${item.type} ${item.token_id} ${item["transfer_from"] ?? ""}>${item["transfer_to"] ?? item["owner_address"]}`;
const kindOf = (one: Movement) => (one.from === nobody ? "mint" : one.to === nobody ? "burn" : "transfer");
const expectedOf = (keep: (one: Movement) => boolean) =>
  moves
    .filter(keep)
    .map((one) =>
      kindOf(one) === "transfer"
        ? `transfer ${one.tokenId} ${one.from}>${one.to}`
        : `${kindOf(one)} ${one.tokenId} >${one.from === nobody ? one.to : one.from}`,
    );

async function walk(path: string): Promise<string[]> {
  const seen: string[] = [];
  let continuation: string | null = "";
  for (let page = 0; continuation !== null && page < 50; page += 1) {
    const { status, body } = await apis.v0(`${path}&page_size=2&continuation=${encodeURIComponent(continuation)}`);
    expect([status, body.error]).toEqual([200, null]);
    seen.push(...body.transactions.map(shortOf));
    continuation = body.continuation;
  }
  return seen;
}

describe("transactions: every walk is the set, newest first", () => {
  const types: [type: string, keep: (one: Movement, account: string) => boolean][] = [
    ["", () => true],
    ["&type=all&type=sale", () => true],
    ["&type=mint", (one) => kindOf(one) === "mint"],
    ["&type=burn", (one) => kindOf(one) === "burn"],
    ["&type=transfer", (one) => kindOf(one) === "transfer"],
    ["&type=mint,burn", (one) => kindOf(one) !== "transfer"],
    ["&type=sale&type=list&type=get_bid", () => false],
  ];
  const directions: typeof types = [
    ["&type=transfer_from", (one, account) => kindOf(one) === "transfer" && one.from === account],
    ["&type=transfer_to", (one, account) => kindOf(one) === "transfer" && one.to === account],
    ["&type=transfer_to&type=transfer_from", (one) => kindOf(one) === "transfer"],
    [
      "&type=transfer_to&type=burn",
      (one, account) => one.to === nobody || (kindOf(one) === "transfer" && one.to === account),
    ],
  ];

  for (const account of [alice, bob, carol]) {
    test.each([...types, ...directions])(`of account ${account.slice(0, 4)}%s`, async (filter, keep) => {
      const mine = (one: Movement) => (one.from === account || one.to === account) && keep(one, account);
      expect(await walk(`/transactions/accounts/${account}?chain=goerli${filter}`)).toEqual(expectedOf(mine));
    });
  }

  for (const contract of [keys, potions, carol]) {
    test.each(types)(`of contract ${contract.slice(0, 4)}%s`, async (filter, keep) => {
      const ofIt = (one: Movement) => one.contract === contract && keep(one, "");
      expect(await walk(`/transactions/nfts/${contract}?chain=goerli${filter}`)).toEqual(expectedOf(ofIt));
    });
  }

  test.each(types)("of one token%s", async (filter, keep) => {
    const ofIt = (one: Movement) => one.contract === keys && one.tokenId === 1n && keep(one, "");
    expect(await walk(`/transactions/nfts/${keys}/1?chain=goerli${filter}`)).toEqual(expectedOf(ofIt));
  });

  test("an item has the members of its kind, in their order", async () => {
    const { body } = await apis.v0(`/transactions/nfts/${potions}/9?chain=rinkeby`);
    const block = {
      block_hash: `0x${"67".repeat(32)}`,
      block_number: firstBlock + 2,
      transaction_date: "2022-11-26T20:39:23",
    };
    expect(JSON.stringify(body.transactions.at(-1))).toBe(
      JSON.stringify({
        ...{ type: "mint", owner_address: alice, contract_address: potions, token_id: "9", quantity: 10 },
        ...{ transaction_hash: `0x${"67".repeat(32)}`, ...block },
      }),
    );
    expect(Object.keys(body.transactions[0]).slice(0, 3)).toEqual(["type", "transfer_from", "transfer_to"]);
  });

  test("page numbers walk the same list", async () => {
    const path = `/transactions/accounts/${alice}?chain=goerli&page_size=3`;
    const pages = await Promise.all(
      [1, 2, 3, 4].map(async (page) => (await apis.v0(`${path}&page_number=${page}`)).body),
    );
    const mine = expectedOf((one) => one.from === alice || one.to === alice);
    expect(pages.flatMap(({ transactions }) => transactions.map(shortOf))).toEqual(mine);
    expect(pages.at(-1).continuation).toBeNull();
  });

  test.each([
    [`/transactions/accounts/alice?chain=goerli`, "invalid_address"],
    [`/transactions/accounts/${alice}`, "parameter_missing"],
    [`/transactions/accounts/${alice}?chain=goerli&type=gift`, "invalid_enumeration"],
    [`/transactions/nfts/${keys}/x?chain=goerli`, "value_error"],
    [`/transactions/nfts/${keys}?chain=goerli&continuation=abc`, "invalid_continuation_string"],
    [`/transactions/nfts/${keys}?chain=goerli&page_size=51`, "value_error"],
  ])("%s: %s", async (path, code) => {
    expect((await apis.v0(path)).body.error.code).toBe(code);
  });
});

test("statistics: what the chain tells is a number, what a market tells is null", async () => {
  const { statistics } = (await apis.v0(`/transactions/stats/${keys}?chain=goerli`)).body;
  expect(statistics).toMatchObject({ total_supply: 3, total_minted: 4, num_owners: 2, floor_price: null });
  expect(Object.keys(statistics)).toHaveLength(24);
  expect(statistics.updated_date).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$/);
  const other = (await apis.v0(`/transactions/stats/${potions}?chain=goerli`)).body.statistics;
  expect(other).toMatchObject({ total_supply: 10, total_minted: 10, num_owners: 2 });
  expect((await apis.v0(`/transactions/stats/${carol}?chain=goerli`)).status).toBe(404);
});

test("contracts of an account: each once, with the number of tokens held, by either kind of page", async () => {
  const path = `/accounts/contracts/${alice}?chain=goerli`;
  const all = (await apis.v0(path)).body;
  const held = all.contracts.map((one: Record<string, unknown>) => [
    one["address"],
    one["type"],
    one["num_nfts_owned"],
  ]);
  expect(held).toEqual([
    [keys, "ERC721", 1],
    [potions, "ERC1155", 1],
  ]);
  expect([all.total, all.continuation]).toEqual([2, null]);
  const first = (await apis.v0(`${path}&page_size=1`)).body;
  expect([first.contracts[0].address, first.total]).toEqual([keys, 2]);
  const second = (await apis.v0(`${path}&page_size=1&continuation=${first.continuation}`)).body;
  expect([second.contracts[0].address, second.continuation]).toEqual([potions, null]);
  const numbered = (await apis.v0(`${path}&page_size=1&page_number=2`)).body;
  expect([numbered.contracts[0].address, numbered.total]).toEqual([potions, 2]);
  const none = (await apis.v0(`/accounts/contracts/${carol}?chain=goerli&type=owns_contract_nfts`)).body;
  expect([none.contracts, none.total, none.continuation]).toEqual([[], 0, null]);
  expect((await apis.v0(`${path}&type=other`)).body.error.code).toBe("invalid_enumeration");
});

test("what an account created: newest mint first, with all owners, without what was burned", async () => {
  const path = `/accounts/creators/${artist}?chain=goerli`;
  const { body } = await apis.v0(`${path}&include=metadata&include=contract_information`);
  expect(body.nfts.map((nft: Item) => [nft.token_id, nft["owner_addresses"]])).toEqual([
    ["3", [alice]],
    ["1", [bob]],
  ]);
  expect(Object.keys(body.nfts[0])).toEqual([
    ...["chain", "contract_address", "token_id", "name", "description", "metadata", "metadata_url", "file_url"],
    ...["animation_url", "cached_file_url", "cached_animation_url", "contract"],
    ...["metadata_status", "metadata_error", "metadata_warnings", "owner_addresses"],
  ]);
  const mine = (await apis.v0(`/accounts/creators/${alice}?chain=goerli&page_size=1`)).body;
  expect([mine.nfts[0].owner_addresses, mine.continuation]).toEqual([[alice, bob], null]);
});

describe("search", () => {
  const find = async (query: string) => {
    const { status, body } = await apis.v0(`/search?${query}`);
    expect([query, status]).toEqual([query, 200]);
    return body.search_results.map((one: Item) => one.token_id);
  };

  test("all words must be there, in name or description; longer ones as beginnings too", async () => {
    expect((await find("chain=goerli&text=key")).toSorted()).toEqual(["1", "3"]);
    expect((await find("text=GATE&chain=goerli")).toSorted()).toEqual(["1", "9"]);
    expect(await find("chain=goerli&text=gate+garden")).toEqual(["1"]);
    expect(await find("chain=goerli&text=ga")).toEqual([]);
    expect(await find("chain=goerli&text='x%26!()")).toEqual([]);
  });

  test("all chains are those with real money; the test chain is asked for by name", async () => {
    expect(await find("text=key")).toEqual([]);
    expect(await find("text=key&chain=all")).toEqual([]);
  });

  test("order, pages and the contract filter", async () => {
    expect(await find("chain=goerli&text=gate&order_by=mint_date")).toEqual(["9", "1"]);
    expect(await find("chain=goerli&text=gate&order_by=mint_date&sort_order=asc&page_size=1&page_number=2")).toEqual([
      "9",
    ]);
    expect(await find(`chain=goerli&text=gate&filter_by_contract_address=${potions}`)).toEqual(["9"]);
    expect(await find("chain=goerli&text=gate&page_number=3")).toEqual([]);
  });

  test("a result's members", async () => {
    expect((await apis.v0("/search?chain=goerli&text=cellar")).body.search_results).toEqual([
      {
        ...{ chain: "goerli", contract_address: keys, token_id: "3", name: "Cellar Key" },
        ...{ cached_file_url: "https://ipfs.io/ipfs/pictures/3.png", description: "Nobody keeps this one" },
        mint_date: "2022-11-26T20:38:59",
      },
    ]);
  });

  test.each([
    ["", "parameter_missing"],
    ["text=", "parameter_missing"],
    ["text=%2B%2B", "parameter_missing"],
    ["text=a&chain=mars", "invalid_enumeration"],
    ["text=a&order_by=price", "invalid_enumeration"],
    ["text=a&filter_by_contract_address=1", "invalid_address"],
  ])("?%s is refused: %s", async (query, code) => {
    expect((await apis.v0(`/search?${query}`)).body.error.code).toBe(code);
  });
});

test("a text that would make a page boundless is left out of lists and whole in the details", async () => {
  const long = JSON.stringify({ name: "Big", image: "x".repeat(70_000) });
  await database.db
    .updateTable("service.token_metadata")
    .set({ metadata: long, description: "y".repeat(20_000) })
    .where("token_id", "=", "3")
    .execute();
  const list = (await apis.v0(`/accounts/${alice}?chain=goerli&include=metadata`)).body;
  expect([list.nfts[0].metadata, list.nfts[0].description, list.nfts[0].name]).toEqual([null, null, "Cellar Key"]);
  const { nft } = (await apis.v0(`/nfts/${keys}/3?chain=goerli`)).body;
  expect(nft.metadata.image).toHaveLength(70_000);
});
