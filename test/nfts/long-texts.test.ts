import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ApiServer } from "../setup/api-server.ts";
import { addressOf, nobody } from "../setup/nft-fixture.ts";

// Contracts that were airdropped to somebody, each with documents as long as they may be.
const [alice, count, longest] = [addressOf(0x11), 50, 589_000] as const;
const contractAt = (index: number) => addressOf(0xa0 + index);
const long = "ä".repeat(longest / 2);
let api: ApiServer;
let key: string;
beforeAll(async () => {
  api = await ApiServer.start({ RATE_LIMITS: "off" });
  ({ key } = await api.account("enterprise"));
  for (let index = 0; index < count; index += 1)
    await api.nfts.add([{ contract: contractAt(index), tokenId: 1n, from: nobody, to: alice }]);
  const { pool } = api.database;
  await pool.query(
    `INSERT INTO service.contract_metadata (chain_id, address, status, name, symbol, description, thumbnail_url, banner_url)
       SELECT 31337, c, 'fresh', $2, $2, $2, $2, $2 FROM unnest($1::bytea[]) c`,
    [Array.from({ length: count }, (_, index) => Buffer.from(contractAt(index).slice(2), "hex")), long],
  );
  await pool.query(
    `INSERT INTO service.token_metadata (chain_id, contract, token_id, status, name, description, metadata)
       SELECT 31337, c, 1, 'fresh', 'treasure', $2, $3 FROM unnest($1::bytea[]) c`,
    [
      Array.from({ length: count }, (_, index) => Buffer.from(contractAt(index).slice(2), "hex")),
      long,
      JSON.stringify({ text: "x".repeat(60_000) }),
    ],
  );
});
afterAll(() => api?.close());

const bytesOf = ({ body }: { body: unknown }) => Buffer.byteLength(JSON.stringify(body));
const texts = "name symbol description thumbnailUrl bannerUrl";
const account = (fields: string) => `{ account(address: "${alice}") { ${fields} } }`;

describe("texts of contracts that are as long as a document", () => {
  const graphs = {
    "an account's tokens": account(`nfts(chain: "goerli", first: 50) { nodes { tokenId contract { ${texts} } } }`),
    "its last tokens": account(`nfts(chain: "goerli", last: 50) { nodes { tokenId contract { ${texts} } } }`),
    "its contracts": account(`contracts(chain: "goerli", first: 50) { nodes { contract { ${texts} } } }`),
    "a contract's tokens": `{ contract(chain: "goerli", address: "${contractAt(0)}") { nfts { nodes { contract { ${texts} } } } } }`,
    "a chain's tokens": `{ chain(name: "goerli") { latestNfts(first: 50) { nodes { contract { ${texts} } } } } }`,
    "a search": `{ search(chain: "goerli", text: "treasure", first: 50) { description } }`,
    "a batch": `{ nftBatch(keys: [{ chain: "goerli", contract: "${contractAt(0)}", tokenId: "1" }]) { contract { ${texts} } } }`,
  };
  test.each(Object.entries(graphs))("are left out of %s, over GraphQL by both ways", async (_name, query) => {
    const first = await api.graphql(key, query);
    // Known now, where it is one of the reads that are.
    const second = await api.graphql(key, query);
    expect(first.body.errors).toBeUndefined();
    expect(second.body.data).toEqual(first.body.data);
    expect(bytesOf(first)).toBeLessThan(20_000);
  });

  const rests = [
    `/v0/accounts/${alice}?chain=goerli&page_size=50&include=contract_information`,
    `/v0/accounts/contracts/${alice}?chain=goerli&page_size=50`,
    `/v0/nfts/${contractAt(0)}?chain=goerli&page_size=50`,
    "/v0/nfts?chain=goerli&page_size=50&include=contract_information",
    "/v0/search?chain=goerli&text=treasure&page_size=50",
  ];
  test.each(rests)("are left out of %s", async (path) => {
    const answer = await api.send("GET", path, key);
    expect(answer.status).toBe(200);
    expect(bytesOf(answer)).toBeLessThan(60_000);
  });

  test("are whole in the details, by both ways", async () => {
    const query = `{ contract(chain: "goerli", address: "${contractAt(0)}") { ${texts} } }`;
    for (let turn = 0; turn < 2; turn += 1) {
      const { contract } = (await api.graphql(key, query)).body.data;
      expect(Object.values(contract).every((text) => text === long)).toBe(true);
    }
  });
});

test("an answer that aliases make too long is refused, by both ways, and a smaller one is not", async () => {
  const aliases = (number: number) => Array.from({ length: number }, (_, at) => `a${at}: metadata`).join(" ");
  const page = (number: number) => account(`nfts(chain: "goerli", first: 50) { nodes { ${aliases(number)} } }`);
  for (let turn = 0; turn < 2; turn += 1) {
    const { body } = await api.graphql(key, page(15));
    expect([body.data, body.errors?.[0]?.extensions.code]).toEqual([null, "value_error"]);
    expect(body.errors[0].message).toMatch(/over 33554432 bytes/);
    expect((await api.graphql(key, page(2))).body.errors).toBeUndefined();
  }
});
