import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runMetadata } from "../../src/metadata/schedule/run-metadata.ts";
import { Rounds } from "../../src/rounds.ts";
import { type Chain, startChain } from "../indexing/indexed-chain.ts";
import { compileSolidity } from "../setup/compile.ts";
import { createIndexedDatabase, type TestDatabase } from "../setup/database.ts";
import { addressOf, type Movement, type NftFixture, nobody } from "../setup/nft-fixture.ts";
import { openReadApis, type ReadApis } from "../setup/read-apis.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { measuredSlowness, wait } from "../setup/wait.ts";

const source = `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
/// Answers whatever it was set to.
contract Talker {
  string public name = "Keys \\u202e";
  mapping(uint256 => string) answers;
  string base;
  function set(uint256 id, string calldata text) external { answers[id] = text; }
  function setBase(string calldata text) external { base = text; }
  function uri(uint256 id) external view returns (string memory) { require(id == 314); return base; }
  /// 1.8 MB of memory cost 6,000,000 gas, and a node hardly any time; 10 MB cost more than a block.
  function spend(uint256 size) external pure { assembly { mstore(size, 1) } }
  function contractURI() external pure returns (string memory) { assembly { mstore(1800000, 1) } return '{"description":"costly"}'; }
  function symbol() external pure returns (bytes32) { return "TSK"; }
  function tokenURI(uint256 id) external view returns (string memory) {
    if (id == 900) revert("no such token");
    if (id == 901) assembly { mstore(10000000, 1) }
    if (id == 902) assembly { return(0, 1100000) }
    if (id == 903) assembly { mstore(0, 32) mstore(32, not(0)) return(0, 64) }
    if (id == 904) this.spend(1800000);
    // A contract in between hides the reason: with its own words, or with none.
    if (id == 905) try this.spend(1800000) {} catch { revert("cannot draw"); }
    if (id == 906) return string.concat('{"name":"long","x":"', string(new bytes(300000)), '"}');
    return answers[id];
  }
}`;

const alice = addressOf(0x11);
const folder = temporaryFolder();
let database: TestDatabase;
let chain: Chain;
let index: NftFixture;
let apis: ReadApis;
let web: Server;
let webUrl: string;
let talker: { address: `0x${string}`; abi: readonly unknown[] };
const asked: string[] = [];
const template =
  '{"name":"Potion {id}","image":"ftp://example.com/{id}.png","attributes":[{"trait_type":"Key","value":"{id}"}]}';

beforeAll(async () => {
  web = createServer((request, response) => {
    asked.push(request.url ?? "");
    if (request.url === "/slow") return;
    if (request.url === "/templates") response.end(template);
    else if (request.url === "/missing") response.writeHead(404).end();
    else response.end(JSON.stringify({ name: `web ${request.url}`, image_url: "ftp://example.com/1.png" }));
  });
  await new Promise<void>((done) => web.listen(0, "127.0.0.1", done));
  webUrl = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
  chain = await startChain();
  const contract = compileSolidity(source)["Talker"];
  if (!contract) throw new Error("not compiled");
  talker = await chain.deploy(contract);
  await chain.client.mine({ blocks: 300 });
  const indexed = await createIndexedDatabase([31337, 31338]);
  database = indexed.database;
  const [fixture] = indexed.nfts;
  if (!fixture) throw new Error("no fixture");
  index = fixture;
  apis = openReadApis(database, {
    env: {
      RPC_URL_GOERLI: chain.url,
      METADATA_ALLOW_PRIVATE: "true",
      METADATA_PER_CONTRACT_MINUTE: "100000",
      METADATA_REFRESH_WINDOW_SECONDS: "0",
      MINTYARD_DATA_DIR: folder,
    },
  });
});
afterAll(async () => {
  await chain?.stop();
  web.closeAllConnections();
  await new Promise((done) => web.close(done));
  await apis.services.content.close();
  await apis.services.pool.end();
  await database.drop();
});

/** Runs the worker while `work` goes on. */
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

async function row(tokenId: bigint) {
  return await database.db
    .selectFrom("service.token_metadata")
    .selectAll()
    .where("token_id", "=", String(tokenId))
    .where("chain_id", "=", 31337)
    .executeTakeFirst();
}

const until = <T>(look: () => Promise<T | undefined>, holds: (value: T) => boolean) =>
  wait("a row", look, { until: (value) => value !== undefined && holds(value) }) as Promise<T>;

const settled = (tokenId: bigint) =>
  until(
    () => row(tokenId),
    (token) => token.status !== "pending" && token.error_code !== "call_timeout",
  );
const mint = (tokenId: bigint, more: Partial<Movement> = {}): Movement => ({
  ...{ contract: talker.address.toLowerCase(), tokenId, from: nobody, to: alice },
  ...more,
});
const say = (tokenId: bigint, text: string) => chain.call(talker as never, "set", [tokenId, text]);

/** Stores one file in the content store, and gives its CID. */
async function store(text: string): Promise<string> {
  async function* stream() {
    yield Buffer.from(text);
  }
  const file = { stream: stream() };
  return await apis.services.content.addFile(file, async (_transaction, content) => content.cid);
}

test("tokens of every kind of URI are read, and every failure is a row with its code", async () => {
  const image = await store("not really a png");
  const document = await store(`{"name":"Key","edition":1.0,"image":"https://ipfs.io/ipfs/${image}"}`);
  const uris: [bigint, string, string | null][] = [
    [1n, `ipfs://${document}`, null],
    [2n, `https://gateway.example/ipfs/${document}`, null],
    [3n, `${webUrl}/3`, null],
    [4n, `data:application/json;base64,${Buffer.from('{"name":"data"}').toString("base64")}`, null],
    [2n ** 256n - 1n, 'data:application/json,{"name":"a\\u0000b\\ud800"}', null],
    [10n, "", "uri_empty"],
    [11n, "ftp://example.com/1", "uri_unsupported"],
    [12n, `${webUrl}/missing`, "http_404"],
    [13n, "data:,[]", "not_an_object"],
    [14n, "ipfs://bafkreifzjut3te7nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e", "ipfs_not_found"],
    [15n, "http://127.0.0.1:9/x", "fetch_failed"],
    [904n, '{"name":"costly"}', null],
    [905n, '{"name":"nested"}', null],
    [906n, "", null],
  ];
  for (const [tokenId, uri] of uris) await say(tokenId, uri);
  await chain.call(talker as never, "setBase", [`${webUrl}/{id}.json`]);
  const hostile: [bigint, string][] = [
    [900n, "call_failed"],
    [901n, "call_out_of_gas"],
    [902n, "call_too_large"],
    [903n, "call_bad_return"],
  ];
  await index.add([...uris, ...hostile].map(([tokenId]) => mint(tokenId)));
  await index.add([mint(314n, { amount: 5n, standard: "ERC1155" })]);

  await withWorker(async () => {
    for (const [tokenId, , fault] of uris) {
      const token = await settled(tokenId);
      expect([tokenId, token.status, token.error_code]).toEqual([tokenId, fault ? "failed" : "fresh", fault]);
    }
    for (const [tokenId, fault] of hostile)
      expect([tokenId, (await settled(tokenId)).error_code]).toEqual([tokenId, fault]);
    const described = await wait("the contract's own document", async () => {
      const found = await database.pool.query(
        "SELECT description FROM service.contract_metadata WHERE status <> 'pending'",
      );
      return found.rows[0];
    });
    expect(described).toEqual({ description: "costly" });
    const potion = await settled(314n);
    expect(potion.token_uri).toBe(`${webUrl}/{id}.json`);
    expect(potion.name).toBe(`web /${"0".repeat(61)}13a.json`);
  });

  const own = await row(1n);
  expect(own).toMatchObject({
    name: "Key",
    raw_cid: document,
    cached_image: image,
    image: `https://ipfs.io/ipfs/${image}`,
  });
  expect(own?.metadata).toContain('"edition":1.0');
  expect((await row(2n))?.name).toBe("Key");
  expect(await row(3n)).toMatchObject({ name: "web /3", image: "ftp://example.com/1.png", cached_image: null });
  expect((await row(2n ** 256n - 1n))?.name).toBe("ab\ufffd");

  const place = `chain: "goerli", contract: "${talker.address}"`;
  const shown = await apis.graphql(`{
    nft(${place}, tokenId: "12") { metadataStatus metadataError }
    contract(chain: "goerli", address: "${talker.address}") {
      metadataProgress { total fresh pending failed faults { code count } } } }`);
  expect(shown.data.nft).toEqual({ metadataStatus: "FAILED", metadataError: "http_404" });
  const { faults, ...counts } = shown.data.contract.metadataProgress;
  expect(counts).toEqual({ total: 19, fresh: 9, pending: 0, failed: 10 });
  expect(faults).toContainEqual({ code: "http_404", count: 1 });

  const { body } = await apis.v0(`/nfts/${talker.address}/1?chain=goerli`);
  expect(body.nft.cached_file_url).toBe(`https://mintyard.test/ipfs/${image}`);
  expect(body.contract).toMatchObject({ name: "Keys", symbol: "TSK" });
});

test("a token is read again after its contract announces a change, and not for an old announcement", async () => {
  await say(1n, `${webUrl}/revealed`);
  const head = Number(await chain.client.getBlockNumber());
  await index.announce(talker.address.toLowerCase(), 0n, 2n ** 256n - 1n);
  // Some rounds of the worker, in which it would read.
  await withWorker(() => sleep(800));
  expect((await row(1n))?.name).toBe("Key");

  await index.setHead(head + 1);
  await index.announce(talker.address.toLowerCase(), 0n, 5n);
  await withWorker(async () => {
    // The node has not reached the announcement's block: what it says now may be the old answer.
    await until(
      () => row(1n),
      (token) => token.name === "web /revealed" && token.status === "pending",
    );
    await chain.client.mine({ blocks: 5 });
    const token = await until(
      () => row(1n),
      (found) => found.status === "fresh",
    );
    expect(token.fetched_block).toBeGreaterThanOrEqual(token.wanted_block ?? 0n);
    for (const id of [2n, 3n, 4n]) await settled(id);
  });
});

test("a token whose new URI has no document does not show that of the old one", async () => {
  const contract = talker.address.toLowerCase();
  const place = `/nfts/${talker.address}/2?chain=goerli`;
  const read = async (text: string, holds: (token: NonNullable<Awaited<ReturnType<typeof row>>>) => boolean) => {
    await say(2n, text);
    await chain.client.mine({ blocks: 10 });
    await index.setHead(Number(await chain.client.getBlockNumber()));
    await index.announce(contract, 2n, 2n);
    await chain.client.mine({ blocks: 10 });
    await withWorker(() => until(() => row(2n), holds));
  };
  await read(`${webUrl}/placeholder`, ({ name, status }) => name === "web /placeholder" && status === "fresh");
  expect((await apis.v0(place)).body.nft).toMatchObject({ metadata_url: `${webUrl}/placeholder` });
  await read(`${webUrl}/missing`, ({ token_uri, status }) => token_uri === `${webUrl}/missing` && status === "failed");
  expect(await row(2n)).toMatchObject({ metadata: null, name: null, image: null, metadata_hash: null });
  expect((await apis.v0(place)).body.nft).toMatchObject({ metadata: null, metadata_url: `${webUrl}/missing` });
});

test("a token that was burned and minted again is read again, and none that was only minted on", async () => {
  const amounts = { standard: "ERC1155", amount: 5n } as const;
  // One id of ERC-1155 answers: the others fail, and that they are read again shows in the block of the reading.
  const [single, inOneBlock, refusing, other] = [70n, 71n, 72n, 73n];
  for (const id of [single, inOneBlock, refusing]) await say(id, `${webUrl}/first/${id}`);
  await chain.call(talker as never, "setBase", [`${webUrl}/first/{id}`]);
  const settle = async () => {
    await chain.client.mine({ blocks: 3 });
    await index.setHead(Number(await chain.client.getBlockNumber()) - 1);
  };
  await settle();
  const multi = { contract: talker.address.toLowerCase(), tokenId: 314n, from: alice, to: nobody, ...amounts };
  const burn = (tokenId: bigint): Movement => ({ ...mint(tokenId), from: alice, to: nobody });
  await index.add([mint(single), mint(inOneBlock), mint(refusing), mint(other, amounts)]);
  await chain.client.mine({ blocks: 5 });
  await withWorker(async () => {
    for (const id of [single, inOneBlock, refusing]) expect((await settled(id)).name).toBe(`web /first/${id}`);
    await settled(other);
  });
  const before = (await row(other))?.fetched_block;

  // What the dead tokens became before they were burned says nothing of the new ones.
  await say(single, `${webUrl}/second/${single}`);
  await say(inOneBlock, `${webUrl}/second/${inOneBlock}`);
  await say(refusing, "");
  await chain.call(talker as never, "setBase", [`${webUrl}/second`]);
  await settle();
  await index.add([burn(single), burn(refusing), multi]);
  await index.add([mint(single), mint(refusing)]);
  await index.add([burn(inOneBlock), mint(inOneBlock), { ...multi, from: nobody, to: alice }]);
  // Some of it is burned and minted: the id lives on.
  await index.add([mint(other, { ...amounts, from: alice, to: nobody, amount: 4n }), mint(other, amounts)]);
  await chain.client.mine({ blocks: 10 });
  await withWorker(async () => {
    const fresh = (id: bigint, name: string) =>
      until(
        () => row(id),
        (token) => token.status === "fresh" && token.name === name,
      );
    await fresh(single, `web /second/${single}`);
    await fresh(inOneBlock, `web /second/${inOneBlock}`);
    await fresh(314n, "web /second");
    const refused = await until(
      () => row(refusing),
      (token) => token.status === "failed",
    );
    expect(refused).toMatchObject({ error_code: "uri_empty", metadata: null, name: null });
  });
  expect(await row(other)).toMatchObject({ fetched_block: before, wanted_block: null });
});

test("an ERC-1155 document's id is filled in where it is shown, and an ERC-721 document's is a text like any other", async () => {
  await chain.call(talker as never, "setBase", [`${webUrl}/templates`]);
  await say(80n, `${webUrl}/templates`);
  await index.add([mint(80n)]);
  const ask = { status: "pending", next_attempt_at: new Date(0) } as const;
  await database.db.updateTable("service.token_metadata").set(ask).where("token_id", "=", "314").execute();
  const id = `${"0".repeat(61)}13a`;
  await withWorker(async () => {
    await until(
      () => row(314n),
      ({ name }) => name === `Potion ${id}`,
    );
    await settled(80n);
  });
  expect(await row(314n)).toMatchObject({ image: `ftp://example.com/${id}.png`, metadata: template });
  expect(await row(80n)).toMatchObject({
    name: "Potion {id}",
    image: "ftp://example.com/{id}.png",
    metadata: template,
  });
  const { rows } = await database.pool.query(
    "SELECT token_id, value FROM service.token_trait WHERE name = 'Key' ORDER BY token_id",
  );
  expect(rows).toEqual([
    { token_id: "80", value: "{id}" },
    { token_id: "314", value: id },
  ]);
});

test("a client's refresh of a token and of a contract reads again", async () => {
  await database.db
    .updateTable("service.token_metadata")
    .set({ fetched_at: new Date(0), attempted_at: new Date(0) })
    .execute();
  await say(4n, `${webUrl}/four`);
  const { body } = await apis.v0(`/nfts/${talker.address}/4?chain=goerli&refresh_metadata=true`);
  expect(body.status).toBe("ADDED");
  await withWorker(() =>
    until(
      () => row(4n),
      (token) => token.name === "web /four",
    ),
  );
  await say(3n, `${webUrl}/three`);
  const all = await apis.v0(`/nfts/${talker.address}?chain=goerli&refresh_metadata=true`);
  expect(all.body.status).toBe("ADDED");
  await withWorker(() =>
    until(
      () => row(3n),
      (token) => token.name === "web /three",
    ),
  );
});

test("a token that a reorg took loses its row, and gets a new one when it comes back", async () => {
  await index.add([mint(50n)]);
  await say(50n, `${webUrl}/50`);
  await withWorker(() => settled(50n));
  await database.pool.query("DELETE FROM c31337_test.transfer WHERE token_id = 50");
  await database.db
    .updateTable("service.token_metadata")
    .set({ next_attempt_at: new Date(0) })
    .where("token_id", "=", "50")
    .execute();
  await withWorker(async () => {
    await until(
      async () => (await row(50n)) ?? null,
      (token) => token === null,
    );
    await index.add([mint(50n)]);
    expect((await settled(50n)).name).toBe("web /50");
  });
});

test("two workers share the queue, and each token is read once", async () => {
  const ids = Array.from({ length: 60 }, (_, at) => BigInt(1_000 + at));
  for (const id of ids) await say(id, `${webUrl}/once/${id}`);
  await index.add(ids.map((id) => mint(id)));
  await withWorker(() =>
    withWorker(async () => {
      for (const id of ids) await settled(id);
    }),
  );
  const seen = asked.filter((url) => url.startsWith("/once/"));
  expect(seen.sort()).toEqual(ids.map((id) => `/once/${id}`).sort());
});

test("a worker that stops in the middle of a slow file gives its job back at once", async () => {
  await say(60n, `${webUrl}/slow`);
  await index.add([mint(60n)]);
  let stopped = 0;
  await withWorker(async () => {
    await until(async () => asked.includes("/slow") || undefined, Boolean);
    stopped = performance.now();
  });
  expect(performance.now() - stopped).toBeLessThan(8_000 * measuredSlowness);
  const token = await row(60n);
  expect(token).toMatchObject({ status: "pending", attempts: 0, lease_id: null });
  expect(token?.next_attempt_at?.getTime()).toBeLessThanOrEqual(Date.now());
  await say(60n, `${webUrl}/60`);
});

test("the worker waits out a database and a node that are away", async () => {
  await withWorker(async () => {
    await database.pool.query("ALTER TABLE service.token_metadata RENAME TO away");
    // Some rounds fail.
    await sleep(700);
    await database.pool.query("ALTER TABLE service.away RENAME TO token_metadata");
    expect((await settled(60n)).name).toBe("web /60");
    await chain.stop();
    await index.add([mint(61n)]);
    // Some rounds fail.
    await sleep(1_000);
    // Nothing was learned about the token, so nothing is held against it.
    expect(await row(61n)).toMatchObject({ status: "pending", attempts: 0, error_code: null });
  });
});
