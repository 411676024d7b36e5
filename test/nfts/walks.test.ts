import { afterAll, beforeAll, expect, test } from "vitest";
import { createIndexedDatabase, type TestDatabase } from "../setup/database.ts";
import { addressOf, type Movement, nobody } from "../setup/nft-fixture.ts";
import { openReadApis, type ReadApis } from "../setup/read-apis.ts";

const [keys, potions, old, foreign] = [0xa1, 0xb2, 0xc3, 0xd4].map(addressOf) as [string, string, string, string];
const [alice, bob, empty] = [0x11, 0x22, 0x33].map(addressOf) as [string, string, string];
const huge = 2n ** 256n - 1n;
const days = (count: number) => Math.floor(Date.now() / 1000) - count * 86_400;

const mint = (contract: string, tokenId: bigint, to: string, more: Partial<Movement> = {}): Movement => ({
  contract,
  tokenId,
  from: nobody,
  to,
  ...more,
});
const potion = (tokenId: bigint, from: string, to: string, amount: bigint): Movement => ({
  contract: potions,
  tokenId,
  from,
  to,
  amount,
  standard: "ERC1155",
});

const blocks: Movement[][] = [
  // Minted before the first indexed block: the ledger only sees it move.
  [{ contract: old, tokenId: 77n, from: bob, to: alice, timestamp: days(400) }],
  [mint(old, 1n, alice, { timestamp: days(200) }), mint(old, 2n, alice, { timestamp: days(91) })],
  [mint(old, 3n, alice, { timestamp: days(89) })],
  [...[0n, 10n, 2n, 3n, 2n ** 64n + 1n, 2n ** 255n, huge].map((id) => mint(keys, id, alice)), mint(keys, 4n, bob)],
  [
    potion(1n, nobody, alice, 10n),
    potion(huge, nobody, alice, 1n),
    potion(5n, nobody, bob, 3n),
    potion(6n, nobody, bob, 3n),
  ],
  [potion(1n, alice, bob, 4n), potion(5n, bob, nobody, 3n), potion(6n, bob, nobody, 1n)],
  // Burned, and minted again after its burn.
  [mint(keys, 20n, bob), { contract: keys, tokenId: 3n, from: alice, to: nobody }],
  [{ contract: keys, tokenId: 20n, from: bob, to: nobody }],
  [mint(keys, 20n, alice), mint(keys, 21n, bob)],
];

/** The judge: balances by replaying the movements. */
function replay(all: readonly Movement[]) {
  const balances = new Map<string, { contract: string; tokenId: bigint; owner: string; amount: bigint }>();
  const change = (move: Movement, owner: string, amount: bigint) => {
    const key = `${move.contract}:${move.tokenId}:${owner}`;
    const before = balances.get(key)?.amount ?? 0n;
    balances.set(key, { contract: move.contract, tokenId: move.tokenId, owner, amount: before + amount });
  };
  for (const move of all) {
    if (move.from !== nobody) change(move, move.from, -(move.amount ?? 1n));
    if (move.to !== nobody) change(move, move.to, move.amount ?? 1n);
  }
  return [...balances.values()].filter((balance) => balance.amount > 0n);
}

const held = replay(blocks.flat());
const order = (a: { contract: string; tokenId: bigint }, b: { contract: string; tokenId: bigint }) =>
  a.contract < b.contract ? -1 : a.contract > b.contract ? 1 : Number(a.tokenId - b.tokenId);
const named = (items: readonly { contract: string; tokenId: bigint }[]) =>
  items.map((item) => `${item.contract}/${item.tokenId}`);
const holdingsOf = (owner: string) => named(held.filter((balance) => balance.owner === owner).sort(order));
const tokensOf = (contract: string) => [
  ...new Set(named(held.filter((balance) => balance.contract === contract).sort(order))),
];

let database: TestDatabase;
let apis: ReadApis;
let free: ReadApis;
beforeAll(async () => {
  const indexed = await createIndexedDatabase([31337, 31338]);
  database = indexed.database;
  const [chain, other] = indexed.nfts;
  for (const block of blocks) await chain?.add(block);
  // The same account and contract on another chain must not show.
  await other?.add([mint(keys, 5_555n, alice), mint(foreign, 1n, alice)]);
  apis = openReadApis(database);
  free = openReadApis(database, { tier: "free" });
});
afterAll(() => database.drop());

type Item = { contract_address: string; token_id: string };
const itemName = (item: Item) => `${item.contract_address}/${item.token_id}`;

async function walkV0(api: ReadApis, path: string): Promise<{ seen: string[]; totals: Set<number> }> {
  const seen: string[] = [];
  const totals = new Set<number>();
  let continuation: string | null = "";
  for (let page = 0; continuation !== null && page < 50; page += 1) {
    const { status, body } = await api.v0(`${path}&page_size=2&continuation=${encodeURIComponent(continuation)}`);
    expect([status, body.error]).toEqual([200, null]);
    seen.push(...body.nfts.map(itemName));
    totals.add(body.total);
    continuation = body.continuation;
  }
  return { seen, totals };
}

async function walkByNumber(api: ReadApis, path: string): Promise<string[]> {
  const seen: string[] = [];
  for (let number = 1; number < 50; number += 1) {
    const { body } = await api.v0(`${path}&page_size=2&page_number=${number}`);
    if (body.nfts.length === 0) {
      expect(body.continuation).toBeNull();
      break;
    }
    seen.push(...body.nfts.map(itemName));
  }
  return seen;
}

const fields =
  "{ totalCount pageInfo { hasNextPage hasPreviousPage startCursor endCursor } edges { cursor node { contractAddress tokenId } } nodes { tokenId } }";

async function walkGraphQL(
  api: ReadApis,
  field: (page: string) => string,
  pick: (data: never) => unknown,
  backward = false,
) {
  const seen: string[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < 50; page += 1) {
    const at: string = backward
      ? `last: 2${cursor ? `, before: "${cursor}"` : ""}`
      : `first: 2${cursor ? `, after: "${cursor}"` : ""}`;
    const { data, code } = await api.graphql(`{ ${field(at)} }`);
    expect(code).toBeUndefined();
    const connection = pick(data as never) as {
      edges: { cursor: string; node: { contractAddress: string; tokenId: string } }[];
      pageInfo: {
        hasNextPage: boolean;
        hasPreviousPage: boolean;
        startCursor: string | null;
        endCursor: string | null;
      };
    };
    const names = connection.edges.map(({ node }) => `${node.contractAddress}/${node.tokenId}`);
    if (backward) seen.unshift(...names);
    else seen.push(...names);
    const { pageInfo } = connection;
    expect(backward ? pageInfo.hasNextPage : pageInfo.hasPreviousPage).toBe(page > 0);
    if (!(backward ? pageInfo.hasPreviousPage : pageInfo.hasNextPage)) break;
    cursor = backward ? pageInfo.startCursor : pageInfo.endCursor;
  }
  return seen;
}

const accountCases = [
  { name: "all", filter: "", args: "", keep: () => true },
  {
    name: "without ERC-721",
    filter: "&exclude=erc721",
    args: ", exclude: [ERC721]",
    keep: (name: string) => name.startsWith(potions),
  },
  {
    name: "without ERC-1155",
    filter: "&exclude=erc1155",
    args: ", exclude: [ERC1155]",
    keep: (name: string) => !name.startsWith(potions),
  },
  { name: "of nothing", filter: "&exclude=erc1155,erc721", args: ", exclude: [ERC1155, ERC721]", keep: () => false },
  {
    name: "of one contract",
    filter: `&contract_address=${keys.toUpperCase().replace("0X", "0x")}`,
    args: `, contract: "${keys}"`,
    keep: (name: string) => name.startsWith(keys),
  },
  {
    name: "of one contract, excluded",
    filter: `&contract_address=${keys}&exclude=erc721`,
    args: `, contract: "${keys}", exclude: [ERC721]`,
    keep: () => false,
  },
];

for (const owner of [alice, bob, empty]) {
  test.each(accountCases)(
    `the holdings of ${owner.slice(0, 4)}, $name: every walk is the set`,
    async ({ filter, args, keep }) => {
      const expected = holdingsOf(owner).filter(keep);
      const path = `/accounts/${owner}?chain=goerli${filter}`;
      const { seen, totals } = await walkV0(apis, path);
      expect(seen).toEqual(expected);
      expect([...totals]).toEqual([expected.length]);
      expect(await walkByNumber(apis, path)).toEqual(expected);
      const field = (page: string) =>
        `account(address: "${owner}") { nfts(chain: "goerli"${args}, ${page}) ${fields} }`;
      const pick = (data: { account: { nfts: unknown } }) => data.account.nfts;
      expect(await walkGraphQL(apis, field, pick as never)).toEqual(expected);
      expect(await walkGraphQL(apis, field, pick as never, true)).toEqual(expected);
    },
  );
}

test.each([keys, potions, old])("the live tokens of %s: every walk is the set", async (contract) => {
  const expected = tokensOf(contract);
  const path = `/nfts/${contract}?chain=goerli`;
  const { seen, totals } = await walkV0(apis, path);
  expect(seen).toEqual(expected);
  expect([...totals]).toEqual([expected.length]);
  expect(await walkByNumber(apis, path)).toEqual(expected);
  const field = (page: string) => `contract(chain: "goerli", address: "${contract}") { nfts(${page}) ${fields} }`;
  const pick = (data: { contract: { nfts: unknown } }) => data.contract.nfts;
  expect(await walkGraphQL(apis, field, pick as never)).toEqual(expected);
  expect(await walkGraphQL(apis, field, pick as never, true)).toEqual(expected);
});

/** Live tokens by their first mint, newest first. */
function mintedSince(timestamp: number): string[] {
  const live = new Set(named(held));
  const mints = blocks.flat().filter((move) => move.from === nobody && (move.timestamp ?? days(0)) >= timestamp);
  const first = new Map<string, number>();
  for (const [index, move] of mints.entries()) {
    const [name = ""] = named([move]);
    if (live.has(name) && !first.has(name)) first.set(name, index);
  }
  return [...first].sort((a, b) => b[1] - a[1]).map(([name]) => name);
}

test.each([
  { plan: "enterprise" as const, since: 0 },
  { plan: "free" as const, since: days(90) },
])(
  "the chain's tokens for a caller of plan $plan: newest mint first, inside the plan's window",
  async ({ plan, since }) => {
    const api = plan === "free" ? free : apis;
    const expected = mintedSince(since);
    expect(expected.length).toBeGreaterThan(8);
    const { seen, totals } = await walkV0(api, "/nfts?chain=goerli");
    expect(seen).toEqual(expected);
    expect([...totals]).toEqual([undefined]);
    expect(await walkByNumber(api, "/nfts?chain=goerli")).toEqual(expected);
    const field = (page: string) => `chain(name: "goerli") { latestNfts(${page}) ${fields} }`;
    const pick = (data: { chain: { latestNfts: unknown } }) => data.chain.latestNfts;
    expect(await walkGraphQL(api, field, pick as never)).toEqual(expected);
    expect(await walkGraphQL(api, field, pick as never, true)).toEqual(expected);
  },
);

test("both APIs give the same cursor, and it leads on in either", async () => {
  const first = await apis.v0(`/nfts/${keys}?chain=goerli&page_size=3`);
  const { data } = await apis.graphql(
    `{ contract(chain: "goerli", address: "${keys}") { nfts(first: 3) { pageInfo { endCursor } } } }`,
  );
  expect(data.contract.nfts.pageInfo.endCursor).toBe(first.body.continuation);
});

test("a cursor that was changed, or belongs to another list, is refused by both APIs", async () => {
  const { body } = await apis.v0(`/nfts/${keys}?chain=goerli&page_size=3`);
  const cursor: string = body.continuation;
  const changed = `${cursor.startsWith("A") ? "B" : "A"}${cursor.slice(1)}`;
  for (const bad of [changed, "x", "AAAA", `${cursor}A`, cursor.slice(0, -1), "../..", "é"]) {
    const answer = await apis.v0(`/nfts/${keys}?chain=goerli&continuation=${encodeURIComponent(bad)}`);
    expect([bad, answer.status, answer.body.error.code]).toEqual([bad, 422, "invalid_continuation_string"]);
    const { code } = await apis.graphql(
      `query($after: String) { contract(chain: "goerli", address: "${keys}") { nfts(after: $after) { totalCount } } }`,
      { after: bad },
    );
    expect(code).toBe("invalid_continuation_string");
  }
  const elsewhere = await apis.v0(`/nfts/${potions}?chain=goerli&continuation=${cursor}`);
  expect(elsewhere.body.error.code).toBe("invalid_continuation_string");
});

test("a page number far beyond the list is an empty page, and is no walk through millions of rows", async () => {
  const { status, body } = await apis.v0(`/nfts/${keys}?chain=goerli&page_number=99999999999999`);
  expect([status, body.nfts, body.continuation]).toEqual([200, [], null]);
  expect(body.total).toBe(tokensOf(keys).length);
  const chain = await apis.v0("/nfts?chain=goerli&page_number=99999999999999");
  expect(chain.body.error.code).toBe("value_error");
});

test("every read is one statement through either API, and one for the object that has the list", async () => {
  const reads = [
    [`/nfts/${keys}/2?chain=goerli`, `nft(chain: "goerli", contract: "${keys}", tokenId: "2") { owner metadata }`],
    [
      `/nfts/${keys}?chain=goerli&include=all&page_size=2`,
      `contract(chain: "goerli", address: "${keys}") { nfts(first: 2) { nodes { name metadata } totalCount } }`,
    ],
    [
      `/nfts/${keys}?chain=goerli&page_size=2`,
      `contract(chain: "goerli", address: "${keys}") { nfts(first: 2) { nodes { name } totalCount } }`,
    ],
    [
      "/nfts?chain=goerli&include=all&page_size=2",
      `chain(name: "goerli") { latestNfts(first: 2) { nodes { metadata contract { name } } } }`,
    ],
    [
      `/accounts/${alice}?chain=goerli&include=metadata&include=contract_information&page_size=2`,
      `account(address: "${alice}") { nfts(chain: "goerli", first: 2) { nodes { metadata contract { name } } totalCount } }`,
    ],
    [
      `/accounts/${alice}?chain=goerli&contract_address=${keys}&page_size=2`,
      `account(address: "${alice}") { nfts(chain: "goerli", contract: "${keys}", first: 2) { nodes { name } totalCount } }`,
    ],
  ] as const;
  for (const [path, field] of reads) {
    apis.takeStatements();
    await apis.v0(path);
    const rest = apis.takeStatements();
    await apis.graphql(`{ ${field} }`);
    const graph = apis.takeStatements();
    // The same rows by the same index; test/graphql/same-answers.test.ts compares the texts of known operations.
    expect([rest.length, graph.length]).toEqual([1, field.startsWith("contract") ? 2 : 1]);
  }
});
