import { afterAll, beforeAll, expect, test } from "vitest";
import { runMetadata } from "../../src/metadata/schedule/run-metadata.ts";
import { Rounds } from "../../src/rounds.ts";
import { type Chain, startChain } from "../indexing/indexed-chain.ts";
import { FaultyEndpoint, refuse } from "../products/faulty-endpoint.ts";
import { compileSolidity } from "../setup/compile.ts";
import { createIndexedDatabase, type TestDatabase } from "../setup/database.ts";
import { addressOf, type NftFixture, nobody } from "../setup/nft-fixture.ts";
import { openReadApis, type ReadApis } from "../setup/read-apis.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { wait } from "../setup/wait.ts";

const source = `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
/// Tells of itself whatever it was set to.
contract Label {
  string public name;
  string public symbol;
  string public contractURI;
  uint256 bps;
  bool silent;
  function set(string calldata n, string calldata s, string calldata uri, uint256 b) external { (name, symbol, contractURI, bps) = (n, s, uri, b); }
  function silence(bool on) external { silent = on; }
  function royaltyInfo(uint256, uint256 price) external view returns (address, uint256) {
    require(!silent);
    return (address(this), price * bps / 10000);
  }
  function tokenURI(uint256) external pure returns (string memory) { return "data:application/json,{}"; }
}`;

/** What has ERC-721's logs in the fixture: which of them are collections shows in what they answer. */
const strangers = `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
/// Indexes the value of its transfers.
contract Coin { string public name = "Coin"; uint8 public constant decimals = 18; }
/// The same, where unknown functions answer nothing instead of failing.
contract QuietCoin { uint8 public constant decimals = 6; fallback() external {} }
/// A collection from before ERC-721 was final.
contract OldNft { uint8 public constant decimals = 0; function ownerOf(uint256) external pure returns (address) { return address(1); } }
contract NftWithDecimals { uint8 public constant decimals = 18; function ownerOf(uint256) external pure returns (address) { return address(1); } }
/// Its token was burned since the index looked.
contract ClaimingNft {
  uint8 public constant decimals = 18;
  function supportsInterface(bytes4 id) external pure returns (bool) { return id == 0x80ac58cd; }
}
/// Its tokens were burned when the index looked first, and are minted again.
contract DoubtfulCoin {
  uint8 public constant decimals = 18;
  bool minted;
  function mint() external { minted = true; }
  function ownerOf(uint256) external view returns (address) { require(minted); return address(1); }
}
contract PlainNft { function ownerOf(uint256) external pure returns (address) { return address(1); } }`;

const folder = temporaryFolder();
const label = compileSolidity(source)["Label"];
let database: TestDatabase;
let chain: Chain;
let index: NftFixture;
/** Refuses what the test wants. */
let endpoint: FaultyEndpoint;
let fault: NonNullable<Parameters<typeof FaultyEndpoint.start>[1]["answer"]> | null = null;
let apis: ReadApis;

const windowSeconds = 900;
beforeAll(async () => {
  chain = await startChain();
  endpoint = await FaultyEndpoint.start(chain.url, { answer: (call, answer) => fault?.(call, answer) });
  const indexed = await createIndexedDatabase([31337]);
  database = indexed.database;
  const [fixture] = indexed.nfts;
  if (!fixture) throw new Error("no fixture");
  index = fixture;
  apis = openReadApis(database, {
    env: {
      RPC_URL_GOERLI: endpoint.url,
      METADATA_REFRESH_WINDOW_SECONDS: String(windowSeconds),
      MINTYARD_DATA_DIR: folder,
    },
  });
});
afterAll(async () => {
  await endpoint?.stop();
  await chain?.stop();
  await apis?.services.content.close();
  await apis?.services.pool.end();
  await database?.drop();
});

async function withWorker<T>(work: () => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const running = runMetadata(apis.services, new Rounds(stop.signal));
  try {
    return await work();
  } finally {
    stop.abort();
    await running;
  }
}

const bytes = (address: string) => Buffer.from(address.slice(2), "hex");
const row = (address: string) =>
  database.db
    .selectFrom("service.contract_metadata")
    .selectAll()
    .where("address", "=", bytes(address))
    .executeTakeFirst();
type Row = NonNullable<Awaited<ReturnType<typeof row>>>;
const until = (address: string, holds: (contract: Row) => boolean) =>
  wait("a contract's record", () => row(address), {
    until: (found) => found !== undefined && holds(found),
  }) as Promise<Row>;

type Told = [name: string, symbol: string, uri: string, bps: bigint];
const document = (name: string) =>
  `data:application/json,{"description":"${name}","image":"https://example.com/${name}"}`;

/** A contract of a third party with one token, as it was read first. */
async function contractThatTold(...told: Told) {
  if (!label) throw new Error("not compiled");
  const deployed = await chain.deploy(label);
  const address = deployed.address.toLowerCase();
  const tell = (...next: Told) => chain.call(deployed as never, "set", next);
  await tell(...told);
  await settle();
  await index.add([{ contract: address, tokenId: 1n, from: nobody, to: addressOf(0x11) }]);
  await withWorker(() => until(address, ({ fetched_at }) => fetched_at !== null));
  return { address, tell, silence: (on: boolean) => chain.call(deployed as never, "silence", [on]) };
}

/** The index and the node stand at the same block, and the node is some blocks ahead of the next events. */
async function settle(): Promise<void> {
  const head = Number(await chain.client.getBlockNumber());
  await index.setHead(head);
  await chain.client.mine({ blocks: 10 });
}

/** So that the window of a third party's contract is over. */
const forgetReading = (address: string) =>
  database.pool.query("UPDATE service.contract_metadata SET attempted_at = $2 WHERE address = $1", [
    bytes(address),
    new Date(0),
  ]);

test("ContractURIUpdated has royalty, name, symbol and document read again, at once for collections of our own", async () => {
  const { address, tell } = await contractThatTold("One", "A", document("one"), 500n);
  expect(await row(address)).toMatchObject({ name: "One", symbol: "A", royalty_bps: 500, description: "one" });
  await tell("Two", "B", document("two"), 750n);
  await settle();
  await forgetReading(address);
  await index.announceContract(address);
  const changed = { name: "Two", symbol: "B", royalty_bps: 750, description: "two", contract_uri: document("two") };
  expect(await withWorker(() => until(address, ({ name }) => name === "Two"))).toMatchObject(changed);
  const { body } = await apis.v0(`/nfts/${address}/1?chain=goerli`);
  expect(body.contract).toMatchObject({ name: "Two", symbol: "B", metadata: { royalty_bps: 750, description: "two" } });

  // Within the window its next announcement waits; as a collection of our factory it would not.
  await tell("Three", "C", "", 0n);
  await settle();
  const block = await index.announceContract(address);
  const waiting = await withWorker(() => until(address, ({ wanted_block }) => wanted_block === BigInt(block)));
  expect(waiting.name).toBe("Two");
  const dueInMs = (waiting.next_attempt_at?.getTime() ?? 0) - (waiting.attempted_at?.getTime() ?? 0);
  expect(dueInMs).toBe(windowSeconds * 1_000);
  await database.pool.query(
    "INSERT INTO c31337_test.collection SELECT $1, $1, '\\x00', '\\x00', 1, '\\x00', 1, '\\x00'",
    [bytes(address)],
  );
  await settle();
  await index.announceContract(address);
  const own = await withWorker(() => until(address, ({ name }) => name === "Three"));
  // A document that is gone is gone.
  expect(own).toMatchObject({ royalty_bps: 0, contract_uri: null, document: null, description: null });
});

test("a contract is not read for good before the node has the announcement's block", async () => {
  const { address, tell } = await contractThatTold("Early", "E", "", 500n);
  await forgetReading(address);
  await index.setHead(Number(await chain.client.getBlockNumber()) + 5);
  const block = await index.announceContract(address);
  await withWorker(async () => {
    // Read, and too early.
    const behind = await until(
      address,
      ({ wanted_block, attempted_at, lease_id }) =>
        wanted_block === BigInt(block) && lease_id === null && attempted_at !== null && attempted_at.getTime() > 0,
    );
    expect(behind.fetched_block).toBeLessThan(BigInt(block));
    expect(behind.name).toBe("Early");
    await tell("Late", "L", "", 750n);
    await chain.client.mine({ blocks: 10 });
    const late = await until(address, ({ name }) => name === "Late");
    expect(late).toMatchObject({ royalty_bps: 750 });
  });
});

test("what a contract gets late is found without a word, and later each time that nothing changed", async () => {
  const { address, tell } = await contractThatTold("", "", "", 0n);
  const hours = ({ next_attempt_at, attempted_at }: Row) =>
    ((next_attempt_at?.getTime() ?? 0) - (attempted_at?.getTime() ?? 0)) / 3_600_000;
  /** Reads it as if its time had come. */
  const readAgain = async () => {
    const before = await row(address);
    await database.pool.query("UPDATE service.contract_metadata SET next_attempt_at = '-infinity' WHERE address = $1", [
      bytes(address),
    ]);
    return await withWorker(() =>
      until(
        address,
        ({ attempted_at, lease_id }) =>
          lease_id === null && attempted_at?.getTime() !== before?.attempted_at?.getTime(),
      ),
    );
  };
  const first = await row(address);
  expect(first).toMatchObject({ name: null, symbol: null, contract_uri: null, status: "fresh" });
  const pauses = [first as Row];
  for (let reading = 0; reading < 3; reading += 1) pauses.push(await readAgain());
  for (const [doublings, found] of pauses.entries()) {
    expect(hours(found)).toBeGreaterThan(0.89 * 2 ** doublings);
    expect(hours(found)).toBeLessThan(1.11 * 2 ** doublings);
  }
  await database.pool.query("UPDATE service.contract_metadata SET unchanged = 10 WHERE address = $1", [bytes(address)]);
  expect(hours(await readAgain())).toBeLessThan(1.11 * 30 * 24);
  await tell("Late", "LT", document("late"), 250n);
  const late = await readAgain();
  expect(late).toMatchObject({ name: "Late", symbol: "LT", royalty_bps: 250, description: "late", unchanged: 0 });
  expect(hours(late)).toBeLessThan(1.11);
});

test("a call that fails later takes nothing away, and an endpoint that knows blocks by number alone is asked so", async () => {
  const { address, silence, tell } = await contractThatTold("Kept", "K", document("kept"), 500n);
  const again = async (holds: (contract: Row) => boolean) => {
    await database.pool.query("UPDATE service.contract_metadata SET next_attempt_at = '-infinity' WHERE address = $1", [
      bytes(address),
    ]);
    return await withWorker(() => until(address, (found) => found.lease_id === null && holds(found)));
  };
  const kept = { name: "Kept", symbol: "K", royalty_bps: 500, description: "kept", status: "fresh" };
  await silence(true);
  const since = (await row(address))?.attempted_at?.getTime() ?? 0;
  expect(await again(({ attempted_at }) => (attempted_at?.getTime() ?? 0) > since)).toMatchObject(kept);
  // Words of a node that cannot answer now, and one that gives none.
  for (const error of [
    { code: -32_000, message: "header not found" },
    { code: -32_603, message: "internal error" },
    { code: -32_005, message: "limit exceeded" },
  ]) {
    const before = (await row(address))?.attempted_at?.getTime() ?? 0;
    fault = ({ method }, answer) => (method === "eth_call" ? refuse(answer, error) : undefined);
    expect(await again(({ attempted_at }) => (attempted_at?.getTime() ?? 0) > before)).toMatchObject(kept);
  }
  await silence(false);
  await tell("Other", "K", "", 100n);
  fault = ({ method, params }, answer) => {
    if (method === "eth_call" && typeof params?.[1] === "object")
      refuse(answer, { code: -32_602, message: "invalid argument 1: json: cannot unmarshal object into string" });
  };
  expect(await again(({ name }) => name === "Other")).toMatchObject({ royalty_bps: 100, status: "fresh" });
  fault = null;
});

test("an ERC-20 that indexes its value is no collection, and no NFT with strange functions is taken for one", async () => {
  const compiled = compileSolidity(strangers);
  const addresses: Record<string, string> = {};
  const deployed: Record<string, unknown> = {};
  for (const [name, contract] of Object.entries(compiled)) {
    const made = await chain.deploy(contract);
    deployed[name] = made;
    addresses[name] = made.address.toLowerCase();
  }
  await settle();
  const tokenId = 10n ** 18n;
  const [from, to] = [nobody, addressOf(0x22)];
  await index.add(Object.values(addresses).map((contract) => ({ contract, tokenId, from, to })));
  await withWorker(async () => {
    for (const address of Object.values(addresses)) await until(address, ({ fetched_at }) => fetched_at !== null);
  });
  // The indexer does this by itself every ten seconds.
  await index.moveFungible();
  const ask = (address: string) => apis.v0(`/nfts/${address}/${tokenId}?chain=goerli`);
  const notIndexed = {
    status: 404,
    body: { error: { message: expect.stringMatching(/^not indexed: .*CryptoKitties/) } },
  };
  for (const [name, address] of Object.entries(addresses)) {
    const isCoin = name.endsWith("Coin");
    const shown = await apis.graphql(`{ contract(chain: "goerli", address: "${address}") { address } }`);
    expect([name, shown.data.contract]).toEqual([name, isCoin ? null : { address }]);
    const list = await apis.v0(`/nfts/${address}?chain=goerli`);
    if (isCoin) for (const answer of [await ask(address), list]) expect(answer).toMatchObject(notIndexed);
    else for (const { status } of [await ask(address), list]) expect([name, status]).toEqual([name, 200]);
    const queued = await database.pool.query("SELECT FROM service.token_metadata WHERE contract = $1", [
      bytes(address),
    ]);
    expect([name, queued.rowCount]).toEqual([name, isCoin ? 0 : 1]);
  }
  const held = async () => {
    const { body } = await apis.v0(`/accounts/${to}?chain=goerli`);
    expect(body.total).toBe(body.nfts.length);
    const contracts = (body.nfts as { contract_address: string }[]).map(({ contract_address }) => contract_address);
    return [...new Set(contracts)].sort();
  };
  const nfts = Object.keys(addresses).filter((name) => !name.endsWith("Coin"));
  expect(await held()).toEqual(nfts.map((name) => addresses[name]).sort());
  // Nothing queues its tokens anew, and a contract that nobody has seen gets the same answer.
  await index.add([{ contract: addresses["Coin"] ?? "", tokenId: 5n, from, to }]);
  await index.add([{ contract: addresses["PlainNft"] ?? "", tokenId: 6n, from, to }]);
  const isQueued = async () =>
    (await database.pool.query("SELECT contract FROM service.token_metadata WHERE token_id IN (5, 6)")).rows;
  const rows = await withWorker(() => wait("the plain token", isQueued, { until: (found) => found.length > 0 }));
  expect(rows).toEqual([{ contract: bytes(addresses["PlainNft"] ?? "") }]);
  expect(await ask(addressOf(0x77))).toMatchObject(notIndexed);

  // A wrong guess: what is left out of the index is asked for all the same, and taken in again.
  await chain.call(deployed["DoubtfulCoin"] as never, "mint", []);
  await settle();
  const doubted = addresses["DoubtfulCoin"] ?? "";
  await database.pool.query("UPDATE service.contract_metadata SET next_attempt_at = clock_timestamp() WHERE fungible");
  await withWorker(() => until(doubted, ({ fungible }) => fungible === false));
  await index.moveFungible();
  expect(await held()).toEqual([...nfts, "DoubtfulCoin"].map((name) => addresses[name]).sort());
  expect((await ask(doubted)).status).toBe(200);
  expect((await row(addresses["Coin"] ?? ""))?.fungible).toBe(true);
});
