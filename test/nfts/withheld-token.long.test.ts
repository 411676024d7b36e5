import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readStatus } from "../../src/accounts/read-status.ts";
import { applyDemand } from "../../src/metadata/discover/apply-demand.ts";
import { applyRefreshes } from "../../src/metadata/discover/discover.ts";
import { claimContracts } from "../../src/metadata/store/contracts.ts";
import { claimTokens } from "../../src/metadata/store/queue.ts";
import { bareEnvironment } from "../setup/bare-environment.ts";
import { createIndexedDatabase, type TestDatabase } from "../setup/database.ts";
import { addressOf, type NftFixture, nobody } from "../setup/nft-fixture.ts";
import { openReadApis, type ReadApis } from "../setup/read-apis.ts";

const [mixed, whole, alice, bob, minter] = [0xa1, 0xb2, 0x11, 0x22, 0xcc].map(addressOf) as [
  string,
  string,
  string,
  string,
  string,
];
const mintedAt = 1_700_000_000;

let database: TestDatabase;
let nfts: NftFixture;
let apis: ReadApis;
beforeAll(async () => {
  const indexed = await createIndexedDatabase([31337]);
  database = indexed.database;
  const [chain] = indexed.nfts;
  if (!chain) throw new Error("no chain");
  nfts = chain;
  const range = { contract: mixed, from: nobody, to: alice, timestamp: mintedAt };
  // More than a contract may list, so what comes behind is withheld.
  const much = { ...range, tokenId: 1_000_000n, amount: 10_001n };
  await nfts.addRanges([much, { ...range, tokenId: 100n, amount: 50n }]);
  await nfts.addRanges([
    { ...much, contract: whole },
    { ...range, contract: whole, tokenId: 1n, amount: 5_000n },
  ]);
  // A range moves to another holder, and another is burned.
  await nfts.addRanges([{ ...range, from: alice, to: bob, tokenId: 120n, amount: 5n }]);
  await nfts.addRanges([{ ...range, from: alice, to: nobody, tokenId: 130n, amount: 2n }]);
  await nfts.add([{ contract: mixed, from: alice, to: bob, tokenId: 140n }]);
  apis = openReadApis(database);
});
afterAll(() => database?.drop());

const one = (contract: string, tokenId: number) =>
  apis.graphql(`{ nft(chain: "goerli", contract: "${contract}", tokenId: "${tokenId}") {
    tokenId owner supply creator mintedAt standard contract { address standard } } }`);

test("a token of a withheld range is answered from its range: owner, mint and standard", async () => {
  const minted = { supply: "1", creator: minter, mintedAt: "2023-11-14T22:13:20.000Z", standard: "ERC721" };
  const answers = { 100: alice, 149: alice, 119: alice };
  for (const [tokenId, owner] of Object.entries(answers)) {
    const { data } = await one(mixed, Number(tokenId));
    expect(data.nft).toEqual({ tokenId, owner, ...minted, contract: { address: mixed, standard: "ERC721" } });
  }
  // All of the contract is withheld, so it has no row of its own.
  expect((await one(whole, 4_999)).data.nft).toMatchObject({ owner: alice, ...minted, contract: { address: whole } });
});

test("the newest word about a token holds: a range that moved, one that was burned, a log of its own", async () => {
  expect((await one(mixed, 122)).data.nft).toMatchObject({ owner: bob, supply: "1", creator: null, mintedAt: null });
  expect((await one(mixed, 131)).data.nft).toMatchObject({ owner: null, supply: "0" });
  expect((await one(mixed, 140)).data.nft).toMatchObject({ owner: bob, supply: "1" });
});

test("what no range names is not found, of a contract with ranges and without", async () => {
  for (const [contract, tokenId] of [
    [mixed, 99],
    [mixed, 150],
    [whole, 0],
    [whole, 5_001],
    [addressOf(0x77), 1],
  ] as const)
    expect((await one(contract, tokenId)).code ?? (await one(contract, tokenId)).data.nft).toBe("not_found");
});

test("the older API and lookups of several tokens give the same answer", async () => {
  const { status, body } = await apis.v0(`/nfts/${whole}/7?chain=goerli`);
  expect(status).toBe(200);
  expect(body).toMatchObject({ owner: alice, nft: { token_id: "7", contract_address: whole } });
  expect((await apis.v0(`/nfts/${whole}/6000?chain=goerli`)).status).toBe(404);
  const id = (await apis.graphql(`{ nft(chain: "goerli", contract: "${whole}", tokenId: "8") { id } }`)).data.nft.id;
  const other = (await apis.graphql(`{ nft(chain: "goerli", contract: "${mixed}", tokenId: "140") { id } }`)).data.nft
    .id;
  const { data } = await apis.graphql(`{ nodes(ids: ["${id}", "${other}"]) { ... on Nft { tokenId owner } } }`);
  expect(data.nodes).toEqual([
    { tokenId: "8", owner: alice },
    { tokenId: "140", owner: bob },
  ]);
});

test("how many tokens are withheld is told by the status", async () => {
  const { chains } = await readStatus(apis.services);
  expect(Object.fromEntries(chains.map(({ chain, leftOut }) => [chain, leftOut.withheldTokens]))).toEqual({
    goerli: 10_001 + 50 + 10_001 + 5_000 + 5 + 2,
    polygon: 0,
  });
});

test("the metadata of a withheld token is read once somebody asks for it", async () => {
  await database.pool.query(
    "INSERT INTO service.metadata_demand (chain_id, kind, address, token_id) VALUES (31337, 'token', $1, 9), (31337, 'token', $1, 6000)",
    [Buffer.from(whole.slice(2), "hex")],
  );
  await applyDemand(database.db, 31337);
  const { rows } = await database.pool.query("SELECT token_id, priority FROM service.token_metadata");
  expect(rows).toContainEqual({ token_id: "9", priority: 0 });
  expect(rows.map(({ token_id }) => token_id)).not.toContain("6000");
  const claims = [{ contract: Buffer.from(whole.slice(2), "hex"), priority: 0, count: 10 }];
  const jobs = await claimTokens(database.db, 31337, claims);
  expect(jobs.find(({ tokenId }) => tokenId === "9")).toMatchObject({ standard: "ERC721", mintBlock: 102n });
});

test("a refresh of a withheld token, of one that was burned and of their contracts is answered like any other", async () => {
  const refresh = async (path: string) => {
    const { status, body } = await apis.v0(`/nfts/${path}?chain=goerli&refresh_metadata=true`);
    return [status, body.status];
  };
  // The claim above has token 9.
  expect(await refresh(`${whole}/9`)).toEqual([200, "PROCESSING"]);
  expect(await refresh(`${whole}/12`)).toEqual([200, "ADDED"]);
  expect(await refresh(`${whole}/12`)).toEqual([200, "PENDING"]);
  expect(await refresh(`${mixed}/130`)).toEqual([200, "ADDED"]);
  expect((await refresh(`${whole}/6000`))[0]).toBe(404);
  // Its name is read like that of a contract which has listed tokens.
  const { data } = await apis.graphql(`mutation { refreshMetadata(chain: "goerli", contract: "${whole}") { status } }`);
  expect(data.refreshMetadata).toEqual({ status: "ADDED" });
  await applyRefreshes(database.db, 31337);
  const contracts = await claimContracts(database.db, 31337, 10);
  expect(contracts.map(({ address }) => `0x${address.toString("hex")}`)).toContain(whole);
});

test("an operator sees which contracts have withheld tokens, lets one in and takes it back, and leaves a trail", async () => {
  const run = async (...args: string[]) => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [join(import.meta.dirname, "../../bin/mintyard.ts"), "ranges", ...args, "--chain", "goerli"],
      {
        env: {
          ...bareEnvironment,
          DATABASE_URL: database.url,
          RPC_URL_GOERLI: "http://127.0.0.1:9",
          CHAIN_ID_GOERLI: "31337",
        },
      },
    );
    return stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  };
  const withheld = { contract: whole, tokens: 15_001, allowed: false };
  const other = { contract: mixed, tokens: 10_058, allowed: false };
  expect(await run("withheld")).toEqual([withheld, other]);
  expect(await run("allow", whole.toUpperCase().replace("0X", "0x"))).toEqual([
    { chain: "goerli", contract: whole, allowed: true },
  ]);
  expect(await run("withheld")).toEqual([{ ...withheld, allowed: true }, other]);
  await run("forbid", whole);
  expect(await run("withheld")).toEqual([withheld, other]);
  await expect(run("allow", "0x12")).rejects.toThrow(
    "'0x12' is invalid for argument 'contract'. An address is 0x and 40 hex digits.",
  );
  const { rows } = await database.pool.query("SELECT action FROM service.audit_log WHERE object = $1 ORDER BY seq", [
    `listed_contract:31337:${whole}`,
  ]);
  expect(rows).toEqual([{ action: "create" }, { action: "end" }]);
});

test("the record of a contract with withheld tokens alone is read once a reader asks for it", async () => {
  const other = addressOf(0xb3);
  await nfts.addRanges([{ contract: other, from: nobody, to: alice, tokenId: 1n, amount: 10_001n }]);
  await database.pool.query(
    "INSERT INTO service.metadata_demand (chain_id, kind, address, token_id) VALUES (31337, 'contract', $1, 0)",
    [Buffer.from(other.slice(2), "hex")],
  );
  await applyDemand(database.db, 31337);
  const contracts = await claimContracts(database.db, 31337, 10);
  expect(contracts.map(({ address }) => `0x${address.toString("hex")}`)).toContain(other);
});
