import { randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createAccount } from "../../src/auth/keys.ts";
import { createApp } from "../../src/server/app.ts";
import type { Services } from "../../src/services.ts";
import { goerli, RelayHarness, randomAddress } from "../relay/harness.ts";
import { send } from "../setup/send.ts";

let h: RelayHarness;
let services: Services;
let server: Server;
let base: string;
const key = randomUUID();

beforeAll(async () => {
  h = await RelayHarness.start();
  services = h.process();
  await createAccount(services.db, services.config.keyPepper, { name: "apis", tier: "growth", key });
  server = createServer(getRequestListener(createApp(services).fetch));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server?.close();
  await h?.stop();
});
afterEach(() => h.proxy.heal());

async function post(path: string, body: unknown, headers: Record<string, string> = {}) {
  return await send(base + path, { key, headers, body });
}

async function get(path: string) {
  return await send(base + path, { key });
}

const request = (changes: Record<string, unknown> = {}) => ({
  chain: "goerli",
  name: `Keys ${randomUUID()}`,
  symbol: "TSK",
  max_supply: 100,
  mint_price: 0.01,
  tokens_per_mint: 10,
  royalties_share: 500,
  royalties_address: "0x25D5bf305aA1FbD778B05Aaa454405D0094Cfa96",
  owner_address: "0x25D5bf305aA1FbD778B05Aaa454405D0094Cfa96",
  treasury_address: "0x25D5bf305aA1FbD778B05Aaa454405D0094Cfa96",
  public_mint_start: "2022-07-12T11:30:48+00:00",
  metadata_updatable: true,
  prereveal_token_uri: "ipfs://bafkreiepfwroxy47wzvllrfyu5dwecz6blkiztzmc3r3frryasdve74zii",
  presale_mint_start: "2022-07-11T11:30:48+00:00",
  presale_whitelisted_addresses: ["0x66DC3EEF56C3631B0707C7a37c6EbeB3ce291766"],
  ...changes,
});

const input = (changes: Record<string, unknown> = {}) => ({
  chain: "goerli",
  name: `Keys ${randomUUID()}`,
  symbol: "TSK",
  maxSupply: "100",
  tokensPerMint: "10",
  mintPriceWei: "10000000000000000",
  owner: randomAddress(),
  treasury: randomAddress(),
  publicMintStart: "2022-07-12T11:30:48Z",
  ...changes,
});

const mutation = `mutation ($input: DeployCollectionInput!) {
  deployCollection(input: $input) {
    deployment { id state transactionHash predictedAddress collection { address } }
    idempotencyKey warnings userErrors { code field message }
  }
}`;
const deploy = async (given: Record<string, unknown>) =>
  (await post("/graphql", { query: mutation, variables: { input: given } })).body;

describe("POST /v0/contracts/collections", () => {
  test("answers with exactly the members that clients know, in the order they came in", async () => {
    const sent = request({ chain: "rinkeby" });
    const { status, body, headers } = await post("/v0/contracts/collections", sent);
    const hash = body.transaction_hash;
    expect(hash).toMatch(/^0x[0-9a-f]{64}$/);
    expect(status).toBe(200);
    expect(JSON.stringify(body)).toBe(
      JSON.stringify({
        response: "OK",
        chain: "rinkeby",
        transaction_hash: hash,
        transaction_external_url: `https://rinkeby.etherscan.io/tx/${hash}`,
        owner_address: sent.owner_address,
        name: sent.name,
        symbol: "TSK",
        predicted_address: body.predicted_address,
        error: null,
      }),
    );
    expect(headers.get("idempotency-key")).toMatch(/^derived:/);

    const lookup = `/v0/contracts/${hash}?chain=goerli`;
    expect(await get(lookup)).toMatchObject({ status: 404, body: { error: { code: "transaction_pending" } } });
    const { rows } = await services.pool.query("SELECT id FROM service.intent WHERE payload->>'name' = $1", [
      sent.name,
    ]);
    await h.until(services, rows[0].id, ["confirmed", "finalized"]);
    const found = await get(lookup);
    expect(found.body).toEqual({
      response: "OK",
      chain: "goerli",
      contract_address: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
      transaction_hash: hash,
      error: null,
    });
    expect(found.body.contract_address).toBe(body.predicted_address);
    expect(await h.chain.getCode({ address: found.body.contract_address })).toMatch(/^0x363d/);
  });

  test.each([
    [{ max_supply: undefined }, 422, "parameter_missing", "max_supply"],
    [{ max_supply: "many" }, 422, "invalid_type", "max_supply"],
    [{ chain: "dogechain" }, 422, "invalid_enumeration", "chain"],
    [{ chain: "ethereum" }, 422, "chain_not_supported", "chain"],
    [{ owner_address: "0x12" }, 422, "invalid_address", "owner_address"],
    [{ public_mint_start: "soon" }, 422, "invalid_date", "public_mint_start"],
    [{ tokens_per_mint: 101 }, 422, "value_error", "tokens_per_mint"],
    [{ team_reserve: 101 }, 422, "value_error", "team_reserve"],
    [{ mint_price: -1 }, 422, "value_error", "mint_price"],
    [{ royalties_share: 10_001 }, 422, "value_error", "royalties_share"],
  ])("refuses %j", async (changes, status, code, field) => {
    const answer = await post("/v0/contracts/collections", request(changes));
    expect(answer.status).toBe(status);
    expect(answer.body).toMatchObject({
      response: "NOK",
      error: { status_code: status, code },
      detail: [{ loc: [field], type: code }],
    });
  });

  test("a node that is away: 503, when to ask again, and that the request was kept", async () => {
    await services.relay.factory(goerli(services));
    h.proxy.goDown();
    const answer = await post("/v0/contracts/collections", request(), { "Idempotency-Key": "away" });
    expect(answer).toMatchObject({ status: 503, body: { error: { code: "service_unavailable" } } });
    expect(answer.body.error.message).toContain("It stays queued until");
    expect(answer.headers.get("retry-after")).toBe("10");
  });
});

describe("GraphQL", () => {
  test("deploys, follows the deployment and answers the presale question", async () => {
    const wallet = randomAddress();
    const { data } = await deploy(input({ allowlist: [wallet], presaleMintStart: "2022-07-11T00:00:00Z" }));
    const { deployment, userErrors, warnings } = data.deployCollection;
    expect({ userErrors, warnings, collection: deployment.collection }).toEqual({
      userErrors: [],
      warnings: [],
      collection: null,
    });
    await h.until(services, deployment.id, ["finalized"]);
    const query = `query ($id: ID!, $collection: Address!, $wallet: Address!) {
      deployment(id: $id) { state collection { address deploymentName: name } block publicMintStart presaleMerkleRoot }
      byAddress: deployment(chain: "goerli", collection: $collection) { id }
      viewer { deployments(first: 1) { nodes { id collection { address } } pageInfo { hasNextPage endCursor } } }
      eligibility(chain: "goerli", collection: $collection, wallet: $wallet) { eligible reason proof }
    }`;
    const variables = { id: deployment.id, collection: deployment.predictedAddress, wallet };
    const answer = (await post("/graphql", { query, variables })).body;
    expect(answer.errors).toBeUndefined();
    expect(answer.data).toMatchObject({
      deployment: {
        state: "FINALIZED",
        collection: { address: deployment.predictedAddress },
        publicMintStart: "2022-07-12T11:30:48.000Z",
      },
      byAddress: { id: deployment.id },
      viewer: {
        deployments: {
          nodes: [{ id: deployment.id, collection: { address: deployment.predictedAddress } }],
          pageInfo: { hasNextPage: true },
        },
      },
      eligibility: { eligible: true, reason: null, proof: [] },
    });
  });

  test("says every fault of an input with this API's names", async () => {
    const { data } = await deploy(input({ maxSupply: "0", owner: `0x${"0".repeat(40)}` }));
    expect(data.deployCollection.deployment).toBeNull();
    expect(data.deployCollection.userErrors.map(({ code, field }: Record<string, string>) => [code, field])).toEqual(
      expect.arrayContaining([
        ["invalid_address", "owner"],
        ["value_error", "maxSupply"],
      ]),
    );
  });

  test("both APIs' requests for one collection are one deployment", async () => {
    const sent = request({ royalties_share: 0 });
    const legacy = await post("/v0/contracts/collections", sent);
    const { data } = await deploy(
      input({
        name: sent.name,
        owner: sent.owner_address,
        treasury: sent.treasury_address,
        prerevealTokenUri: sent.prereveal_token_uri,
        presaleMintStart: sent.presale_mint_start,
        allowlist: sent.presale_whitelisted_addresses,
      }),
    );
    expect(data.deployCollection.deployment.transactionHash).toBe(legacy.body.transaction_hash);
  });
});
