import { afterAll, beforeAll, expect, test } from "vitest";
import { createIndexedDatabase, type TestDatabase } from "../setup/database.ts";
import { addressOf, nobody } from "../setup/nft-fixture.ts";
import { openReadApis, type ReadApis } from "../setup/read-apis.ts";

const keys = addressOf(0xa1);
const potions = addressOf(0xb2);
const alice = addressOf(0x11);
const minter = addressOf(0xcc);
const mintedAt = Date.UTC(2022, 10, 26, 20, 38, 59) / 1000;
const document =
  '{"name":"Key #7", "edition":1.0,"big":123456789012345678901234567890,"image":"ipfs://x","10":1,"2":2}';

let database: TestDatabase;
let apis: ReadApis;
beforeAll(async () => {
  const indexed = await createIndexedDatabase([31337]);
  database = indexed.database;
  const [chain] = indexed.nfts;
  const mint = { contract: keys, from: nobody, to: alice, timestamp: mintedAt, sender: minter };
  await chain?.add([
    { ...mint, tokenId: 7n },
    { ...mint, tokenId: 8n },
  ]);
  await chain?.add([{ ...mint, contract: potions, tokenId: 1n, amount: 5n, standard: "ERC1155" }]);
  await chain?.add([{ contract: keys, tokenId: 8n, from: alice, to: nobody }]);
  await database.db
    .insertInto("service.token_metadata")
    .values({
      chain_id: 31337,
      contract: Buffer.alloc(20, 0xa1),
      token_id: "7",
      status: "fresh",
      next_attempt_at: null,
      token_uri: "ipfs://folder/7",
      metadata: document,
      name: "Key #7",
      description: "A key",
      image: "ipfs://x",
      cached_image: "bafyown",
      fetched_at: new Date("2022-11-26T20:40:02.113Z"),
    })
    .execute();
  await database.db
    .insertInto("service.contract_metadata")
    .values({ chain_id: 31337, address: Buffer.alloc(20, 0xa1), name: "Keys", symbol: "TSK", status: "fresh" })
    .execute();
  apis = openReadApis(database);
});
afterAll(() => database.drop());

const emptyTexts =
  '{"description":null,"thumbnail_url":null,"cached_thumbnail_url":null,"banner_url":null,"cached_banner_url":null,"royalty_bps":null}';
const contract = `{"name":"Keys","symbol":"TSK","type":"ERC721","metadata":${emptyTexts}}`;
const reading = '"metadata_status":"FRESH","metadata_error":null,"metadata_warnings":[]';
const copy = "https://mintyard.test/ipfs/bafyown";

test("details of a token: every member in its place, the metadata byte for byte", async () => {
  const { text } = await apis.v0(`/nfts/${keys.toUpperCase().replace("0X", "0x")}/7/?chain=rinkeby`);
  expect(text).toBe(
    `{"response":"OK","nft":{"chain":"rinkeby","contract_address":"${keys}","token_id":"7","metadata_url":"ipfs://folder/7",` +
      `"metadata":${document},"file_information":null,"file_url":"ipfs://x","animation_url":null,` +
      `"cached_file_url":"${copy}","cached_animation_url":null,"creator_address":"${minter}",` +
      `"mint_date":"2022-11-26T20:38:59","updated_date":"2022-11-26T20:40:02.113000","rarity":null,"owner":"${alice}",${reading}},` +
      `"owner":"${alice}","contract":${contract},"error":null}`,
  );
});

test("an account's item without and with what can be included", async () => {
  const base = `"contract_address":"${keys}","token_id":"7","name":"Key #7","description":"A key","file_url":"ipfs://x","animation_url":null,"cached_file_url":"${copy}","cached_animation_url":null,"creator_address":"${minter}"`;
  const plain = await apis.v0(`/accounts/${alice}/?chain=goerli&page_size=1`);
  expect(plain.text).toContain(`"nfts":[{${base},"chain":"goerli"}],"total":2,"continuation":"`);
  const all = await apis.v0(`/accounts/${alice}?chain=goerli&include=metadata,contract_information&include=default`);
  expect(all.text).toContain(
    `{${base},"metadata":${document},"metadata_url":"ipfs://folder/7","contract":${contract},"chain":"goerli",${reading}}`,
  );
  expect(all.body.nfts[1]).toMatchObject({
    token_id: "1",
    name: null,
    metadata: null,
    contract: { name: null, type: "ERC1155", metadata: { description: null } },
  });
});

test("a contract's items: base members only, those of metadata, and all", async () => {
  const path = `/nfts/${keys}?chain=goerli`;
  const plain = await apis.v0(path);
  const item = `"chain":"goerli","contract_address":"${keys}","token_id":"7"`;
  expect(plain.text).toBe(
    `{"response":"OK","nfts":[{${item}}],"contract":${contract},"total":1,"continuation":null,"error":null}`,
  );
  const metadata = await apis.v0(`${path}&include=metadata`);
  expect(Object.keys(metadata.body.nfts[0]).slice(3)).toEqual([
    ...["metadata_url", "metadata", "file_url", "animation_url", "cached_file_url", "cached_animation_url"],
    ...["metadata_status", "metadata_error", "metadata_warnings"],
  ]);
  const all = await apis.v0(`${path}&include=all`);
  expect(Object.keys(all.body.nfts[0]).slice(3)).toEqual([
    ...["metadata_url", "metadata", "file_information"],
    ...["file_url", "animation_url", "cached_file_url", "cached_animation_url", "mint_date", "updated_date"],
    ...["metadata_status", "metadata_error", "metadata_warnings"],
  ]);
});

test("all NFTs of a chain: no total; the contract's record comes with its include", async () => {
  const plain = await apis.v0("/nfts?chain=goerli");
  expect(Object.keys(plain.body)).toEqual(["response", "nfts", "continuation", "error"]);
  expect(plain.body.nfts).toEqual([
    { chain: "goerli", contract_address: potions, token_id: "1" },
    { chain: "goerli", contract_address: keys, token_id: "7" },
  ]);
  const some = await apis.v0("/nfts?chain=goerli&include=contract_information&include=file_information");
  expect(some.body.nfts[1]).toEqual({
    ...plain.body.nfts[1],
    file_information: null,
    contract: JSON.parse(contract),
  });
  const free = await openReadApis(database, { tier: "free" }).v0("/nfts?chain=goerli");
  expect(free.body.nfts).toEqual([]);
});

test("a burned token has details, but no owner and no place in the list", async () => {
  const { status, body } = await apis.v0(`/nfts/${keys}/8?chain=goerli`);
  expect([status, body.owner, body.nft.owner]).toEqual([200, null, null]);
  const potion = await apis.v0(`/nfts/${potions}/1?chain=goerli`);
  expect([potion.status, potion.body.owner, potion.body.contract.type]).toEqual([200, null, "ERC1155"]);
});

const huge = String(2n ** 256n);
test.each([
  [`/nfts/${addressOf(0xee)}?chain=goerli`, 404, "not_found"],
  [`/nfts/${addressOf(0xee)}/1?chain=goerli`, 404, "not_found"],
  [`/nfts/${keys}/9?chain=goerli`, 404, "not_found"],
  [`/nfts/${keys}?chain=polygon`, 404, "not_found"],
  [`/nfts/${keys}/${huge}?chain=goerli`, 422, "value_error"],
  [`/nfts/${keys}/0x7?chain=goerli`, 422, "value_error"],
  [`/nfts/${keys}/-1?chain=goerli`, 422, "value_error"],
  ["/nfts/0x12?chain=goerli", 422, "invalid_address"],
  ["/accounts/alice?chain=goerli", 422, "invalid_address"],
  [`/accounts/${alice}`, 422, "parameter_missing"],
  [`/accounts/${alice}?chain=`, 422, "parameter_missing"],
  [`/accounts/${alice}?chain=moon`, 422, "invalid_enumeration"],
  [`/accounts/${alice}?chain=ethereum`, 422, "chain_not_supported"],
  [`/accounts/${alice}?chain=goerli&include=everything`, 422, "invalid_enumeration"],
  [`/accounts/${alice}?chain=goerli&exclude=erc20`, 422, "invalid_enumeration"],
  [`/accounts/${alice}?chain=goerli&contract_address=0x1`, 422, "invalid_address"],
  [`/accounts/${alice}?chain=goerli&page_size=51`, 422, "value_error"],
  [`/accounts/${alice}?chain=goerli&page_size=0`, 422, "value_error"],
  [`/accounts/${alice}?chain=goerli&page_number=0`, 422, "value_error"],
  [`/accounts/${alice}?chain=goerli&page_number=first`, 422, "invalid_type"],
  [`/nfts/${keys}?chain=goerli&refresh_metadata=maybe`, 422, "invalid_type"],
  // The order of complaints: missing, type, enumeration and address, range.
  ["/nfts/0x12?page_size=99&page_number=x&include=y", 422, "parameter_missing"],
  ["/nfts/0x12?chain=goerli&page_size=99&page_number=x", 422, "invalid_type"],
  ["/nfts/0x12?chain=goerli&page_size=99", 422, "invalid_address"],
])("GET %s is refused with %i %s", async (path, status, code) => {
  const answer = await apis.v0(path);
  expect([answer.status, answer.body.response, answer.body.error.code]).toEqual([status, "NOK", code]);
});

test("include words of later versions, unknown parameters and empty values are taken", async () => {
  for (const path of [
    `/accounts/${alice}?chain=goerli&include=rarity&include=all&include=file_information&exclude=&continuation=&page_size=&foo=1`,
    `/nfts/${keys}?chain=goerli&include=rarity,last_sale_price&contract_address=`,
    `/nfts/${keys}/7?chain=goerli&include=rarity&refresh_metadata=False`,
  ]) {
    const { status, body } = await apis.v0(path);
    expect([path, status, body.response]).toEqual([path, 200, "OK"]);
  }
});

test("a chain of this installation that is not indexed yet has unknown contracts and empty lists", async () => {
  expect((await apis.v0(`/accounts/${alice}?chain=polygon`)).body).toEqual({
    ...{ response: "OK", nfts: [], total: 0, continuation: null, error: null },
  });
  expect((await apis.v0("/nfts?chain=polygon")).body.nfts).toEqual([]);
});

test("refresh_metadata says what happens to a token: added, pending, being read, read a moment ago", async () => {
  const ask = async (token: string) =>
    (await apis.v0(`/nfts/${keys}/${token}?chain=goerli&refresh_metadata=true`)).body;
  const row = (token: string) =>
    database.db.updateTable("service.token_metadata").where("token_id", "=", token).where("chain_id", "=", 31337);
  const added = await ask("7");
  expect(Object.keys(added)).toEqual(["response", "nft", "owner", "contract", "status", "status_message", "error"]);
  expect(added.status).toBe("ADDED");
  expect((await ask("7")).status).toBe("PENDING");
  await row("7")
    .set({ lease_until: new Date(Date.now() + 60_000) })
    .execute();
  expect((await ask("7")).status).toBe("PROCESSING");
  await row("7").set({ lease_until: null, status: "fresh", fetched_at: new Date() }).execute();
  expect((await ask("7")).status).toBe("REFRESHED_RECENTLY");
  expect((await ask("8")).status).toBe("ADDED");
  expect((await ask("8")).status).toBe("PENDING");
});

test("refresh_metadata of a contract is noted once", async () => {
  const ask = async () => (await apis.v0(`/nfts/${keys}?chain=goerli&refresh_metadata=1`)).body.status;
  expect([await ask(), await ask()]).toEqual(["ADDED", "PENDING"]);
  const { data } = await apis.graphql(`mutation { refreshMetadata(chain: "goerli", contract: "${keys}") { status } }`);
  expect(data.refreshMetadata.status).toBe("PENDING");
});

test("GraphQL shows the same token, its numbers as they were written", async () => {
  const { data } = await apis.graphql(
    `query($id: TokenId!) { nft(chain: "goerli", contract: "${keys.toUpperCase().replace("0X", "0x")}", tokenId: $id) {
      contractAddress tokenId standard owner creator mintedAt name metadataUrl metadata fileUrl cachedFileUrl metadataUpdatedAt supply amount
      contract { name symbol standard } } }`,
    { id: "7" },
  );
  expect(data.nft).toMatchObject({
    ...{ contractAddress: keys, tokenId: "7", standard: "ERC721", owner: alice, creator: minter, supply: "1" },
    ...{ amount: null, name: "Key #7", metadataUrl: "ipfs://folder/7", fileUrl: "ipfs://x", cachedFileUrl: copy },
    mintedAt: "2022-11-26T20:38:59.000Z",
    metadata: { name: "Key #7", edition: 1 },
    contract: { name: "Keys", symbol: "TSK", standard: "ERC721" },
  });
  const unknown = await apis.graphql(`{ nft(chain: "goerli", contract: "${keys}", tokenId: "99") { name } }`);
  expect(unknown).toEqual({ data: { nft: null }, code: "not_found" });
});
