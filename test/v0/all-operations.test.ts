import { readFileSync } from "node:fs";
import type { Address } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HttpApi } from "../collections/http-api.ts";
import { request } from "../collections/launch-fixture.ts";
import { ProductScenario, randomAddress, uri } from "../products/scenario.ts";
import { send } from "../setup/send.ts";

let s: ProductScenario;
let api: HttpApi;
beforeAll(async () => {
  s = await ProductScenario.start();
  api = await HttpApi.start(s.services);
});
afterAll(async () => {
  await api?.stop();
  await s?.stop();
});

/** Runs the worker until a transaction is final. */
async function final(hash: string): Promise<void> {
  const { rows } = await s.services.pool.query(
    `SELECT r.intent_id AS id FROM service.attempt a JOIN service.nonce_reservation r USING (chain_id, addr, nonce)
     WHERE a.hash = decode($1, 'hex')`,
    [hash.slice(2)],
  );
  await s.h.until(s.services, rows[0].id, ["finalized"]);
}

const someone = "0x25D5bf305aA1FbD778B05Aaa454405D0094Cfa96";
const hash = `0x${"1".repeat(64)}`;
const place = { chain: "goerli", contract_address: someone };
const mint = { ...place, metadata_uri: uri, mint_to_address: someone };
const deploy = { chain: "goerli", name: "A", symbol: "A", owner_address: someone };

type Wrong = [operation: string, path: string, body: unknown, status: number, code: string, words?: string];

/** Every operation of the original service but image search, with input that it refuses and words of the refusal. */
const wrong: Wrong[] = [
  ["POST /v0/files", "/v0/files", {}, 415, "unsupported_media_type"],
  ["POST /v0/metadata", "/v0/metadata", { name: "A" }, 422, "parameter_missing"],
  ["POST /v0/metadata/directory", "/v0/metadata/directory", {}, 415, "unsupported_media_type"],
  ["GET /v0/me/storage", "/v0/me/storage?type=nothing", null, 422, "invalid_enumeration"],
  ["GET /v0/me/settings", "/v0/me/settings", null, 200, ""],
  [
    "POST /v0/contracts/collections",
    "/v0/contracts/collections",
    { ...deploy, max_supply: 0 },
    422,
    "parameter_missing",
  ],
  ["PUT /v0/contracts/collections", "/v0/contracts/collections", { ...place, base_uri: "ipfs://x/" }, 404, "not_found"],
  ["GET /v0/me/contracts/collections", "/v0/me/contracts/collections?chain=mars", null, 422, "invalid_enumeration"],
  [
    "GET /v0/me/contracts/abis/{contract_address}",
    "/v0/me/contracts/abis/0x1?chain=goerli",
    null,
    422,
    "invalid_address",
  ],
  ["GET /v0/contracts/{transaction_hash}", "/v0/contracts/0x12?chain=goerli", null, 422, "value_error"],
  ["GET /v0/accounts/{account_address}", "/v0/accounts/bob?chain=goerli", null, 422, "invalid_address"],
  ["GET /v0/nfts", "/v0/nfts?chain=goerli&page_size=51", null, 422, "value_error"],
  ["GET /v0/nfts/{contract_address}", "/v0/nfts/0x1?chain=goerli", null, 422, "invalid_address"],
  ["GET /v0/nfts/{contract_address}/{token_id}", `/v0/nfts/${someone}/one?chain=goerli`, null, 422, "value_error"],
  [
    "GET /v0/accounts/contracts/{account_address}",
    "/v0/accounts/contracts/bob?chain=goerli",
    null,
    422,
    "invalid_address",
  ],
  ["GET /v0/accounts/creators/{account_address}", `/v0/accounts/creators/${someone}`, null, 422, "parameter_missing"],
  ["GET /v0/transactions", "/v0/transactions?chain=goerli&from_block=-1", null, 422, "value_error", "from_block"],
  [
    "GET /v0/transactions/accounts/{account_address}",
    "/v0/transactions/accounts/bob?chain=goerli",
    null,
    422,
    "invalid_address",
  ],
  [
    "GET /v0/transactions/nfts/{contract_address}",
    `/v0/transactions/nfts/${someone}?chain=goerli&type=gift`,
    null,
    422,
    "invalid_enumeration",
  ],
  [
    "GET /v0/transactions/nfts/{contract_address}/{token_id}",
    `/v0/transactions/nfts/${someone}/x?chain=goerli`,
    null,
    422,
    "value_error",
  ],
  [
    "GET /v0/transactions/stats/{contract_address}",
    `/v0/transactions/stats/${someone}`,
    null,
    422,
    "parameter_missing",
  ],
  ["GET /v0/search", "/v0/search", null, 422, "parameter_missing"],
  ["GET /v0/", "/v0/", null, 200, "", '"version":"1.0.0"'],
  ["POST /v0/contracts", "/v0/contracts", { ...deploy, royalties_share: 10_001 }, 422, "value_error"],
  ["PUT /v0/contracts", "/v0/contracts", place, 404, "not_found"],
  [
    "POST /v0/mints/customizable",
    "/v0/mints/customizable",
    { ...mint, mint_to_address: "bob" },
    422,
    "invalid_address",
  ],
  ["PUT /v0/mints/customizable", "/v0/mints/customizable", place, 422, "parameter_missing", "token_id is missing"],
  ["DELETE /v0/mints/customizable", "/v0/mints/customizable", { ...place, token_id: "x" }, 422, "invalid_type"],
  [
    "POST /v0/mints/customizable/batch",
    "/v0/mints/customizable/batch",
    { ...place, tokens: [{}] },
    422,
    "parameter_missing",
    "tokens[0].mint_to_address is missing",
  ],
  ["DELETE /v0/mints/customizable/batch", "/v0/mints/customizable/batch", place, 422, "parameter_missing"],
  [
    "POST /v0/mints/transfers",
    "/v0/mints/transfers",
    { ...place, token_id: 1 },
    422,
    "parameter_missing",
    "transfer_to_address is missing",
  ],
  [
    "POST /v0/mints/transfers/batch",
    "/v0/mints/transfers/batch",
    { ...place, tokens: 5 },
    422,
    "invalid_type",
    "array of objects",
  ],
  ["POST /v0/mints/easy/urls", "/v0/mints/easy/urls", { chain: "goerli" }, 422, "parameter_missing", "name is missing"],
  ["POST /v0/mints/easy/files", "/v0/mints/easy/files?chain=goerli", {}, 422, "parameter_missing"],
  ["GET /v0/mints/{transaction_hash}", `/v0/mints/${hash}?chain=goerli`, null, 404, "not_found"],
  [
    "GET /v0/mints/batch/{transaction_hash}",
    `/v0/mints/batch/${hash}`,
    null,
    422,
    "parameter_missing",
    "chain is missing",
  ],
  ["GET /v0/me/mints", "/v0/me/mints?page_number=0", null, 422, "value_error"],
  ["GET /v0/me/contracts", "/v0/me/contracts", null, 200, ""],
  ["GET /v0/reports/{report_type}", "/v0/reports/other", null, 422, "invalid_enumeration", "uris"],
  [
    "POST /v0/contracts/collections",
    "/v0/contracts/collections",
    request({ max_supply: "many" }),
    422,
    "invalid_type",
    "max_supply",
  ],
  [
    "POST /v0/contracts",
    "/v0/contracts",
    { ...deploy, owner_address: undefined },
    422,
    "parameter_missing",
    "owner_address is missing",
  ],
  ["POST /v0/contracts", "/v0/contracts", { ...deploy, type: "x" }, 422, "invalid_enumeration", "erc721"],
  [
    "PUT /v0/contracts",
    "/v0/contracts",
    { ...place, contract_address: "no" },
    422,
    "invalid_address",
    "Invalid address: contract_address.",
  ],
  [
    "POST /v0/mints/customizable",
    "/v0/mints/customizable",
    { ...mint, contract_address: "0x1" },
    422,
    "invalid_address",
    "Invalid address: contract_address.",
  ],
  [
    "POST /v0/mints/customizable",
    "/v0/mints/customizable",
    { ...mint, metadata_uri: undefined },
    422,
    "parameter_missing",
  ],
  ["POST /v0/mints/customizable", "/v0/mints/customizable", { ...mint, token_id: "x" }, 422, "invalid_type"],
  ["POST /v0/mints/customizable", "/v0/mints/customizable", mint, 404, "not_found"],
  ["DELETE /v0/mints/customizable", "/v0/mints/customizable", place, 422, "parameter_missing", "token_id is missing"],
  ["GET /v0/mints/{transaction_hash}", "/v0/mints/0x12?chain=goerli", null, 422, "value_error", "64 hex digits"],
  ["GET /v0/me/mints", "/v0/me/mints?page_size=51", null, 422, "value_error", "page_size"],
  ["GET /v0/transactions", "/v0/transactions", null, 422, "parameter_missing", "chain is missing"],
];

test("the 39 operations of the original but image search are served and documented", () => {
  const { paths } = JSON.parse(readFileSync(new URL("../../schema/openapi.json", import.meta.url), "utf8")) as {
    paths: Record<string, Record<string, unknown>>;
  };
  const documented = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const ours = /^\S+ \/v1\/|\/v0\/signup|\/v0\/me\/keys/;
  const operations = new Set(wrong.map(([operation]) => operation));
  expect([...operations].sort()).toEqual(documented.filter((name) => !ours.test(name)).sort());
  expect(operations.size).toBe(39);
});

test.each(wrong)(
  "%s refuses wrong input, where it takes any",
  async (operation, path, body, status, code, words = "") => {
    const [method = "GET"] = operation.split(" ");
    const answer = await api.send(method, path, body ?? undefined);
    expect(answer.status).toBe(status);
    const refusal = { response: "NOK", error: { status_code: status, code, message: expect.stringMatching(/\w/) } };
    expect(answer.body).toMatchObject(status === 200 ? {} : refusal);
    expect(answer.text).toContain(words);
  },
);

test.each([
  [
    "POST",
    "/v0/contracts/collections",
    { max_supply: "many" },
    "max_supply as a whole number",
    "post-v0-contracts-collections",
  ],
  [
    "PUT",
    "/v0/mints/customizable",
    { ...place, token_id: "x" },
    "token_id as a whole number",
    "put-v0-mints-customizable",
  ],
  [
    ...["DELETE", "/v0/mints/customizable/batch", { ...place, tokens: [1] }],
    ...["tokens[0] as an object", "delete-v0-mints-customizable-batch"],
  ],
  [
    "GET",
    `/v0/nfts/${someone}?chain=goerli&page_number=x`,
    undefined,
    "page_number as a whole number",
    "get-v0-nfts-contract_address",
  ],
  ["POST", "/v0/me/keys", { name: ["x"] }, "name as a string", "post-v0-me-keys"],
  ["POST", "/v0/me/keys/key_1/rotate", [], "the body as a JSON object", "post-v0-me-keys-id-rotate"],
  [
    "POST",
    "/v1/webhooks",
    { url: "https://a.example", types: "mint" },
    "types as an array of strings",
    "post-v1-webhooks",
  ],
] as [string, string, unknown, string, string][])(
  "%s %s with a member of another type says which type and where the operation is described",
  async (...asked) => {
    const [method, path, body, wanted, page] = asked;
    // An operation may miss members besides; then the fix is that of the graver fault.
    const whole = path === "/v0/contracts/collections" ? request(body as Record<string, unknown>) : body;
    const { status, body: answer } = await api.send(method, path, whole);
    expect([status, answer["error"]?.["code"]]).toEqual([422, "invalid_type"]);
    const address = `/docs#${page}`;
    expect(answer["error"]?.["fix"]).toBe(`Send ${wanted}. ${address} describes the operation.`);
  },
);

test("a GraphQL input of another type says which type is wanted", async () => {
  const document = `mutation { uploadMetadata(input: { name: "A", description: "", fileUrl: "ipfs://x", customFields: [1] }) {
    userErrors { code fix }
  } }`;
  const { data } = await api.graphql(document);
  const fix = "Send input.customFields as an object.";
  expect(data["uploadMetadata"]?.["userErrors"]).toEqual([{ code: "invalid_type", fix }]);
});

test("an unknown product contract says how an account lists its own, through either API, and the list has it", async () => {
  const { body, status } = await api.post("/v0/mints/customizable", mint);
  expect([status, body["error"]?.["fix"]]).toEqual([404, expect.stringContaining("GET /v0/me/contracts lists")]);
  const document = `mutation ($c: Address!) { burn(chain: "goerli", contract: $c, tokens: [{ tokenId: "1" }]) { userErrors { code fix } } }`;
  const { data } = await api.graphql(document, { c: someone });
  expect(data["burn"]?.["userErrors"]).toEqual([{ code: "not_found", fix: body["error"]?.["fix"] }]);

  const made = await api.post("/v0/contracts", { ...deploy, name: "Listed" });
  await final(String(made.body["transaction_hash"]));
  const listing = await api.graphql("{ viewer { mints(all: true) { nodes { kind state contract } } } }");
  const listed = (await api.get("/v0/me/contracts")).body["contracts"]?.[0];
  const node = { kind: "CONTRACT", state: "FINALIZED", contract: String(listed?.["address"]).toLowerCase() };
  expect(listing.data["viewer"]?.["mints"]?.["nodes"]).toEqual([node]);
});

test.each([
  ["GET", "/v0/contracts/top", "not_implemented"],
  ["POST", "/v0/duplicates/urls", "what pictures look like"],
])("%s %s is not built, and says so", async (method, path, words) => {
  const answer = await api.send(method, path, method === "GET" ? undefined : {});
  expect([answer.status, answer.text]).toEqual([501, expect.stringContaining(words)]);
});

test("a collection's deployment answers with exactly the members that clients know, in the order they came in", async () => {
  const sent = request({ chain: "rinkeby" });
  const { status, body, headers } = await api.post("/v0/contracts/collections", sent);
  const deployedBy = body["transaction_hash"];
  expect(deployedBy).toMatch(/^0x[0-9a-f]{64}$/);
  expect(status).toBe(200);
  expect(JSON.stringify(body)).toBe(
    JSON.stringify({
      response: "OK",
      chain: "rinkeby",
      transaction_hash: deployedBy,
      transaction_external_url: `https://rinkeby.etherscan.io/tx/${deployedBy}`,
      owner_address: sent.owner_address,
      name: sent.name,
      symbol: "TSK",
      predicted_address: body["predicted_address"],
      error: null,
    }),
  );
  expect(headers.get("idempotency-key")).toMatch(/^derived:/);
  const lookup = `/v0/contracts/${deployedBy}?chain=goerli`;
  expect(await api.get(lookup)).toMatchObject({ status: 404, body: { error: { code: "transaction_pending" } } });
  await final(String(deployedBy));
  const found = await api.get(lookup);
  expect(found.text).toBe(
    `{"response":"OK","chain":"goerli","contract_address":"${body["predicted_address"]}","transaction_hash":"${deployedBy}","error":null}`,
  );
  expect(await s.h.chain.getCode({ address: String(body["predicted_address"]) as Address })).toMatch(/^0x363d/);
});

describe("operations on product contracts answer with the original's members, in its order", () => {
  /** Runs the worker until the transaction of an answer is final. @returns the answer without its link. */
  async function settled(method: string, path: string, body: unknown): Promise<Record<string, unknown>> {
    const answer = await api.send(method, path, body);
    expect([path, answer.status, answer.text]).toEqual([path, 200, expect.any(String)]);
    const sent = String(answer.body["transaction_hash"]);
    expect(answer.body["transaction_external_url"]).toBe(`https://goerli.etherscan.io/tx/${sent}`);
    await final(sent);
    return answer.body;
  }
  const membersOf = (body: object) => Object.keys(body).join(" ");
  const transaction = "chain contract_address transaction_hash transaction_external_url";

  async function contract(type: string, owner: string): Promise<string> {
    const body = await settled("POST", "/v0/contracts", {
      ...deploy,
      ...{ name: 42, owner_address: owner, type, metadata_updatable: true },
      roles: [{ role: "mint", addresses: [randomAddress()], freeze: true }],
    });
    expect(membersOf(body)).toBe(
      "response chain transaction_hash transaction_external_url owner_address type name symbol error",
    );
    expect(body).toMatchObject({
      response: "OK",
      chain: "goerli",
      owner_address: owner,
      type,
      name: "42",
      error: null,
    });
    const found = await api.get(`/v0/contracts/${String(body["transaction_hash"])}?chain=goerli`);
    return String(found.body["contract_address"]);
  }

  test("of an ERC-721 contract", async () => {
    const owner = await s.unlocked();
    const at = { chain: "goerli", contract_address: await contract("erc721", owner) };
    const one = { ...at, metadata_uri: uri, mint_to_address: owner };
    const first = await api.post("/v0/mints/customizable", { ...one, token_id: 7 });
    const lookup = `/v0/mints/${String(first.body["transaction_hash"])}?chain=goerli`;
    expect((await api.get(lookup)).body).toMatchObject({ error: { code: "transaction_pending" } });
    const minted = await settled("POST", "/v0/mints/customizable", { ...one, token_id: "7" });
    expect(minted).toEqual(first.body);
    expect(minted).toMatchObject({ response: "OK", ...one, error: null });
    expect(membersOf(minted)).toBe(`response ${transaction} metadata_uri mint_to_address error`);
    expect((await api.get(lookup)).text).toBe(
      `{"response":"OK","chain":"goerli","contract_address":"${at.contract_address}","token_id":"7","error":null}`,
    );
    const other = await api.post("/v0/mints/customizable", { ...one, token_id: 7, metadata_uri: "ipfs://x" });
    expect(other).toMatchObject({ status: 422, body: { response: "NOK", error: { code: "value_error" } } });
    expect(other.text).toContain(String(minted["transaction_hash"]));
    await settled("POST", "/v0/mints/customizable", { ...one, token_id: 8 });
    const changes: [string, string, object][] = [
      ["PUT", "/v0/mints/customizable", { ...at, token_id: 7, metadata_uri: "ipfs://y", freeze_metadata: true }],
      ["POST", "/v0/mints/transfers", { ...at, token_id: "7", transfer_to_address: randomAddress() }],
      ["DELETE", "/v0/mints/customizable", { ...at, token_id: 8 }],
    ];
    for (const [method, path, body] of changes)
      expect(membersOf(await settled(method, path, body))).toBe(`response ${transaction} error`);
    const gone = await api.send("DELETE", "/v0/mints/customizable", { ...at, token_id: 7 });
    expect([gone.status, gone.text]).toEqual([422, expect.stringContaining("not held by contract owner")]);
    const changed = await settled("PUT", "/v0/contracts", { ...at, royalties_share: 500 });
    expect(membersOf(changed)).toBe("response chain transaction_hash transaction_external_url freeze_metadata error");
    expect(changed["freeze_metadata"]).toBeNull();
    const frozen = await settled("PUT", "/v0/contracts", { ...at, base_uri: "ipfs://base/", freeze_metadata: true });
    expect(frozen["freeze_metadata"]).toBe(true);
    const { body: mine } = await api.get("/v0/me/mints?chain=goerli");
    expect(membersOf(mine)).toBe("response total minted_nfts error");
    const nfts = mine["minted_nfts"] as unknown as Record<string, unknown>[];
    const seventh = nfts.find((nft) => nft["token_id"] === "7") ?? {};
    expect(membersOf(seventh)).toBe(
      "chain transaction_hash transaction_external_url contract_name contract_address type token_id mint_to_address " +
        "metadata_uri quantity num_burned_or_transferred burned_transferred_amount metadata_frozen mint_date",
    );
    expect([mine["total"], seventh]).toMatchObject([
      2,
      {
        ...at,
        contract_name: "42",
        type: "erc721",
        quantity: 1,
        num_burned_or_transferred: 1,
        burned_transferred_amount: 1,
      },
    ]);
    const { body: contracts } = await api.get("/v0/me/contracts");
    const [listed = {}] = contracts["contracts"] as unknown as object[];
    expect(membersOf(listed)).toBe(
      "name symbol transaction_hash transaction_external_url chain address owner_address creation_date metadata_frozen " +
        "tokens_burnable tokens_transferable type royalties_share royalties_address roles exited_nftport",
    );
    expect(listed).toMatchObject({
      ...{ address: at.contract_address.toLowerCase(), type: "erc721", metadata_frozen: true, exited_nftport: false },
      roles: [{ role: "mint" }],
    });
  });

  test("of an ERC-1155 contract, easy mints and reports", async () => {
    const owner = await s.unlocked();
    const at = { chain: "goerli", contract_address: await contract("erc1155", owner) };
    const tokens = [
      { mint_to_address: owner, token_id: "1", metadata_uri: uri, quantity: "5" },
      { mint_to_address: owner, token_id: 2, metadata_uri: uri, quantity: 3 },
    ];
    const minted = await settled("POST", "/v0/mints/customizable/batch", { ...at, tokens });
    expect(membersOf(minted)).toBe(`response ${transaction} tokens error`);
    expect(minted["tokens"]).toEqual(tokens);
    const found = await api.get(`/v0/mints/batch/${String(minted["transaction_hash"])}?chain=goerli`);
    expect(found.text).toBe(
      `{"response":"OK","chain":"goerli","contract_address":"${at.contract_address}","token_ids":["1","2"],"error":null}`,
    );
    const given = [{ transfer_to_address: randomAddress(), token_id: "1", quantity: 2 }];
    const moved = await settled("POST", "/v0/mints/transfers/batch", { ...at, tokens: given });
    expect(membersOf(moved)).toBe(`response ${transaction} error`);
    const burned = await settled("DELETE", "/v0/mints/customizable/batch", {
      ...{ ...at, tokens: [{ token_id: 1, quantity: "3" }] },
    });
    expect(membersOf(burned)).toBe(`response ${transaction} error`);
    const easy = { chain: "goerli", name: "One", description: "", file_url: "ipfs://x", mint_to_address: owner };
    const made = await settled("POST", "/v0/mints/easy/urls", { ...easy, mint_to_address: randomAddress() });
    expect(membersOf(made)).toBe(`response ${transaction} mint_to_address name description error`);
    expect(made["contract_address"]).toBe(s.h.operator?.easyContract);
    const again = await api.post("/v0/mints/easy/urls", { ...easy, mint_to_address: made["mint_to_address"] });
    expect(again.body["transaction_hash"]).toBe(made["transaction_hash"]);
    const form = new FormData();
    form.append("file", new Blob(["a picture"], { type: "image/png" }), "a.png");
    const query = new URLSearchParams({ chain: "goerli", name: "Two", description: "d", mint_to_address: owner });
    const second = await send(`${api.base}/v0/mints/easy/files?${query}`, { key: api.key, body: form });
    expect(second.body).toMatchObject({ response: "OK", name: "Two", error: null });
    await final(second.body.transaction_hash);
    const easily = await api.get(`/v0/mints/${second.body.transaction_hash}?chain=goerli`);
    expect(easily.body["token_id"]).toBe("2");
    const listed = async (query: string) => (await api.get(`/v0/me/mints?chain=goerli${query}`)).body;
    const { total, minted_nfts: nfts } = (await listed("")) as unknown as { total: number; minted_nfts: object[] };
    expect(nfts).toHaveLength(total);
    expect(nfts[0]).toMatchObject({ token_id: "2", contract_name: "Easy" });
    // A page ends within a batch.
    const pages = Array.from({ length: total }, (_, index) => listed(`&page_size=1&page_number=${index + 1}`));
    expect((await Promise.all(pages)).map((page) => [page["total"], page["minted_nfts"]])).toEqual(
      nfts.map((nft) => [total, [nft]]),
    );
    const { body: report } = await api.get("/v0/reports/uris");
    expect(membersOf(report)).toBe("response report error");
    expect(membersOf(report["report"] ?? {})).toBe("metadata_uri_stats image_uri_stats animation_uri_stats");
  });
});
