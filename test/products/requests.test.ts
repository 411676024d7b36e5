import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ServiceError } from "../../src/errors/errors.ts";
import { carryOut } from "../../src/products/carry-out.ts";
import { createContract } from "../../src/products/create-contract.ts";
import { productRequests } from "../../src/products/find-product.ts";
import { mintTokens } from "../../src/products/mint-tokens.ts";
import { cancelRequest } from "../../src/requests/requests.ts";
import { explainIntent } from "../../src/transactions/accept/explain-intent.ts";
import { HttpApi } from "../collections/http-api.ts";
import { listenStates } from "../collections/listen-states.ts";
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

const mint = `mutation ($contract: Address!, $token: MintTokenInput!) {
  mint(chain: "goerli", contract: $contract, token: $token) { request { id tokenId transactionHash } userErrors { message } } }`;

/** A contract of the API's account. */
async function contract(): Promise<string> {
  const made = await api.graphql(
    "mutation ($input: CreateContractInput!) { createContract(input: $input) { request { id contract } } }",
    { input: { chain: "goerli", name: randomUUID(), symbol: "R", owner: randomAddress() } },
  );
  const request = made.data["createContract"]?.["request"];
  await s.h.until(s.services, String(request?.["id"]), ["finalized"]);
  return String(request?.["contract"]);
}

test("a subscription tells each state of a mint and ends with the last", async () => {
  const { data } = await api.graphql(mint, { contract: await contract(), token: { to: randomAddress(), uri } });
  const id = String(data["mint"]?.["request"]?.["id"]);
  const listening = listenStates(api, "mintRequest", id);
  await s.h.until(s.services, id, ["finalized"]);
  const states = await listening;
  expect(states.at(-1)).toBe("FINALIZED");
  expect(new Set(states).size).toBe(states.length);
  expect(await listenStates(api, "mintRequest", randomUUID())).toEqual(["not_found"]);
});

test("a mint that waits can be cancelled and gives its id back; one that stands cannot", async () => {
  const address = await s.contract();
  const tokens = [{ to: randomAddress(), uri, tokenId: 7n }];
  // A process that may pay nothing accepts it and cannot sign it.
  const poor = s.h.process({ MAX_FEE_GWEI_GOERLI: "0.000000001" });
  const before = await s.sent();
  const held = await s.mint({ contract: address, tokens }, poor).catch((error: ServiceError) => error.details);
  const id = String((held as { deployment?: string }).deployment);
  expect(await cancelRequest(s.services, s.caller, productRequests, id)).toMatchObject({ state: "cancelled" });
  expect(await s.sent()).toBe(before);

  const other = await s.mint({ contract: address, tokens: [{ to: randomAddress(), uri, tokenId: 7n }] });
  await s.ended(other);
  await expect(cancelRequest(s.services, s.caller, productRequests, other.request.id)).rejects.toMatchObject({
    code: "value_error",
  });
  const thirdParty = await s.h.caller("growth");
  await expect(cancelRequest(s.services, thirdParty, productRequests, other.request.id)).rejects.toMatchObject({
    code: "not_found",
  });
});

test("a free plan has a hundred tokens on a chain; the next one is refused and costs nothing", async () => {
  const free = await s.h.caller("free");
  const made = await carryOut(
    s.services,
    free,
    await createContract(s.services, free, {
      ...{ chain: "goerli", name: "Free", symbol: "F", type: "erc1155", ownerAddress: randomAddress() },
    }),
  );
  await s.ended(made);
  const mintTo = async (from: number, count: number) => {
    const tokens = Array.from({ length: count }, (_, at) => ({ to: randomAddress(), uri, tokenId: BigInt(from + at) }));
    const input = { chain: "goerli", contract: made.request.contract, tokens };
    return await carryOut(s.services, free, await mintTokens(s.services, free, input));
  };
  await s.ended(await mintTo(0, 50));
  await expect(mintTo(50, 50).then((half) => s.ended(half))).resolves.toBeUndefined();
  const before = await s.sent();
  await expect(mintTo(100, 1)).rejects.toThrow(/your plan includes 100 mint, burn and transfer actions/);
  expect(await s.sent()).toBe(before);
});

test("an operator reads what became of a mint", async () => {
  const to = randomAddress();
  const address = await s.contract();
  const { request } = await s.mint({ contract: address, tokens: [{ to, uri, tokenId: 12n }] });
  const story = (await explainIntent(s.services.db, request.transactionHash))?.join("\n") ?? "";
  expect(story).toMatch(new RegExp(`^mint ${request.id}\n`));
  expect(story).toContain(`contract ${address}`);
  expect(story).toContain(`token      12 to ${to}, ${uri}`);
  await s.ended({ request });
});

test("a contract, a mint with its metadata, its request to the end, and a list of them", async () => {
  const fields =
    "request { id state tokenId contract transactionHash block error } plan { gas tokenIds } userErrors { code field message }";
  const made = await api.graphql(
    `mutation ($input: CreateContractInput!) { createContract(input: $input) { ${fields} } }`,
    { input: { chain: "goerli", name: "G", symbol: "G", owner: randomAddress(), metadataUpdatable: true } },
  );
  const created = made.data["createContract"]?.["request"] as unknown as Record<string, string>;
  await s.h.until(s.services, created["id"] ?? "", ["finalized"]);
  const variables = {
    contract: created["contract"],
    token: { to: randomAddress(), metadata: { name: "One", description: "of them", fileUrl: "ipfs://x" } },
  };
  const minting = `mutation ($contract: Address!, $token: MintTokenInput!, $dryRun: Boolean, $key: String) {
    mint(chain: "goerli", contract: $contract, token: $token, dryRun: $dryRun, idempotencyKey: $key) { ${fields} } }`;
  const plan = await api.graphql(minting, { ...variables, dryRun: true, key: "g" });
  const one = await api.graphql(minting, { ...variables, key: "g" });
  const request = one.data["mint"]?.["request"] as unknown as Record<string, string>;
  expect(plan.data["mint"]?.["plan"]).toMatchObject({ tokenIds: [request["tokenId"]] });
  await s.h.until(s.services, request["id"] ?? "", ["finalized"]);
  const read = await api.graphql(
    `query ($id: ID!) { mintRequest(id: $id) { state tokens { tokenId uri } } viewer { mints(first: 1) { nodes { id kind } } } }`,
    { id: request["id"] },
  );
  expect(read.data["mintRequest"]).toMatchObject({
    state: "FINALIZED",
    tokens: [{ uri: expect.stringMatching(/^ipfs:\/\/bafkrei/) }],
  });
  expect(read.data["viewer"]).toMatchObject({ mints: { nodes: [{ id: request["id"], kind: "MINT" }] } });
  const refused = await api.graphql(minting, { ...variables, token: { to: randomAddress(), uri, quantity: "2" } });
  expect(refused.data["mint"]).toMatchObject({
    request: null,
    userErrors: [{ code: "value_error", field: "quantity" }],
  });
});

test("a token of a contract made without updates keeps its URI", async () => {
  const address = await contract();
  const { data } = await api.graphql(mint, { contract: address, token: { to: randomAddress(), uri } });
  const token = data["mint"]?.["request"] as unknown as Record<"id" | "tokenId", string>;
  await s.h.until(s.services, token.id, ["finalized"]);
  const change = `mutation ($contract: Address!, $tokenId: TokenId!) {
    updateToken(chain: "goerli", contract: $contract, tokenId: $tokenId, uri: "ipfs://x") {
      request { id } userErrors { message } } }`;
  expect((await api.graphql(change, { contract: address, tokenId: token.tokenId })).data["updateToken"]).toMatchObject({
    request: null,
    userErrors: [{ message: expect.stringContaining("frozen") }],
  });
});
