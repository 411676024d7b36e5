import { randomUUID } from "node:crypto";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createAccount } from "../../src/auth/keys.ts";
import { createHttpServer } from "../../src/server/http-server.ts";
import { createIndexedDatabase, type TestDatabase } from "../setup/database.ts";
import { addressOf, nobody } from "../setup/nft-fixture.ts";
import { openReadApis, type ReadApis } from "../setup/read-apis.ts";
import { patient } from "../setup/wait.ts";

// A plan's reads are all put together as text, and those of resolvers never are.
const plan = "by a plan: ";
const [keys, potions, alice] = [0xa1, 0xb2, 0x11].map(addressOf) as [string, string, string];
const key = randomUUID();

let database: TestDatabase;
let apis: ReadApis;
let server: Server;
let url: string;
beforeAll(async () => {
  const indexed = await createIndexedDatabase([31337]);
  database = indexed.database;
  const [chain] = indexed.nfts;
  await chain?.add([1n, 2n, 10n, 2n ** 200n].map((tokenId) => ({ contract: keys, tokenId, from: nobody, to: alice })));
  await chain?.add([
    { contract: potions, tokenId: 5n, from: nobody, to: alice, amount: 7n, standard: "ERC1155" },
    { contract: keys, tokenId: 10n, from: alice, to: nobody },
  ]);
  const odd = 'quote " back \\ tab \t line \n bell \u0007 del \u007f lines \u2028 face 😀 umlaut ä';
  const attributes = [
    { trait_type: "Fur", value: "gold" },
    { trait_type: "Level", value: 2 },
  ];
  const rows = [
    {
      id: "1",
      metadata: `{ "name" : "Odd",\n "big": 123456789012345678901234567890, "e": 1.50, "attributes": ${JSON.stringify(attributes)} }`,
      name: odd,
    },
    { id: "2", metadata: JSON.stringify({ a: odd, nul: "\u0000", raw: '"\\u0000x:"' }), name: null },
  ];
  for (const { id, metadata, name } of rows) {
    await database.db
      .insertInto("service.token_metadata")
      .values({
        ...{ chain_id: 31337, contract: Buffer.alloc(20, 0xa1), token_id: id, status: "fresh", metadata, name },
        ...{ description: odd, image: "ipfs://x", token_uri: "ipfs://y", cached_image: `c/${id}'` },
        ...(id === "1"
          ? { file_width: 3, file_height: 4, file_size: 5n, fetched_at: new Date(1_700_000_000_987) }
          : {}),
      })
      .execute();
  }
  await database.db
    .insertInto("service.contract_metadata")
    .values({ chain_id: 31337, address: Buffer.alloc(20, 0xa1), name: odd, symbol: "K'", status: "fresh" })
    .execute();
  apis = openReadApis(database);
  await createAccount(apis.services.db, apis.services.config.keyPepper, { name: "t", tier: "enterprise", key });
  server = createHttpServer(apis.services);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`;
});
afterAll(async () => {
  await new Promise((done) => server.close(done));
  await database.drop();
});

async function post(body: unknown, headers: Record<string, string> = {}) {
  apis.takeStatements();
  apis.takePipelined();
  const response = await fetch(url, {
    method: "POST",
    headers: { Authorization: key, "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  const { "x-request-id": _id, date: _date, "content-length": length, ...kept } = Object.fromEntries(response.headers);
  const sent = await response.text();
  expect(Number(length)).toBe(Buffer.byteLength(sent));
  // Seconds pass between two answers.
  const text = sent.replace(/"lagSeconds":\d+/g, '"lagSeconds":0');
  const reads = apis.takeStatements().filter((statement) => !/key_secret|nft"?\."?heads/.test(statement));
  const planned = apis.takePipelined().filter((statement) => reads.includes(statement)).length === reads.length;
  return { status: response.status, headers: kept, text, reads: reads.map((read) => `${planned ? plan : ""}${read}`) };
}

const isPlan = (reads: string[]) => reads.length > 0 && reads.every((read) => read.startsWith(plan));

const nft = `id __typename chain contractAddress tokenId standard owner supply amount creator mintedAt name description
  metadataUrl metadata fileUrl animationUrl cachedFileUrl thumbnailUrl cachedAnimationUrl metadataUpdatedAt
  fileInformation { __typename width height sizeBytes }
  contract { __typename id chain address standard name symbol description thumbnailUrl cachedThumbnailUrl bannerUrl cachedBannerUrl royaltyBps }`;
const page = "pageInfo { hasNextPage hasPreviousPage startCursor endCursor __typename } totalCount __typename";

const operations: [name: string, query: string, variables?: Record<string, unknown>][] = [
  ["account page", `{ account(address: "${alice}") { nfts(chain: "goerli") { nodes { ${nft} } ${page} } } }`],
  [
    "account edges",
    `{ who: account(address: "${alice}") { address i: id __typename n: nfts(chain: "rinkeby", first: 2) { ${page} edges { c: cursor node { t: tokenId } __typename } } } }`,
  ],
  [
    "account filters",
    `{ account(address: "${alice}") { nfts(chain: "goerli", exclude: [ERC721], contract: "${potions}") { nodes { tokenId amount } totalCount } } }`,
  ],
  [
    "nothing left",
    `{ account(address: "${alice}") { nfts(chain: "goerli", exclude: [ERC721, ERC1155]) { edges { cursor } nodes2: totalCount } } }`,
  ],
  [
    "empty account",
    `{ account(address: "${addressOf(0x77)}") { nfts(chain: "goerli") { edges { cursor node { id } } ${page} } } }`,
  ],
  [
    "contract with its page",
    `{ contract(chain: "goerli", address: "${keys}") { n: name __typename list: nfts(first: 1) { nodes { ${nft} } ${page} } id symbol } }`,
  ],
  [
    "contract with edges",
    `query ($n: Int) { contract(chain: "rinkeby", address: "${keys}") { nfts(first: $n) { edges { cursor node { id name } } ${page} } chain } }`,
    { n: 2 },
  ],
  [
    "chain with its page",
    `{ chain(name: "rinkeby") { name chainId __typename latestNfts(first: 2) { nodes { id chain } ${page} } } }`,
  ],
  [
    "contract page",
    `{ contract(chain: "goerli", address: "${keys}") { nfts(first: 2) { nodes { ${nft} } ${page} } } }`,
  ],
  ["chain page", `{ chain(name: "goerli") { latestNfts(first: 3) { edges { cursor node { ${nft} } } ${page} } } }`],
  ["only counted", `{ contract(chain: "goerli", address: "${keys}") { nfts { totalCount } } }`],
  ["one token", `{ nft(chain: "goerli", contract: "${keys}", tokenId: "1") { ${nft} } }`],
  ["one burned token", `{ token: nft(chain: "goerli", contract: "${keys}", tokenId: 10) { owner supply metadata } }`],
  [
    "trait filters",
    `{ contract(chain: "goerli", address: "${keys}") { nfts(first: 1, traits: { or: [{ name: "Fur", values: ["gold", "red"] }, { name: "Level", min: 2, max: 3 }], not: { name: "Hat" } }) { nodes { tokenId } pageInfo { hasNextPage endCursor } totalCount } } }`,
  ],
  [
    "an empty choice of traits",
    `{ contract(chain: "goerli", address: "${keys}") { nfts(traits: { or: [] }) { nodes { tokenId } } } }`,
  ],
  [
    "several at once",
    `{ c: contract(chain: "goerli", address: "${keys}") { __typename id n: name symbol standard chain description }
      none: contract(chain: "goerli", address: "${addressOf(0x66)}") { name }
      contract(chain: "goerli", address: "${keys}") { nfts(first: 2) { nodes { tokenId contract { name } } } }
      account(address: "${alice}") { nfts(chain: "goerli") { totalCount } } }`,
  ],
  [
    "variables and fragments",
    `query Page($who: Address!, $n: Int = 2, $c: String) { account(address: $who) { ...Holdings } }
     query Other { __typename }
     fragment Holdings on Account { nfts(chain: "goerli", first: $n, after: $c) { nodes { ... on Nft { tokenId } ...N } } }
     fragment N on Nft { name }`,
    { who: alice.toUpperCase().replace("0X", "0x"), c: null },
  ],
];

test.each(operations)(
  "%s: a known operation is answered by its plan, byte for byte the same",
  async (_name, query, variables) => {
    const body = { query, variables, ...(query.includes("Page(") ? { operationName: "Page" } : {}) };
    const first = await post(body);
    expect(first.text).toMatch(/^\{"data":/);
    expect(isPlan(first.reads)).toBe(false);
    const second = await post(body);
    expect(isPlan(second.reads)).toBe(true);
    expect({ ...second, reads: [] }).toEqual({ ...first, reads: [] });
    JSON.parse(second.text);
  },
);

test("pages read on by cursor through the plan are the walk of the ordinary way", async () => {
  const query = `query ($after: String, $last: Int, $first: Int) { account(address: "${alice}") {
    nfts(chain: "goerli", first: $first, after: $after, last: $last) { nodes { tokenId } pageInfo { endCursor hasNextPage } } } }`;
  const seen: string[] = [];
  let after: string | null = null;
  for (let step = 0; step < 10; step += 1) {
    const { text } = await post({ query, variables: { after, first: 1 } });
    const { nodes, pageInfo } = JSON.parse(text).data.account.nfts;
    seen.push(nodes[0].tokenId);
    after = pageInfo.endCursor;
    if (!pageInfo.hasNextPage) break;
  }
  expect(seen).toEqual(["1", "2", String(2n ** 200n), "5"]);
  // A size whose cost nobody has looked at, and the backward direction, are executed.
  expect(isPlan((await post({ query, variables: { first: 3 } })).reads)).toBe(false);
  expect(isPlan((await post({ query, variables: { first: 3 } })).reads)).toBe(true);
  for (let round = 0; round < 2; round += 1) {
    expect(isPlan((await post({ query, variables: { last: 2 } })).reads)).toBe(false);
  }
});

test("what fails fails as it does for an operation nobody knows", async () => {
  const query =
    'query ($c: Address!, $n: Int) { contract(chain: "goerli", address: $c) { nfts(first: $n) { nodes { tokenId } } } }';
  await post({ query, variables: { c: keys, n: 2 } });
  expect(isPlan((await post({ query, variables: { c: keys, n: 2 } })).reads)).toBe(true);
  const codeOf = async (variables: Record<string, unknown>, headers: Record<string, string> = {}) =>
    JSON.parse((await post({ query, variables }, headers)).text).errors?.[0]?.extensions?.code;
  expect(await codeOf({ c: keys, n: 101 })).toBe("value_error");
  expect(await codeOf({ c: keys, n: 0 })).toBe("value_error");
  expect(await codeOf({ c: "0x1", n: 2 })).toBe("invalid_address");
  expect(await codeOf({ c: keys, n: 2 }, { Authorization: randomUUID() })).toBe("invalid_credentials");
  expect(await codeOf({ c: keys, n: 2 }, { Authorization: "x" })).toBe("invalid_api_key");
});

test("each way of asking for an answer keeps its own: media types, directives, several fields", async () => {
  const query = `{ contract(chain: "goerli", address: "${keys}") { nfts(first: 1) { nodes { tokenId } } } }`;
  for (const accept of ["application/graphql-response+json", "application/json", "*/*"]) {
    const first = await post({ query }, { Accept: accept });
    const second = await post({ query }, { Accept: accept });
    expect({ ...second, reads: [] }).toEqual({ ...first, reads: [] });
    expect(isPlan(second.reads)).toBe(true);
  }
  for (const other of [
    `query ($no: Boolean = false) { chain(name: "goerli") { latestNfts(first: 1) { nodes { tokenId name @include(if: $no) } } } }`,
    `{ nft(chain: "goerli", contract: "${keys}", tokenId: "1") { name } status { database } }`,
    `{ chain(name: "goerli") { latestNfts(first: 1) { nodes { tokenId } nodes { name } } } }`,
  ]) {
    await post({ query: other });
    const { reads, text } = await post({ query: other });
    expect([other, isPlan(reads), text.startsWith('{"data":')]).toEqual([other, false, true]);
  }
});

test("both APIs say how far the index had come, and wait for a block on demand, but not for ever", async () => {
  const block = 102;
  const query = `{ chain(name: "goerli") { latestNfts(first: 1) { nodes { tokenId } } } }`;
  const hash = `0x${"5e".repeat(32)}`;
  await database.pool.query(
    `INSERT INTO service.chain_block (chain_id, number, hash, parent_hash, block_timestamp)
     VALUES (31337, $1, $2, '0x', 0)`,
    [block, hash],
  );
  // What was read before the row came is believed for half a second.
  await expect
    .poll(async () => JSON.parse((await post({ query })).text).extensions, patient)
    .toEqual({
      cost: { complexity: expect.any(Number), maxComplexity: 15_000, requests: 1 },
      freshness: {
        goerli: { ...{ block: String(block), hash, lagSeconds: 0 }, timestamp: expect.stringMatching(/^\d{4}-.*Z$/) },
      },
    });
  const rest = (minBlock: string) =>
    fetch(url.replace("/graphql", `/v0/accounts/${alice}?chain=rinkeby`), {
      headers: { Authorization: key, "X-Min-Block": minBlock },
    });
  const answer = await rest(`goerli:${block}`);
  expect([answer.status, answer.headers.get("x-indexed-block")]).toEqual([200, String(block)]);
  expect(answer.headers.get("x-indexed-hash")).toBe(hash);
  const later = rest(`goerli:${block + 1}`);
  await database.pool.query(
    "UPDATE c31337_test._ponder_checkpoint SET latest_checkpoint = overlay(latest_checkpoint PLACING lpad($1, 16, '0') FROM 27)",
    [String(block + 1)],
  );
  expect((await later).status).toBe(200);
  expect((await rest("goerli:9999999")).status).toBe(503);
  expect((await rest("now")).status).toBe(422);
  const refused = await post({ query }, { "X-Min-Block": "goerli:9999999" });
  expect(refused.status).toBe(503);
});
