import { afterAll, beforeAll, expect, test } from "vitest";
import { createIndexedDatabase, type TestDatabase } from "../setup/database.ts";
import { addressOf, nobody } from "../setup/nft-fixture.ts";
import { openReadApis, type ReadApis } from "../setup/read-apis.ts";

// Lists inside of lists: whatever their number, the objects of one level are read by one statement, and each gets
// what it gets when it is asked for alone.
const [alice, bob, potions] = [0x11, 0x22, 0xb2].map(addressOf) as [string, string, string];
const contracts = Array.from({ length: 20 }, (_, at) => addressOf(0x40 + at));
let database: TestDatabase;
let apis: ReadApis;

type Json = ReturnType<typeof JSON.parse>;

beforeAll(async () => {
  const indexed = await createIndexedDatabase([31337]);
  database = indexed.database;
  const [chain] = indexed.nfts;
  for (const [at, contract] of contracts.entries()) {
    const owners = [alice, bob, ...Array.from({ length: at % 4 }, (_, further) => addressOf(0x70 + further))];
    await chain?.add(owners.map((to, id) => ({ contract, tokenId: BigInt(id + 1), from: nobody, to })));
    for (let id = 1; id <= 2; id += 1)
      await database.db
        .insertInto("service.token_metadata")
        .values({
          ...{ chain_id: 31337, contract: Buffer.from(contract.slice(2), "hex"), token_id: String(id) },
          ...{ status: "fresh", name: `#${id}` },
          metadata: JSON.stringify({ attributes: [{ trait_type: "Fur", value: `${at}/${id}` }] }),
        })
        .execute();
  }
  await chain?.add([
    { contract: potions, tokenId: 1n, from: nobody, to: alice, amount: 3n, standard: "ERC1155" },
    { contract: potions, tokenId: 1n, from: nobody, to: bob, amount: 4n, standard: "ERC1155" },
  ]);
  apis = openReadApis(database);
});
afterAll(() => database.drop());

async function ask(source: string, variables: Record<string, unknown> = {}): Promise<{ data: Json; sql: string[] }> {
  apis.takeStatements();
  const { data, code } = await apis.graphql(source, variables);
  expect([source, code]).toEqual([source, undefined]);
  return { data, sql: apis.takeStatements() };
}

const ofContract = `address traits { name tokenCount values { value tokenCount } }
  owners(first: 3) { nodes { address tokenCount } pageInfo { hasNextPage endCursor } }`;
const tree = `query Tree($who: Address!, $first: Int!) { account(address: $who) {
  nfts(chain: "goerli", first: $first) { nodes { tokenId contract { ${ofContract} } } } } }`;

test("account, 20 NFTs, their contracts, the traits and three owners of each: three statements", async () => {
  const { data, sql } = await ask(tree, { who: alice, first: 20 });
  const { nodes } = data.account.nfts;
  expect(nodes).toHaveLength(20);
  expect(sql).toHaveLength(3);
  // As many for one NFT.
  expect((await ask(tree, { who: alice, first: 1 })).sql).toHaveLength(3);
  for (const { contract } of nodes) {
    const alone = await ask(`{ contract(chain: "goerli", address: "${contract.address}") { ${ofContract} } }`);
    expect(contract).toEqual(alone.data.contract);
    expect(contract.owners.nodes.length).toBeGreaterThan(1);
    expect(contract.traits[0].name).toBe("Fur");
  }
});

const lists: [name: string, selection: string][] = [
  ["tokens", "nfts(first: 2) { nodes { tokenId name } totalCount pageInfo { endCursor } }"],
  ["the last tokens", "nfts(last: 1) { nodes { tokenId } pageInfo { hasPreviousPage startCursor } }"],
  ["tokens with a trait", 'nfts(traits: { name: "Fur" }) { nodes { tokenId } }'],
  ["tokens of an owner", `nfts(owner: "${bob}") { edges { amount node { tokenId } } totalCount }`],
  ["owners with their number", "owners(first: 1) { nodes { address } totalCount }"],
  ["holders", "holders(first: 2) { nodes { tokenId address amount } pageInfo { endCursor } }"],
  ["holders of the past", 'holders(first: 2, atBlock: "100") { nodes { tokenId address amount } }'],
  ["movements", "transfers(first: 2) { nodes { kind tokenId to } pageInfo { endCursor hasNextPage } }"],
  ["movements of a kind", "transfers(first: 2, kinds: [BURN]) { nodes { tokenId } }"],
  ["numbers", "statistics { totalSupply totalMinted ownerCount tokenCount transferCount }"],
  ["progress", "metadataProgress { total fresh pending failed }"],
];

test.each(lists)("%s of several contracts are one statement, and each one's own", async (_name, selection) => {
  const { data, sql } = await ask(
    `{ account(address: "${alice}") { contracts(chain: "goerli", first: 5) { nodes { contract { address list: ${selection} } } } } }`,
  );
  expect(sql).toHaveLength(2);
  const { nodes } = data.account.contracts;
  expect(nodes).toHaveLength(5);
  for (const { contract } of nodes) {
    const alone = await ask(
      `{ contract(chain: "goerli", address: "${contract.address}") { address list: ${selection} } }`,
    );
    expect(contract).toEqual(alone.data.contract);
  }
});

test("holders and history of several tokens, and the tokens and contracts of movements", async () => {
  const ofToken = `holders(first: 2) { nodes { address amount } pageInfo { endCursor } }
    transfers(first: 3) { nodes { to amount nft { tokenId name } contract { address } } }`;
  const { data, sql } = await ask(
    `{ account(address: "${alice}") { nfts(chain: "goerli", first: 100) { nodes { contractAddress tokenId ${ofToken} } } } }`,
  );
  // The page, holders, movements, and the tokens and contracts of those.
  expect(sql).toHaveLength(5);
  const { nodes } = data.account.nfts;
  expect(nodes).toHaveLength(21);
  for (const { contractAddress, tokenId, ...shown } of nodes.slice(-4)) {
    const alone = await ask(
      `{ nft(chain: "goerli", contract: "${contractAddress}", tokenId: "${tokenId}") { ${ofToken} } }`,
    );
    expect(shown).toEqual(alone.data.nft);
  }
  expect(nodes.at(-1).holders.nodes).toEqual([
    { address: alice, amount: "3" },
    { address: bob, amount: "4" },
  ]);
});

test("the lists of several accounts are one statement each", async () => {
  const ids = [alice, bob, addressOf(0x70), addressOf(0x99)].map((address) =>
    Buffer.from(`Account:${address}`).toString("base64url"),
  );
  const ofAccount = `address nfts(chain: "goerli", first: 3) { nodes { tokenId contract { address } } totalCount }
    transfers(chain: "goerli", first: 2) { nodes { to tokenId } }`;
  const { data, sql } = await ask(`query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Account { ${ofAccount} } } }`, {
    ids,
  });
  expect(sql).toHaveLength(2);
  for (const account of data.nodes) {
    const alone = await ask(`{ account(address: "${account.address}") { ${ofAccount} } }`);
    expect(account).toEqual(alone.data.account);
  }
  expect(data.nodes.map((account: Json) => account.nfts.totalCount)).toEqual([21, 21, 15, 0]);
});

test("a cursor goes on with the list it is of, and the lists beside refuse it", async () => {
  const page = `query ($c: Address!, $after: String) { contract(chain: "goerli", address: $c) {
    owners(first: 1, after: $after) { nodes { address } pageInfo { hasNextPage endCursor } } } }`;
  const seen: string[] = [];
  let after: string | null = null;
  for (let more = true; more; ) {
    const { data } = await ask(page, { c: contracts[3], after });
    seen.push(...data.contract.owners.nodes.map(({ address }: Json) => address));
    after = data.contract.owners.pageInfo.endCursor;
    more = data.contract.owners.pageInfo.hasNextPage;
  }
  expect(seen).toEqual([...seen].sort());
  expect(seen).toHaveLength(5);
  const mixed = await apis.graphql(
    `query ($after: String) { account(address: "${alice}") { contracts(chain: "goerli", first: 20) { nodes { contract {
      address owners(first: 5, after: $after) { nodes { address } } } } } } }`,
    {
      after:
        seen.length > 0
          ? (await ask(page, { c: contracts[3], after: null })).data.contract.owners.pageInfo.endCursor
          : null,
    },
  );
  expect(mixed.code).toBe("invalid_continuation_string");
  const answered = mixed.data.account.contracts.nodes.filter(({ contract }: Json) => contract.owners !== null);
  expect(answered.map(({ contract }: Json) => contract.address)).toEqual([contracts[3]]);
  expect(answered[0].contract.owners.nodes.map(({ address }: Json) => address)).toEqual(seen.slice(1));
});

test("a chain, its head and its newest tokens; a name of no chain is refused with the names there are", async () => {
  const { data } = await ask(
    `{ chain(name: "rinkeby") { name chainId latestNfts(first: 1) { nodes { chain contractAddress } } transfers(first: 1) { nodes { chain } } }
       chains { name chainId head { block lagSeconds } } }`,
  );
  expect(data.chain).toMatchObject({ name: "rinkeby", chainId: 31337 });
  expect(data.chain.latestNfts.nodes).toEqual([{ chain: "rinkeby", contractAddress: potions }]);
  expect(data.chain.transfers.nodes).toEqual([{ chain: "rinkeby" }]);
  expect(data.chains.map(({ name }: Json) => name).sort()).toEqual(["goerli", "polygon"]);
  expect((await apis.graphql('{ chain(name: "mars") { chainId } }')).code).toBe("invalid_enumeration");
  expect((await apis.graphql("{ chain(name: 5) { chainId } }")).code).toBe("value_error");
});

test("search results have their contracts, which the search does not read", async () => {
  const { data, sql } = await ask(
    '{ search(text: "1", chain: "goerli", first: 5) { tokenId contract { address standard } } }',
  );
  expect(data.search).toHaveLength(5);
  expect(data.search.every((one: Json) => one.contract.standard === "ERC721")).toBe(true);
  expect(sql).toHaveLength(2);
});
