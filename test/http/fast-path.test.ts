import { createHash } from "node:crypto";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PrecompiledOperations } from "../../src/graphql/fast-path/precompiled-operations.ts";
import { createApp } from "../../src/server/app.ts";
import { fastPath } from "../../src/server/fast-path.ts";
import { ApiServer } from "../setup/api-server.ts";
import { addressOf, nobody } from "../setup/nft-fixture.ts";

// The fast path and the ordinary one over the same services, asked by raw bytes: whatever a client could
// see is the same, and what the fast path gives up on is neither charged nor read twice.
const [keys, potions, alice] = [0xa1, 0xb2, 0x11].map(addressOf) as [string, string, string];
let api: ApiServer;
let ordinary: Server;
let fast: Server;
/** Requests that the fast path left to the ordinary one. */
let left = 0;

beforeAll(async () => {
  api = await ApiServer.start();
  await api.nfts.add([1n, 2n, 10n].map((tokenId) => ({ contract: keys, tokenId, from: nobody, to: alice })));
  await api.nfts.add([
    { contract: potions, tokenId: 5n, from: nobody, to: alice, amount: 7n, standard: "ERC1155" },
    { contract: keys, tokenId: 10n, from: alice, to: nobody },
  ]);
  await api.database.db
    .insertInto("service.token_metadata")
    .values({
      ...{ chain_id: 31337, contract: Buffer.alloc(20, 0xa1), token_id: "1", status: "fresh", name: "Ünï 😀" },
      metadata: '{ "big": 123456789012345678901234567890, "face": "😀" }',
    })
    .execute();
  // So long that the answer goes out in several pieces.
  await api.database.db
    .insertInto("service.token_metadata")
    .values({
      ...{ chain_id: 31337, contract: Buffer.alloc(20, 0xa1), token_id: "2", status: "fresh", name: "long" },
      metadata: JSON.stringify({ text: "ä😀x".repeat(6_000) }),
    })
    .execute();
  const operations = new PrecompiledOperations();
  const listener = getRequestListener(createApp(api.services, { operations }).fetch);
  const plain = (request: Parameters<typeof listener>[0], response: Parameters<typeof listener>[1]) =>
    void listener(request, response);
  ordinary = createServer(plain);
  fast = createServer(
    fastPath(api.services, operations, (request, response) => {
      left += 1;
      plain(request, response);
    }),
  );
  for (const server of [ordinary, fast]) await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
});
afterAll(async () => {
  for (const server of [ordinary, fast]) await new Promise((done) => server?.close(done));
  await api?.close();
});

/** All bytes of an answer, without what no two answers share. */
async function raw(server: Server, request: string): Promise<string> {
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.write(request);
  let text = "";
  for await (const chunk of socket.setEncoding("utf8")) text += chunk;
  const lagDigits = /"lagSeconds":(\d+)/.exec(text)?.[1]?.length ?? 0;
  return (
    text
      .replace(/req_[0-9a-f]{24}/g, "req_")
      .replace(/Date: .*/, "Date:")
      .replace(/lag-seconds: \d+/i, "lag-seconds:")
      .replace(/"lagSeconds":\d+/, '"lagSeconds":0')
      // The seconds are a part of the length: nine of them are a byte less than ten.
      .replace(/content-length: (\d+)/i, (_, length) => `content-length: ${Number(length) - lagDigits}`)
  );
}

function get(path: string, key: string, ...headers: string[]): string {
  return [`GET ${path} HTTP/1.1`, "Host: a", "Connection: close", `Authorization: ${key}`, ...headers, "", ""].join(
    "\r\n",
  );
}

function post(body: string, key: string, ...headers: string[]): string {
  const length = `Content-Length: ${Buffer.byteLength(body)}`;
  const lines = ["Host: a", "Connection: close", `Authorization: ${key}`, "Content-Type: application/json", length];
  return ["POST /graphql HTTP/1.1", ...lines, ...headers, "", body].join("\r\n");
}

/** The same request through both, each with a fresh key that is known already and whose bucket is full. */
async function both(tier: "free" | "enterprise", request: (key: string) => string) {
  const answers: string[] = [];
  let wayLeft = 0;
  for (const server of [ordinary, fast]) {
    const { key } = await api.account(tier);
    await api.services.auth.keys.owner(key);
    const before = left;
    answers.push((await raw(server, request(key))).replaceAll(key, "KEY"));
    wayLeft = left - before;
  }
  const [one = "", other = ""] = answers;
  return { one, other, wayLeft };
}

const page = `/v0/accounts/${alice}?chain=goerli`;
const fastPaths = [
  page,
  `${page}&include=metadata&include=contract_information&page_size=2`,
  `${page}&exclude=erc721`,
  `${page}&contract_address=${keys}&page_size=1`,
  `/v0/accounts/${addressOf(0x77)}?chain=rinkeby`,
  `/v0/nfts/${keys}?chain=goerli&include=all`,
  `/v0/nfts/${keys}?chain=goerli&page_size=1&page_number=2`,
  `/v0/nfts?chain=goerli&include=metadata,contract_information`,
  `/v0/nfts/${keys}/1?chain=goerli`,
  `/v0/nfts/${keys}/10?chain=rinkeby&include=rarity`,
  `/v0/nfts/${potions.toUpperCase().replace("0X", "0x")}/5?chain=goerli`,
];
test("an answer in several pieces has every byte", async () => {
  const { other } = await both("enterprise", (key) => get(`/v0/nfts/${keys}/2?chain=goerli`, key));
  expect(Buffer.byteLength(other)).toBeGreaterThan(40_000);
  expect(JSON.parse(other.slice(other.indexOf("\r\n\r\n") + 4)).nft.metadata.text).toBe("ä😀x".repeat(6_000));
});

test.each(fastPaths)("GET %s is answered on the fast path, with the same bytes", async (path) => {
  for (const tier of ["free", "enterprise"] as const) {
    const { one, other, wayLeft } = await both(tier, (key) => get(path, key));
    expect(one).toMatch(/^HTTP\/1.1 200 OK\r\n/);
    expect(other).toBe(one);
    expect(wayLeft).toBe(0);
  }
});

test("an answer that the client has is not sent again, by either way, until it differs", async () => {
  const tag = /etag: ("[^"]+")/.exec((await both("enterprise", (key) => get(page, key))).other)?.[1] ?? "";
  for (const given of [tag, `W/${tag}`, `"x", ${tag}`, "*"]) {
    const { one, other, wayLeft } = await both("free", (key) => get(page, key, `If-None-Match: ${given}`));
    expect(one).toMatch(/^HTTP\/1.1 304 Not Modified\r\n/);
    expect(one).toMatch(/cache-control: private, no-cache/);
    expect(one).toContain(`etag: ${tag}`);
    expect(other).toBe(one);
    expect(wayLeft).toBe(0);
  }
  for (const path of [`${page}&page_size=1`, `/v0/nfts/${keys}?chain=goerli`])
    expect((await both("free", (key) => get(path, key, `If-None-Match: ${tag}`))).one).toMatch(/^HTTP\/1.1 200 OK/);
});

const refused: [name: string, request: (key: string) => string][] = [
  ["an unknown contract", (key) => get(`/v0/nfts/${addressOf(0xee)}?chain=goerli`, key)],
  ["an unknown token", (key) => get(`/v0/nfts/${keys}/77?chain=goerli`, key)],
  ["no chain", (key) => get(`/v0/nfts/${keys}`, key)],
  ["a wrong chain", (key) => get(`/v0/nfts/${keys}?chain=nowhere`, key)],
  ["a wrong page", (key) => get(`${page}&page_size=51`, key)],
  ["a wrong cursor", (key) => get(`${page}&continuation=AAAA`, key)],
  ["a wrong address", (key) => get("/v0/accounts/0x12?chain=goerli", key)],
  ["a wrong key", () => get(page, "00000000-0000-4000-8000-00000000dead")],
  ["no key", () => get(page, "")],
  ["two keys", (key) => get(page, key, `Authorization: ${key}`)],
  ["a block that is awaited", (key) => get(page, key, "X-Min-Block: goerli:1")],
  ["a path with a slash behind it", (key) => get(`/v0/nfts/${keys}/?chain=goerli`, key)],
  ["an encoded path", (key) => get(`/v0/nfts/${keys.replace("a", "%61")}?chain=goerli`, key)],
  ["an empty chain in front", (key) => get(`/v0/nfts/${keys}?chain=&chain=goerli`, key)],
  ["HEAD", (key) => get(page, key).replace("GET", "HEAD")],
  ["a body that is no JSON", (key) => post("{", key)],
  ["an empty body", (key) => post("", key)],
  [
    "an unknown hash",
    (key) => post(JSON.stringify({ extensions: { persistedQuery: { version: 1, sha256Hash: "0" } } }), key),
  ],
  [
    "a hash of another kind",
    (key) => post(JSON.stringify({ query: "{ __typename }", extensions: { persistedQuery: 1 } }), key),
  ],
  ["an operation that fails", (key) => post('{"query":"{ chain(name: \\"x\\") { latestNfts { totalCount } } }"}', key)],
];
test.each(refused)("%s gets the same answer either way, and costs the same", async (_name, request) => {
  for (const tier of ["free", "enterprise"] as const) {
    const { one, other } = await both(tier, request);
    expect(other).toBe(one);
  }
});

const persisted = `{ contract(chain: "goerli", address: "${keys}") { nfts(first: 2) { nodes { tokenId } } } }`;
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const operations: [name: string, body: object, headers?: string[]][] = [
  [
    "an account's page",
    {
      query: `{ account(address: "${alice}") { nfts(chain: "goerli") { nodes { tokenId name metadata contract { address } } totalCount } } }`,
    },
  ],
  [
    "a page with cursors",
    {
      query: `query ($n: Int) { contract(chain: "goerli", address: "${keys}") { nfts(first: $n) { edges { cursor node { id } } pageInfo { endCursor hasNextPage } } } }`,
      variables: { n: 1 },
    },
  ],
  [
    "a token",
    { query: `{ nft(chain: "goerli", contract: "${keys}", tokenId: 1) { name metadata owner } }`, operationName: null },
    ["Accept: application/graphql-response+json"],
  ],
  [
    "what names its client",
    {
      query: `{ nft(chain: "goerli", contract: "${keys}", tokenId: 1) { owner } }`,
      extensions: { clientLibrary: { name: "@apollo/client", version: "4.3.8" } },
    },
  ],
  [
    "a document with its hash",
    { query: persisted, extensions: { persistedQuery: { version: 1, sha256Hash: sha256(persisted) } } },
  ],
  ["a document by its hash", { extensions: { persistedQuery: { version: 1, sha256Hash: sha256(persisted) } } }],
];
test.each(operations)(
  "%s that was executed once is answered on the fast path, with the same bytes",
  async (_name, body, headers = []) => {
    const { key } = await api.account("enterprise");
    await raw(ordinary, post(JSON.stringify(body), key, ...headers));
    for (const tier of ["free", "enterprise"] as const) {
      const { one, other, wayLeft } = await both(tier, (fresh) => post(JSON.stringify(body), fresh, ...headers));
      expect(one).toMatch(/^HTTP\/1.1 200 OK\r\n/);
      expect(other).toBe(one);
      expect(wayLeft).toBe(0);
    }
  },
);

test("a precompiled operation that fails this time is charged once and reported like any other", async () => {
  const query = `query ($c: Address!) { nft(chain: "goerli", contract: $c, tokenId: 1) { tokenId } }`;
  const { key } = await api.account("enterprise");
  await raw(ordinary, post(JSON.stringify({ query, variables: { c: keys } }), key));
  const body = JSON.stringify({ query, variables: { c: addressOf(0xee) } });
  const { one, other, wayLeft } = await both("free", (fresh) => post(body, fresh));
  expect(one).toContain('"code":"not_found"');
  expect(other).toBe(one);
  expect(wayLeft).toBe(1);
});
