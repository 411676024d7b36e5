import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HttpApi } from "../collections/http-api.ts";
import { send } from "../setup/send.ts";
import { ProductScenario, randomAddress, uri } from "./scenario.ts";

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

/** Runs the worker until the transaction of an answer has ended well. */
async function settle(hash: unknown): Promise<void> {
  const { rows } = await s.services.pool.query(
    `SELECT r.intent_id AS id FROM service.attempt a JOIN service.nonce_reservation r USING (chain_id, addr, nonce)
     WHERE a.hash = decode($1, 'hex')`,
    [String(hash).slice(2)],
  );
  await s.h.until(s.services, rows[0].id, ["finalized"]);
}

async function contract(type: string, owner: string): Promise<string> {
  const { status, body } = await api.post("/v0/contracts", {
    ...{ chain: "goerli", name: 42, symbol: "PRD", owner_address: owner, type, metadata_updatable: true },
    roles: [{ role: "mint", addresses: [randomAddress()], freeze: true }],
  });
  expect(body).toMatchObject({ response: "OK", chain: "goerli", owner_address: owner, type, name: "42", error: null });
  expect(status).toBe(200);
  await settle(body["transaction_hash"]);
  const found = await api.get(`/v0/contracts/${String(body["transaction_hash"])}?chain=goerli`);
  return String(found.body["contract_address"]);
}

async function frozenContract(owner: string): Promise<string> {
  const { body } = await api.post("/v0/contracts", { chain: "goerli", name: "F", symbol: "F", owner_address: owner });
  await settle(body["transaction_hash"]);
  const found = await api.get(`/v0/contracts/${String(body["transaction_hash"])}?chain=goerli`);
  return String(found.body["contract_address"]);
}

describe("the legacy API", () => {
  test("a contract, its mints, updates, transfers and burns, with everything echoed as it was sent", async () => {
    const owner = await s.unlocked();
    const address = await contract("erc721", owner);
    const place = { chain: "goerli", contract_address: address };
    const minted = await api.post("/v0/mints/customizable", {
      ...place,
      metadata_uri: uri,
      mint_to_address: owner,
      token_id: 7,
    });
    expect(minted.body).toEqual({
      ...{ response: "OK", ...place, transaction_hash: expect.stringMatching(/^0x[0-9a-f]{64}$/) },
      transaction_external_url: expect.stringContaining("goerli.etherscan.io/tx/0x"),
      ...{ metadata_uri: uri, mint_to_address: owner, error: null },
    });
    const hash = String(minted.body["transaction_hash"]);
    expect((await api.get(`/v0/mints/${hash}?chain=goerli`)).body).toMatchObject({
      error: { code: "transaction_pending" },
    });
    const again = await api.post("/v0/mints/customizable", {
      ...place,
      metadata_uri: uri,
      mint_to_address: owner,
      token_id: "7",
    });
    expect(again.body["transaction_hash"]).toBe(hash);
    await settle(hash);
    expect((await api.get(`/v0/mints/${hash}?chain=goerli`)).body).toEqual({
      ...{ response: "OK", ...place, token_id: "7", error: null },
    });
    const other = await api.post("/v0/mints/customizable", {
      ...place,
      metadata_uri: "ipfs://x",
      mint_to_address: owner,
      token_id: 7,
    });
    expect(other.body).toMatchObject({ response: "NOK", error: { status_code: 422, code: "value_error" } });
    expect(other.text).toContain(hash);

    const updated = await api.put("/v0/mints/customizable", { ...place, token_id: "7", metadata_uri: "ipfs://y" });
    expect(updated.status).toBe(200);
    await settle(updated.body["transaction_hash"]);
    const to = randomAddress();
    const moved = await api.post("/v0/mints/transfers", { ...place, token_id: 7, transfer_to_address: to });
    expect(moved.status).toBe(200);
    await settle(moved.body["transaction_hash"]);
    const burned = await api.send("DELETE", "/v0/mints/customizable", { ...place, token_id: 7 });
    expect(burned.text).toContain("not held by contract owner");
    expect(burned.status).toBe(422);

    const mine = await api.get("/v0/me/mints?chain=goerli");
    expect(mine.body["total"]).toBe(1);
    expect(mine.body["minted_nfts"]).toMatchObject([
      {
        ...{ chain: "goerli", contract_name: "42", contract_address: address, type: "erc721", token_id: "7" },
        ...{ metadata_uri: uri, quantity: 1, num_burned_or_transferred: 1, burned_transferred_amount: 1 },
      },
    ]);
    const changed = await api.put("/v0/contracts", { ...place, base_uri: "ipfs://base/", freeze_metadata: true });
    expect(changed.body).toMatchObject({ response: "OK", freeze_metadata: true });
    await settle(changed.body["transaction_hash"]);
    const listed = await api.get("/v0/me/contracts");
    expect(listed.body["contracts"]).toMatchObject([
      {
        address: address.toLowerCase(),
        type: "erc721",
        metadata_frozen: true,
        exited_nftport: false,
        roles: [{ role: "mint" }],
      },
    ]);
  });

  test("batches of an ERC-1155 contract", async () => {
    const owner = await s.unlocked();
    const address = await contract("erc1155", owner);
    const place = { chain: "goerli", contract_address: address };
    const tokens = [
      { mint_to_address: owner, token_id: "1", metadata_uri: uri, quantity: 5 },
      { mint_to_address: owner, token_id: 2, metadata_uri: uri, quantity: "3" },
    ];
    const minted = await api.post("/v0/mints/customizable/batch", { ...place, tokens });
    expect(minted.body).toMatchObject({ response: "OK", tokens });
    await settle(minted.body["transaction_hash"]);
    const found = await api.get(`/v0/mints/batch/${String(minted.body["transaction_hash"])}?chain=goerli`);
    expect(found.body).toMatchObject({ response: "OK", token_ids: ["1", "2"], error: null });
    const moved = { ...place, tokens: [{ transfer_to_address: randomAddress(), token_id: 1, quantity: 2 }] };
    await settle((await api.post("/v0/mints/transfers/batch", moved)).body["transaction_hash"]);
    const burned = { ...place, tokens: [{ token_id: 1, quantity: 3 }] };
    await settle((await api.send("DELETE", "/v0/mints/customizable/batch", burned)).body["transaction_hash"]);
  });

  test("easy mints go to the service's contract, with ids counted from 1", async () => {
    const request = {
      chain: "goerli",
      name: "One",
      description: "",
      file_url: "ipfs://x",
      mint_to_address: randomAddress(),
    };
    const first = await api.post("/v0/mints/easy/urls", request);
    expect(first.body).toMatchObject({ response: "OK", name: "One", contract_address: s.h.operator?.easyContract });
    await settle(first.body["transaction_hash"]);
    const again = await api.post("/v0/mints/easy/urls", request);
    expect(again.body["transaction_hash"]).toBe(first.body["transaction_hash"]);
    const form = new FormData();
    form.append("file", new Blob(["a picture"], { type: "image/png" }), "a.png");
    const query = new URLSearchParams({
      chain: "goerli",
      name: "Two",
      description: "d",
      mint_to_address: randomAddress(),
    });
    const { body: second } = await send(`${api.base}/v0/mints/easy/files?${query}`, { key: api.key, body: form });
    expect(second).toMatchObject({ response: "OK", name: "Two", error: null });
    await settle(second["transaction_hash"]);
    const found = await api.get(`/v0/mints/${String(second["transaction_hash"])}?chain=goerli`);
    expect(found.body["token_id"]).toBe("2");
  });

  test("what is wrong is said in the original's words", async () => {
    const place = { chain: "goerli", contract_address: randomAddress() };
    const mint = { ...place, metadata_uri: uri, mint_to_address: randomAddress() };
    const wrong: [string, string, unknown, number, string][] = [
      [
        "POST",
        "/v0/mints/customizable",
        { ...mint, contract_address: "0x1" },
        422,
        "Invalid address: contract_address.",
      ],
      ["PUT", "/v0/contracts", { chain: "goerli", contract_address: "no" }, 422, "Invalid address: contract_address."],
      ["POST", "/v0/mints/customizable", { ...mint, metadata_uri: undefined }, 422, "parameter_missing"],
      ["POST", "/v0/mints/customizable", mint, 404, "not_found"],
      ["POST", "/v0/mints/customizable", { ...mint, token_id: "x" }, 422, "invalid_type"],
      ["PUT", "/v0/mints/customizable", { ...place }, 422, "token_id is missing"],
      ["DELETE", "/v0/mints/customizable", place, 422, "token_id is missing"],
      ["POST", "/v0/mints/customizable/batch", { ...place, tokens: [{}] }, 422, "tokens[0].mint_to_address is missing"],
      ["POST", "/v0/mints/transfers", { ...place, token_id: 1 }, 422, "transfer_to_address is missing"],
      ["POST", "/v0/mints/transfers/batch", { ...place, tokens: 5 }, 422, "array of objects"],
      ["POST", "/v0/mints/easy/urls", { chain: "goerli" }, 422, "name is missing"],
      ["POST", "/v0/contracts", { chain: "goerli", name: "A", symbol: "A" }, 422, "owner_address is missing"],
      [
        "POST",
        "/v0/contracts",
        { ...place, name: "A", symbol: "A", owner_address: randomAddress(), type: "x" },
        422,
        "erc721",
      ],
      ["PUT", "/v0/contracts", place, 404, "not_found"],
      ["GET", "/v0/mints/0x12?chain=goerli", undefined, 422, "64 hex digits"],
      ["GET", `/v0/mints/0x${"1".repeat(64)}?chain=goerli`, undefined, 404, "not_found"],
      ["GET", `/v0/mints/batch/0x${"1".repeat(64)}`, undefined, 422, "chain is missing"],
      ["GET", "/v0/me/mints?page_size=51", undefined, 422, "page_size"],
      ["GET", "/v0/reports/other", undefined, 422, "uris"],
      ["GET", "/v0/transactions", undefined, 422, "chain is missing"],
      ["GET", "/v0/transactions?chain=goerli&from_block=-1", undefined, 422, "from_block"],
      ["GET", "/v0/contracts/top", undefined, 501, "not_implemented"],
      ["POST", "/v0/duplicates/urls", {}, 501, "what pictures look like"],
    ];
    for (const [method, path, body, status, words] of wrong) {
      const answer = await api.send(method, path, body);
      expect([path, answer.status, answer.text]).toEqual([path, status, expect.stringContaining(words)]);
    }
  });

  test("says what it is, and lists a whole chain's transactions", async () => {
    const answer = await send(`${api.base}/v0/`);
    expect(answer.body).toMatchObject({
      title: expect.any(String),
      description: expect.any(String),
      version: "1.0.0",
    });
  });
});

describe("GraphQL", () => {
  const fields =
    "request { id state tokenId contract transactionHash block error } plan { gas tokenIds } userErrors { code field message }";

  test("a contract, a mint with its metadata, its request to the end, and a list of them", async () => {
    const owner = await s.unlocked();
    const made = await api.graphql(
      `mutation ($input: CreateContractInput!) { createContract(input: $input) { ${fields} } }`,
      { input: { chain: "goerli", name: "G", symbol: "G", owner, metadataUpdatable: true } },
    );
    const created = made.data["createContract"]?.["request"] as unknown as Record<string, string>;
    await settle(created["transactionHash"]);
    const variables = {
      contract: created["contract"],
      token: { to: randomAddress(), metadata: { name: "One", description: "of them", fileUrl: "ipfs://x" } },
    };
    const mint = `mutation ($contract: Address!, $token: MintTokenInput!, $dryRun: Boolean, $key: String) {
      mint(chain: "goerli", contract: $contract, token: $token, dryRun: $dryRun, idempotencyKey: $key) { ${fields} } }`;
    const plan = await api.graphql(mint, { ...variables, dryRun: true, key: "g" });
    const one = await api.graphql(mint, { ...variables, key: "g" });
    const request = one.data["mint"]?.["request"] as unknown as Record<string, string>;
    expect(plan.data["mint"]?.["plan"]).toMatchObject({ tokenIds: [request["tokenId"]] });
    await settle(request["transactionHash"]);
    const read = await api.graphql(
      `query ($id: ID!) { mintRequest(id: $id) { state tokens { tokenId uri } } viewer { mints(first: 1) { nodes { id kind } } } }`,
      { id: request["id"] },
    );
    expect(read.data["mintRequest"]).toMatchObject({
      state: "FINALIZED",
      tokens: [{ uri: expect.stringMatching(/^ipfs:\/\/bafkrei/) }],
    });
    expect(read.data["viewer"]).toMatchObject({ mints: { nodes: [{ id: request["id"], kind: "MINT" }] } });
    const refused = await api.graphql(mint, { ...variables, token: { to: randomAddress(), uri, quantity: "2" } });
    expect(refused.data["mint"]).toMatchObject({
      request: null,
      userErrors: [{ code: "value_error", field: "quantity" }],
    });
  });

  test("a batch of an ERC-721 contract is one request for each token", async () => {
    const owner = await s.unlocked();
    const address = await frozenContract(owner);
    const batch = `mutation ($contract: Address!, $tokens: [MintTokenInput!]!) {
      mintBatch(chain: "goerli", contract: $contract, tokens: $tokens, idempotencyKey: "b") { requests { transactionHash tokenId } userErrors { message } } }`;
    const tokens = [1, 2, 3].map(() => ({ to: owner, uri }));
    const answer = await api.graphql(batch, { contract: address, tokens });
    const { requests } = answer.data["mintBatch"] as unknown as {
      requests: { transactionHash: string; tokenId: string }[];
    };
    expect(new Set(requests.map(({ tokenId }) => tokenId)).size).toBe(3);
    for (const { transactionHash } of requests) await settle(transactionHash);
    const change = `mutation ($contract: Address!, $id: TokenId!) {
      updateToken(chain: "goerli", contract: $contract, tokenId: $id, uri: "x") { warnings ${fields} }
      burn(chain: "goerli", contract: $contract, tokens: [{ tokenId: "999" }]) { ${fields} }
      transfer(chain: "goerli", contract: $contract, tokens: [{ tokenId: $id }]) { ${fields} } }`;
    const changed = await api.graphql(change, { contract: address, id: requests[0]?.tokenId });
    expect(changed.data["updateToken"]).toMatchObject({
      request: null,
      userErrors: [{ message: expect.stringContaining("frozen") }],
    });
    expect(changed.data["burn"]).toMatchObject({ request: null, userErrors: [{ code: "value_error" }] });
    expect(changed.data["transfer"]).toMatchObject({ userErrors: [{ code: "parameter_missing", field: "to" }] });
  });
});
