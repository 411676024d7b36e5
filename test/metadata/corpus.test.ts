import { createServer } from "node:http";
import { importer } from "ipfs-unixfs-importer";
import { CID } from "multiformats/cid";
import { identity } from "multiformats/hashes/identity";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runMetadata } from "../../src/metadata/schedule/run-metadata.ts";
import { Rounds } from "../../src/rounds.ts";
import { type Chain, startChain } from "../indexing/indexed-chain.ts";
import { compileSolidity } from "../setup/compile.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { NftFixture } from "../setup/nft-fixture.ts";
import { openReadApis, type ReadApis } from "../setup/read-apis.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { wait } from "../setup/wait.ts";
import { corpus, images } from "./corpus.ts";
import { listen, mintOf, type Serving } from "./strange-server.ts";

const source = `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
contract Teller {
  mapping(uint256 => string) answers;
  function set(uint256[] calldata ids, string[] calldata texts) external {
    for (uint256 at = 0; at < ids.length; at++) answers[ids[at]] = texts[at];
  }
  error OffchainLookup(address sender, string[] urls, bytes callData, bytes4 callback, bytes extraData);
  function tokenURI(uint256 id) external view returns (string memory) {
    if (id != OFFCHAIN) return answers[id];
    string[] memory urls = new string[](2);
    urls[0] = answers[id];
    urls[1] = string.concat(answers[id], "/{sender}/{data}.json");
    revert OffchainLookup(address(this), urls, "", this.set.selector, "");
  }
}`;

/** A token whose contract sends the reader to a server, as EIP-3668 has it. */
const offchain = 9_999n;

const folder = temporaryFolder();
let database: TestDatabase;
let chain: Chain;
let apis: ReadApis;
const servers: Serving[] = [];
/** What the operator's gateway and the one that a contract names hold: blocks by CID. */
const held = { gateway: new Map<string, Uint8Array>(), named: new Map<string, Uint8Array>() };
const words: Record<string, string> = {};
/** Requests that a contract caused by EIP-3668. */
const asked: string[] = [];

beforeAll(async () => {
  const gateways = await Promise.all(
    [held.gateway, held.named].map((blocks) =>
      listen(
        createServer((request, response) => {
          const cid = /^\/ipfs\/(\w+)\?format=raw$/.exec(request.url ?? "")?.[1] ?? "";
          const block = blocks.get(cid);
          response.writeHead(block ? 200 : 404).end(block);
        }),
      ),
    ),
  );
  const [gateway, named] = gateways as [Serving, Serving];
  const web = await listen(
    createServer((request, response) => {
      if (request.url?.startsWith("/ccip")) asked.push(request.url);
      const serve = corpus[Number(request.url?.slice(1))]?.serve;
      if (!serve) return response.end('{"name":"Key"}');
      const headers = Object.entries(serve.headers ?? {}).map(([name, value]) => [
        name,
        fill(value, request.url ?? ""),
      ]);
      const range = /^bytes=0-(\d+)$/.exec(request.headers.range ?? "")?.[1];
      const body = Buffer.from(serve.body);
      if (range === undefined || serve.status !== undefined || body.length <= Number(range))
        return response.writeHead(serve.status ?? 200, Object.fromEntries(headers)).end(body);
      const part = body.subarray(0, Number(range) + 1);
      response.writeHead(206, { "content-range": `bytes 0-${part.length - 1}/${body.length}` }).end(part);
    }),
  );
  servers.push(gateway, named, web);
  words["WEB"] = web.url;
  words["NAMED"] = named.url;
  chain = await startChain();
  database = await createTestDatabase();
  apis = openReadApis(database, {
    env: {
      RPC_URL_GOERLI: chain.url,
      METADATA_ALLOW_PRIVATE: "true",
      METADATA_PER_CONTRACT_MINUTE: "100000",
      METADATA_FIRST_TOKENS: "100000",
      IPFS_FETCH_GATEWAYS: `${gateway.url}/ipfs`,
      MINTYARD_DATA_DIR: folder,
    },
  });
  await fillStores();
  await startWithUris();
});
afterAll(async () => {
  await chain?.stop();
  for (const server of servers) await server.close();
  await apis.services.content.close();
  await apis.services.pool.end();
  await database.drop();
});

function fill(text: string, self: string): string {
  const known: Record<string, string> = { ...words, SELF: `${words["WEB"]}${self}`, GOOD: `${words["WEB"]}/good` };
  return text.replaceAll(/[A-Z][A-Z0-9]+/g, (word) => known[word] ?? word);
}

/** Content here, content that only gateways have, and gateways that answer with wrong bytes. */
async function fillStores(): Promise<void> {
  const { content } = apis.services;
  const bytes = (body: string | Uint8Array) =>
    (async function* () {
      yield Buffer.from(body);
    })();
  const file = (body: string | Uint8Array) =>
    content.addFile({ stream: bytes(body) }, async (_transaction, { cid }) => cid);
  words["STORED"] = await file('{"name":"Key","stored":true}');
  words["IMAGE"] = await file(images.png(7, 8));
  words["FOLDER"] = await content.addDirectory(
    (async function* () {
      for (const name of ["1.json", "a b.json"])
        yield { names: [name], bytes: Buffer.from(`{"name":"Key","path":"${name}"}`), contentType: "application/json" };
    })(),
    async (_transaction, { cid }) => cid,
  );

  words["RAW"] = await remote(held.gateway, [["", '{"name":"Key","raw":1}']]);
  words["REMOTE"] = await remote(held.gateway, [
    ["1.json", '{"name":"Key","remote":1}'],
    ["2.json", "{}"],
  ]);
  words["REMOTEV0"] = await remote(held.gateway, [["", '{"name":"Key","v":0}']], { cidVersion: 0, rawLeaves: false });
  words["BIG"] = await remote(held.gateway, [["", `{"name":"Key","x":"${"y".repeat(600_000)}"}`]]);
  words["ONLYNAMED"] = await remote(held.named, [["", '{"name":"Key","named":1}']]);
  words["IDENTITY"] = CID.createV1(0x55, identity.digest(Buffer.from('{"name":"Key","in":"the name"}'))).toString();
  const forged = await remote(held.gateway, [["", '{"name":"Key","forged":1}']]);
  held.gateway.set(forged, Buffer.from('{"name":"Kay","forged":1}'));
  words["FORGED"] = forged;
  const before = new Set(held.gateway.keys());
  words["SWAPPED"] = await remote(held.gateway, [
    ["1.json", '{"name":"Key","one":1}'],
    ["2.json", '{"name":"Kay"}'],
  ]);
  const fresh = [...held.gateway.keys()].filter((cid) => !before.has(cid) && cid !== words["SWAPPED"]);
  const other = held.gateway.get(fresh[1] ?? "");
  if (other) held.gateway.set(fresh[0] ?? "", other);
}

async function remote(
  blocks: Map<string, Uint8Array>,
  files: [path: string, body: string][],
  options: { cidVersion?: 0 | 1; rawLeaves?: boolean } = {},
): Promise<string> {
  const store = {
    put: async (cid: CID, block: Uint8Array) => {
      blocks.set(cid.toV1().toString(), block);
      return cid;
    },
  };
  const entries = files.map(([path, body]) => ({ ...(path === "" ? {} : { path }), content: Buffer.from(body) }));
  let root = "";
  const whole = files.some(([path]) => path !== "");
  const settings = { cidVersion: 1 as const, rawLeaves: true, wrapWithDirectory: whole, ...options };
  for await (const { cid } of importer(entries, store as never, settings)) root = cid.toString();
  return root;
}

/** The contract that returns the URIs, and the index that knows its tokens. */
async function startWithUris(): Promise<void> {
  const teller = compileSolidity(source.replaceAll("OFFCHAIN", String(offchain)))["Teller"];
  if (!teller) throw new Error("not compiled");
  const contract = await chain.deploy(teller);
  const uris = corpus.map(({ uri }, at) => fill(uri, `/${at}`));
  for (let at = 0; at < uris.length; at += 20) {
    const part = uris.slice(at, at + 20);
    await chain.call(contract, "set", [part.map((_, index) => BigInt(at + index)), part]);
  }
  await chain.call(contract, "set", [[offchain], [`${words["WEB"]}/ccip`]]);
  await chain.client.mine({ blocks: 200 });
  const [index] = await NftFixture.create(database.pool, [31337, 31338]);
  await index?.add([...corpus.map((_, at) => BigInt(at)), offchain].map((id) => mintOf(contract.address, id)));
}

async function rows() {
  return await database.db.selectFrom("service.token_metadata").selectAll().where("chain_id", "=", 31337).execute();
}

test("the corpus is large enough", () => {
  expect(corpus.length).toBeGreaterThanOrEqual(120);
});

test("every URI and document of the corpus ends as the row that is expected of it", async () => {
  const stop = new AbortController();
  const running = runMetadata(apis.services, new Rounds(stop.signal));
  await wait("the last row", async () => {
    const found = await rows();
    const open = found.filter(({ status, image, file_type, file_error }) => {
      const media = image?.startsWith(words["WEB"] ?? "") && file_type === null && file_error === null;
      return status === "pending" || media;
    });
    return found.length === corpus.length + 1 && open.length === 0;
  });
  stop.abort();
  await running;
  const found = new Map((await rows()).map((row) => [Number(row.token_id), row]));
  const seen = corpus.map(({ what, expect: wanted }, at) => {
    const row = found.get(at);
    return [what, Object.fromEntries(Object.keys(wanted).map((name) => [name, row?.[name as keyof typeof wanted]]))];
  });
  expect(seen).toEqual(corpus.map(({ what, expect: wanted }) => [what, wanted]));
});

test("documents that were repaired or are no metadata are kept as the bytes they were", async () => {
  const odd = corpus.flatMap(({ what, serve }, at) => (/a comma too many|a page$/.test(what) ? [{ at, serve }] : []));
  expect(odd).toHaveLength(2);
  for (const { at, serve } of odd) {
    const row = (await rows()).find(({ token_id }) => token_id === String(at));
    const kept = await database.db
      .selectFrom("service.raw_document")
      .select("head")
      .where("hash", "=", row?.metadata_hash ?? Buffer.alloc(0))
      .executeTakeFirst();
    expect(kept?.head.toString()).toBe(serve?.body);
  }
});

test("a contract that answers with an off-chain lookup causes no request", async () => {
  const row = (await rows()).find(({ token_id }) => token_id === String(offchain));
  expect(row).toMatchObject({ status: "failed", error_code: "call_failed" });
  expect(asked).toEqual([]);
  expect((await fetch(`${words["WEB"]}/ccip`)).status).toBe(200);
  expect(asked).toEqual(["/ccip"]);
});

test("every stored document is JSON to PostgreSQL too", async () => {
  const { rows: bad } = await database.pool.query(
    "SELECT token_id FROM service.token_metadata WHERE metadata IS NOT NULL AND NOT (metadata IS JSON OBJECT)",
  );
  expect(bad).toEqual([]);
});
