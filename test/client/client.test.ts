import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, expectTypeOf, test } from "vitest";
import {
  type Answer,
  createClient,
  idempotencyKey,
  type MintyardClient,
  MintyardError,
  repeatWhileUnavailable,
} from "../../client/src/client.ts";
import { graphql } from "../../client/src/graphql.ts";
import { createOpenApi } from "../../src/rest/openapi.ts";
import { ApiServer } from "../setup/api-server.ts";
import { addressOf, nobody } from "../setup/nft-fixture.ts";

let api: ApiServer;
let key: string;
let mintyard: MintyardClient;
const contract = addressOf(0xa1);
const owner = addressOf(0x0b);

beforeAll(async () => {
  api = await ApiServer.start({ RATE_LIMITS: "off" });
  ({ key } = await api.account("enterprise"));
  mintyard = createClient({ url: `${api.url}/`, key });
  await api.nfts.add([1n, 2n, 3n].map((tokenId) => ({ contract, tokenId, from: nobody, to: owner })));
});
afterAll(async () => await api?.close());

/** What a call was refused with. */
async function refusalOf(call: Promise<unknown>): Promise<MintyardError> {
  const error = await call.then(
    () => new Error("it was not refused"),
    (refused: unknown) => refused,
  );
  if (error instanceof MintyardError) return error;
  throw error;
}

test("a read has the parts of its path, its query, and an answer with types", async () => {
  const query = { chain: "goerli", page_size: 2, include: ["metadata" as const] };
  const page = await mintyard.get("/v0/nfts/{contract_address}", { path: { contract_address: contract }, query });
  expect(page.nfts.map(({ token_id }) => token_id).sort()).toEqual(["1", "2"]);
  expectTypeOf(page.nfts[0]?.metadata_status).toEqualTypeOf<"PENDING" | "FRESH" | "FAILED" | undefined>();
  const next = { chain: "goerli", continuation: page.continuation ?? "" };
  const last = await mintyard.get("/v0/nfts/{contract_address}", { path: { contract_address: contract }, query: next });
  expect(last.nfts.map(({ token_id }) => token_id)).toEqual(["3"]);
  const account = await mintyard.get("/v0/accounts/{account_address}", {
    path: { account_address: owner },
    query: { chain: "goerli" },
  });
  expect(account.total).toBe(3);
});

test("a refusal has the code, the fix, the faults and the id of the request that the server's log has", async () => {
  const error = await refusalOf(
    mintyard.get("/v0/nfts/{contract_address}", {
      path: { contract_address: "no address" },
      query: { chain: "goerli" },
    }),
  );
  expect(error).toMatchObject({ status: 422, code: "invalid_address", problems: [{ field: "contract_address" }] });
  expect(error.fix).toMatch(/^[A-Z].*\.$/);
  expect(error.requestId).toMatch(/\w{8}/);
  const wrong = createClient({ url: api.url, key: "wrong" });
  expect(await refusalOf(wrong.get("/v0/me/settings"))).toMatchObject({ status: 401, code: "invalid_api_key" });
  // A parameter of the path that is empty would ask for another path.
  const empty = mintyard.get("/v0/nfts/{contract_address}", { path: { contract_address: "" }, query: { chain: "x" } });
  await expect(empty).rejects.toThrow("needs path.contract_address");
  for (const folder of [".", ".."]) {
    const path = { contract_address: folder };
    const other = mintyard.get("/v0/nfts/{contract_address}", { path, query: { chain: "goerli" } });
    await expect(other).rejects.toThrow("needs path.contract_address");
  }
});

const place = graphql(`fragment Place on Transfer @_unmask { blockNumber }`);
const movement = graphql(`fragment Movement on Transfer { kind to tokenId ...Place }`, [place]);
const history = graphql(
  `query History($contract: Address!, $first: Int = 10) {
    contract(chain: "goerli", address: $contract) {
      address
      transfers(first: $first) { nodes { timestamp ...Movement ...Place } }
    }
  }`,
  [movement, place],
);

test("a GraphQL document has typed variables and a typed result, with the fragments that it names", async () => {
  const { contract: found } = await mintyard.graphql(history, { contract });
  expect(found?.transfers?.nodes).toHaveLength(3);
  expect(found?.transfers?.nodes[0]).toMatchObject({ kind: "MINT", to: owner });
  expect(Number(found?.transfers?.nodes[0]?.blockNumber)).toBeGreaterThan(100);
  expectTypeOf(found?.address).toEqualTypeOf<string | undefined>();
  // @ts-expect-error: the variable is required.
  await refusalOf(mintyard.graphql(history));
  // A bare text is sent as it is, and its result is unknown.
  expect(await mintyard.graphql("{ chains { name } }")).toMatchObject({ chains: expect.any(Array) });
});

test("a failure of GraphQL has code, fix, request id, and what was answered beside it", async () => {
  const two = graphql(`{ chains { name } contract(chain: "no chain", address: "0x${"1".repeat(40)}") { name } }`);
  const error = await refusalOf(mintyard.graphql(two));
  expect(error).toMatchObject({ code: "invalid_enumeration", data: { contract: null, chains: [{}, {}] } });
  expect(error.fix).not.toBe("");
  expect(error.requestId).not.toBe("");
  expect(await refusalOf(mintyard.graphql("{ nothing }"))).toMatchObject({ code: expect.any(String) });
});

test("files and metadata are stored, and are asked for again when the answer was lost", async () => {
  let calls = 0;
  const lossy: typeof fetch = async (...request) => {
    const response = await fetch(...request);
    calls += 1;
    if (calls % 2 === 0) return response;
    await response.arrayBuffer();
    throw new TypeError("fetch failed");
  };
  const client = createClient({ url: api.url, key, fetch: lossy });
  const soon = { pauseMs: 1 };
  const file = await client.uploadFile(new Blob(["hello"], { type: "text/plain" }), "hello.txt", soon);
  expect(file).toMatchObject({ file_name: "hello.txt", file_size: 5, content_type: "text/plain" });
  const documents = { 0: { name: "Zero", image: "ipfs://x" }, 1: { name: "One", image: "ipfs://x" } };
  const folder = await client.uploadMetadata(documents, soon);
  expect(calls).toBe(4);
  const [, , cid] = folder.metadata_directory_ipfs_uri.split("/");
  expect(await (await fetch(`${api.url}/ipfs/${cid}/1.json`)).json()).toEqual(documents[1]);
  expect(await refusalOf(client.get("/v0/me/settings"))).toMatchObject({ code: "no_answer", status: 0 });
});

test("a request is repeated under its key while the server says later, and not longer than it may take", async () => {
  const keys: unknown[] = [];
  const hash = `0x${"ab".repeat(32)}`;
  const server = createServer((request, response) => {
    keys.push(request.headers["idempotency-key"]);
    const later = keys.length < 3;
    response.writeHead(later ? 503 : 200, { "Retry-After": "0", "Content-Type": "application/json" });
    if (keys.length === 2) response.end("<html>a proxy says so</html>");
    else response.end(JSON.stringify(later ? { error: { code: "service_unavailable" } } : { transaction_hash: hash }));
  });
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  try {
    const client = createClient({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
    const body = { chain: "goerli", contract_address: contract, metadata_uri: "ipfs://x", mint_to_address: owner };
    const minted = await client.transact("post", "/v0/mints/customizable", { body });
    expect(minted.transaction_hash).toBe(hash);
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
    keys.length = 0;
    const own = { body, idempotencyKey: "mint-7" };
    const waited: string[] = [];
    const onWait = ({ status, code }: MintyardError) => waited.push(`${status} ${code}`);
    await client.transact("post", "/v0/mints/customizable", own, { onWait });
    expect(waited).toEqual(["503 service_unavailable", "503 service_unavailable"]);
    expect(keys).toEqual(["mint-7", "mint-7", "mint-7"]);
    for (const none of [undefined, ""]) {
      keys.length = 0;
      await client.transact("post", "/v0/mints/customizable", { body, idempotencyKey: none });
      expect(new Set(keys).size).toBe(1);
      expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
    }
  } finally {
    server.close();
  }
  const never = async () => {
    throw new MintyardError("later", { status: 503, code: "service_unavailable", retryAfterMs: 60_000 });
  };
  expect(await refusalOf(repeatWhileUnavailable(never, { timeoutMs: 1_000 }))).toMatchObject({ status: 503 });
  const stop = AbortSignal.timeout(20);
  await expect(repeatWhileUnavailable(never, { signal: stop })).rejects.toThrow(/timeout/i);
});

test("what is wrong is thrown at once, and each key is another one", async () => {
  let tries = 0;
  const refused = repeatWhileUnavailable(async () => {
    tries += 1;
    return await mintyard.get("/v0/nfts", { query: { chain: "no chain" } });
  });
  expect(await refusalOf(refused)).toMatchObject({ code: "invalid_enumeration" });
  expect(tries).toBe(1);
  expect(idempotencyKey()).not.toBe(idempotencyKey());
  expect(() => createClient({ url: "no address" })).toThrow(TypeError);
});

test("pages of other origins may use every method that the document has", async () => {
  const { paths } = createOpenApi() as { paths: Record<string, object> };
  const used = new Set(Object.values(paths).flatMap((methods) => Object.keys(methods)));
  const response = await fetch(`${api.url}/v1/webhooks/wh_1`, {
    method: "OPTIONS",
    headers: { Origin: "https://shop.example", "Access-Control-Request-Method": "PATCH" },
  });
  const allowed = response.headers.get("access-control-allow-methods")?.split(",") ?? [];
  expect(allowed).toEqual(expect.arrayContaining([...used].map((method) => method.toUpperCase())));
});

test("requests that the document does not have are no TypeScript", () => {
  // @ts-expect-error: there is no such path.
  const path = () => mintyard.get("/v0/nothing");
  // @ts-expect-error: the chain is required.
  const query = () => mintyard.get("/v0/nfts", { query: {} });
  // @ts-expect-error: the supply is a number.
  const body = () => mintyard.post("/v0/contracts/collections", { body: { max_supply: "3" } });
  // @ts-expect-error: a read is no transaction.
  const read = () => mintyard.transact("get", "/v0/nfts", { query: { chain: "goerli" } });
  // @ts-expect-error: a stream is no JSON.
  const stream = () => mintyard.get("/v1/events");
  expect([path, query, body, read, stream]).toHaveLength(5);
  type Deployed = Answer<"post", "/v0/contracts/collections">;
  expectTypeOf<Deployed["transaction_hash"]>().toEqualTypeOf<string | undefined>();
});
