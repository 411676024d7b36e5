import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ApiServer } from "../setup/api-server.ts";
import { addressOf, nobody } from "../setup/nft-fixture.ts";

const guide = readFileSync(new URL("../../docs/reading.md", import.meta.url), "utf8");
const queries = [...guide.matchAll(/```graphql\n([\s\S]*?)```/g)].map(([, query = ""]) => query);
const [contract, account] = [0xa1, 0x11].map(addressOf);

let api: ApiServer;
let key: string;
let block: number;
beforeAll(async () => {
  api = await ApiServer.start();
  block = (await api.nfts.add([{ contract: contract ?? "", tokenId: 1n, from: nobody, to: account ?? "" }])) ?? 0;
  key = (await api.account("enterprise")).key;
});
afterAll(() => api?.close());

test("the guide has its queries", () => {
  expect(queries.length).toBeGreaterThan(9);
});

test.each(queries.map((query) => [/query (\w+)/.exec(query)?.[1], query]))(
  "%s of docs/reading.md works",
  async (_name, query = "") => {
    const keys = [{ chain: "goerli", contract, tokenId: "1" }];
    const all: Record<string, unknown> = { account, contract, id: "1", block: String(block), keys };
    const variables = Object.fromEntries(Object.entries(all).filter(([name]) => query.includes(`$${name}:`)));
    const { body } = await api.graphql(key, query, variables);
    expect(body.errors).toBeUndefined();
    for (const value of Object.values(body.data as Record<string, unknown>)) expect(value).not.toBeNull();
  },
);
