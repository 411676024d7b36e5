import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createIndexedDatabase, type TestDatabase } from "../setup/database.ts";
import { addressOf, nobody } from "../setup/nft-fixture.ts";
import { openReadApis, type ReadApis } from "../setup/read-apis.ts";

const guide = readFileSync(new URL("../../docs/reading.md", import.meta.url), "utf8");
const queries = [...guide.matchAll(/```graphql\n([\s\S]*?)```/g)].map(([, query = ""]) => query);
const [contract, account] = [0xa1, 0x11].map(addressOf);

let database: TestDatabase;
let apis: ReadApis;
let block: number;
beforeAll(async () => {
  const indexed = await createIndexedDatabase([31337]);
  database = indexed.database;
  const [chain] = indexed.nfts;
  block = (await chain?.add([{ contract: contract ?? "", tokenId: 1n, from: nobody, to: account ?? "" }])) ?? 0;
  apis = openReadApis(database);
});
afterAll(() => database.drop());

test("the guide has its queries", () => {
  expect(queries.length).toBeGreaterThan(7);
});

test.each(queries.map((query) => [/query (\w+)/.exec(query)?.[1], query]))(
  "%s of docs/reading.md works",
  async (_name, query = "") => {
    const keys = [{ chain: "goerli", contract, tokenId: "1" }];
    const all: Record<string, unknown> = { account, contract, id: "1", block: String(block), keys };
    const variables = Object.fromEntries(Object.entries(all).filter(([name]) => query.includes(`$${name}:`)));
    const { data, code } = await apis.graphql(query, variables);
    expect(code).toBeUndefined();
    for (const value of Object.values(data as Record<string, unknown>)) expect(value).not.toBeNull();
  },
);
