import { randomUUID } from "node:crypto";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createAccount } from "../../src/auth/keys.ts";
import { createHttpServer } from "../../src/server/http-server.ts";
import { createIndexedDatabase, type TestDatabase } from "../setup/database.ts";
import { addressOf, nobody } from "../setup/nft-fixture.ts";
import { openReadApis, type ReadApis } from "../setup/read-apis.ts";
import { send } from "../setup/send.ts";

// Each read through both APIs of the real server: one statement, the same one but for the members that an API
// shows of an item, on the same rows.
const [keys, alice] = [0xa1, 0x11].map(addressOf) as [string, string];
const key = randomUUID();
let database: TestDatabase;
let apis: ReadApis;
let server: Server;
let base: string;
beforeAll(async () => {
  const indexed = await createIndexedDatabase([31337]);
  database = indexed.database;
  const [chain] = indexed.nfts;
  await chain?.add(
    [1n, 2n, 3n, 4n].map((tokenId) => ({ contract: keys, tokenId, from: nobody, to: alice, sender: alice })),
  );
  await database.db
    .insertInto("service.token_metadata")
    .values({ chain_id: 31337, contract: Buffer.alloc(20, 0xa1), token_id: "1", status: "fresh", name: "golden key" })
    .execute();
  apis = openReadApis(database);
  await createAccount(database.db, apis.services.config.keyPepper, { name: "t", tier: "enterprise", key });
  server = createHttpServer(apis.services);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await new Promise((done) => server.close(done));
  await database.drop();
});

/** Statements of one request, without those about the key and the heads of chains. */
async function statementsOf(path: string, body?: object): Promise<{ reads: string[]; text: string }> {
  apis.takeStatements();
  const { status, text } = await send(base + path, { key, body });
  expect([path, status, text.includes('"errors"')]).toEqual([path, 200, false]);
  const reads = apis
    .takeStatements()
    .filter((sql) => !/session_of|FROM nft\.heads$|service.rate|count_usage/.test(sql));
  return { reads: reads.map(shared), text };
}

/** A statement without the members of its items, which each API chooses. */
function shared(sql: string): string {
  return sql
    .replace(/, \/\*item\*\/.*?\/\*end\*\/ AS contract/gs, "")
    .replace(/\/\*item\*\/.*?\/\*end\*\//gs, "item")
    .replace(/, (frame\.contract|NULL) AS contract/, "")
    .replace(/\s+/g, " ");
}

const page = "pageInfo { hasNextPage endCursor }";
const reads: [name: string, path: string, query: string][] = [
  [
    "what an account holds",
    `/v0/accounts/${alice}?chain=goerli&page_size=2&include=metadata&include=contract_information`,
    `{ account(address: "${alice}") { nfts(chain: "goerli", first: 2) { nodes { tokenId metadata contract { name } } totalCount ${page} } } }`,
  ],
  [
    "what it holds of one contract",
    `/v0/accounts/${alice}?chain=goerli&page_size=2&contract_address=${keys}`,
    `{ account(address: "${alice}") { nfts(chain: "goerli", first: 2, contract: "${keys}") { nodes { tokenId } totalCount ${page} } } }`,
  ],
  [
    "tokens of a contract",
    `/v0/nfts/${keys}?chain=goerli&page_size=2&include=metadata`,
    `{ contract(chain: "goerli", address: "${keys}") { nfts(first: 2) { nodes { tokenId metadata } totalCount ${page} } } }`,
  ],
  [
    "tokens of a chain",
    "/v0/nfts?chain=goerli&page_size=2&include=contract_information",
    `{ chain(name: "goerli") { latestNfts(first: 2) { nodes { tokenId contract { name } } ${page} } } }`,
  ],
  [
    "one token",
    `/v0/nfts/${keys}/1?chain=goerli`,
    `{ nft(chain: "goerli", contract: "${keys}", tokenId: "1") { tokenId metadata owner } }`,
  ],
  [
    "movements of an account",
    `/v0/transactions/accounts/${alice}?chain=goerli&page_size=2`,
    `{ account(address: "${alice}") { transfers(chain: "goerli", first: 2) { nodes { kind tokenId } ${page} } } }`,
  ],
  [
    "movements of a contract",
    `/v0/transactions/nfts/${keys}?chain=goerli&page_size=2&type=mint`,
    `{ contract(chain: "goerli", address: "${keys}") { transfers(kinds: [MINT], first: 2) { nodes { kind tokenId } ${page} } } }`,
  ],
  [
    "movements of a token",
    `/v0/transactions/nfts/${keys}/1?chain=goerli&page_size=2`,
    `{ nft(chain: "goerli", contract: "${keys}", tokenId: "1") { transfers(first: 2) { nodes { kind tokenId } ${page} } } }`,
  ],
  [
    "contracts of an account",
    `/v0/accounts/contracts/${alice}?chain=goerli&page_size=2`,
    `{ account(address: "${alice}") { contracts(chain: "goerli", first: 2) { nodes { tokenCount contract { name } } totalCount ${page} } } }`,
  ],
  [
    "supply and holders of a contract",
    `/v0/transactions/stats/${keys}?chain=goerli`,
    `{ contract(chain: "goerli", address: "${keys}") { statistics { totalSupply ownerCount } } }`,
  ],
  [
    "search",
    "/v0/search?chain=goerli&text=golden&page_size=2",
    '{ search(text: "golden", chain: "goerli", first: 2) { tokenId name } }',
  ],
];

test.each(reads)("%s: the same statement through both APIs", async (_name, path, query) => {
  const rest = await statementsOf(path);
  // Known from the second time on.
  await statementsOf("/graphql", { query });
  const graph = await statementsOf("/graphql", { query });
  expect(rest.reads).toHaveLength(1);
  // Where no plan answers it, the object that has the list is read first.
  expect(graph.reads.length).toBeLessThanOrEqual(2);
  expect(graph.reads.slice(-1)).toEqual(rest.reads);
  // The rows: token ids in their order, as far as both APIs show them.
  const ids = (text: string) => [...text.matchAll(/"(?:token_id|tokenId)":"(\d+)"/g)].map(([, id]) => id);
  expect(ids(graph.text)).toEqual(ids(rest.text));
});
