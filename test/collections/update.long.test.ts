import { randomUUID } from "node:crypto";
import type { Address, Hex } from "viem";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import { Rounds } from "../../src/rounds.ts";
import type { Services } from "../../src/services.ts";
import { runRelay } from "../../src/transactions/track/run-relay.ts";
import { patient, wait } from "../setup/wait.ts";
import { RelayHarness, randomAddress } from "../transactions/harness.ts";
import { HttpApi, newKey } from "./http-api.ts";

let h: RelayHarness;
let api: HttpApi;
let worker: Services;
let working: Promise<void>;
const stop = new AbortController();

beforeAll(async () => {
  h = await RelayHarness.start();
  api = await HttpApi.start(h.process());
  worker = h.process();
  working = runRelay(worker, new Rounds(stop.signal));
});
afterAll(async () => {
  stop.abort();
  await working;
  await api?.stop();
  await h?.stop();
});

const wallet = "0x25D5bf305aA1FbD778B05Aaa454405D0094Cfa96";
const chain = "goerli";
const zeroRoot = `0x${"0".repeat(64)}`;

async function deployed(changes: Record<string, unknown> = {}): Promise<Address> {
  const { body } = await api.post("/v0/contracts/collections", {
    chain,
    name: `Keys ${randomUUID()}`,
    symbol: "TSK",
    max_supply: 100,
    mint_price: 0.01,
    tokens_per_mint: 10,
    owner_address: wallet,
    treasury_address: wallet,
    public_mint_start: "2022-07-12T11:30:48+00:00",
    prereveal_token_uri: "ipfs://pre",
    ...changes,
  });
  return await settled(body["transaction_hash"]);
}

/** Waits until the lookup knows the transaction. */
async function settled(hash: unknown): Promise<Address> {
  const look = () => api.get(`/v0/contracts/${hash}?chain=${chain}`);
  const { body } = await wait("the contract", look, { until: ({ status }) => status === 200 });
  return body["contract_address"] as unknown as Address;
}

const put = (address: string, changes: Record<string, unknown>, headers: Record<string, string> = {}) =>
  api.put("/v0/contracts/collections", { chain, contract_address: address, ...changes }, headers);

async function runtimeOf(address: Address) {
  const info = await h.chain.readContract({ address, abi: collectionAbi, functionName: "getInfo" });
  return info.runtimeConfig;
}

async function listed(address: string): Promise<Record<string, unknown>> {
  const { body } = await api.get(`/v0/me/contracts/collections?chain=${chain}`);
  const all = body["contracts"] as unknown as Record<string, unknown>[];
  return all.find((item) => item["address"] === address.toLowerCase()) ?? {};
}

const relayerNonce = () => h.chain.getTransactionCount({ address: h.relayer, blockTag: "pending" });

const update = `mutation ($input: UpdateCollectionInput!) {
  updateCollection(input: $input) { update { id state transactionHash collection { address } } userErrors { code field message } }
}`;

describe("PUT /v0/contracts/collections", () => {
  test("reveals, and the rest stays as it was; chain, list and lookup show the same", async () => {
    const address = await deployed();
    const before = await runtimeOf(address);
    const { status, body } = await put(address.toUpperCase().replace("0X", "0x"), { base_uri: "ipfs://folder/" });
    const hash = body["transaction_hash"];
    expect(status).toBe(200);
    expect(Object.entries(body)).toEqual([
      ["response", "OK"],
      ["chain", chain],
      ["transaction_hash", expect.stringMatching(/^0x[0-9a-f]{64}$/)],
      ["transaction_external_url", `https://goerli.etherscan.io/tx/${hash}`],
      ["error", null],
    ]);
    expect(await settled(hash)).toBe(address);
    expect(await runtimeOf(address)).toEqual({ ...before, baseURI: "ipfs://folder/" });
    expect(await listed(address)).toMatchObject({ base_uri: "ipfs://folder/", prereveal_token_uri: "ipfs://pre" });
  });

  test("sets every member that may change, under both spellings, and forgets a URI that is set empty", async () => {
    const address = await deployed({ base_uri: "ipfs://folder/" });
    const listedWallet = randomAddress();
    const { body } = await put(address, {
      base_uri: "",
      prereveal_token_uri: "ipfs://later",
      public_mint_start_date: "2031-01-01",
      presale_mint_start: "2030-01-01T12:00:00+02:00",
      presale_whitelisted_addresses: [listedWallet],
      royalty_share: "750",
      royalties_address: wallet,
      freeze_metadata: false,
      // Repeated by habit, and the same as before.
      max_supply: 100,
      mint_price: 0.01,
      treasury_address: wallet.toLowerCase(),
    });
    await settled(body["transaction_hash"]);
    expect(await runtimeOf(address)).toMatchObject({
      baseURI: "",
      prerevealTokenURI: "ipfs://later",
      metadataUpdatable: true,
      publicMintStart: BigInt(Date.UTC(2031, 0, 1) / 1000),
      presaleMintStart: BigInt(Date.UTC(2030, 0, 1, 10) / 1000),
      royaltiesBps: 750n,
      royaltiesAddress: wallet,
    });
    expect(await listed(address)).toMatchObject({
      base_uri: "",
      public_mint_start: "2031-01-01T00:00:00",
      presale_mint_start: "2030-01-01T10:00:00",
      presale_whitelisted_addresses: [listedWallet],
      royalties_share: 750,
    });
  });

  test("replaces the presale list; proofs of the old one stay readable by its root", async () => {
    const [first, second, third] = [randomAddress(), randomAddress(), randomAddress()];
    const address = await deployed({
      presale_mint_start: "2022-07-01",
      presale_whitelisted_addresses: [first, second],
    });
    const oldRoot = (await runtimeOf(address)).presaleMerkleRoot;
    const ask = async (account: Address, root?: Hex) =>
      (
        await api.graphql(
          `query ($a: Address!, $w: Address!, $r: Hex) {
            eligibility(chain: "goerli", collection: $a, wallet: $w, root: $r) { eligible reason proof root } }`,
          { a: address, w: account, r: root },
          { Authorization: "" },
        )
      ).data["eligibility"] as unknown as { eligible: boolean; reason: string; proof: Hex[] | null; root: Hex };
    expect(await ask(first)).toMatchObject({ eligible: true, root: oldRoot });
    const oldProof = (await ask(first)).proof;

    await settled(
      (await put(address, { presale_whitelisted_addresses: [second, third, second.toUpperCase().replace("0X", "0x")] }))
        .body["transaction_hash"],
    );
    const newRoot = (await runtimeOf(address)).presaleMerkleRoot;
    expect(newRoot).not.toBe(oldRoot);
    // What the contract says is kept for two seconds.
    const gone = { eligible: false, reason: "NOT_LISTED", proof: null, root: newRoot };
    await expect.poll(() => ask(first), patient).toMatchObject(gone);
    expect(await ask(third)).toMatchObject({ eligible: true });
    expect(await ask(first, oldRoot)).toEqual({
      eligible: false,
      reason: "LIST_REPLACED",
      proof: oldProof,
      root: oldRoot,
    });
    // The contract is the judge of a proof.
    const isListed = (account: Address, proof: Hex[]) =>
      h.chain.readContract({ address, abi: collectionAbi, functionName: "isWhitelisted", args: [account, proof] });
    expect(await isListed(third, (await ask(third)).proof ?? [])).toBe(true);
    expect(await isListed(first, oldProof ?? [])).toBe(false);

    await settled((await put(address, { presale_whitelisted_addresses: [] })).body["transaction_hash"]);
    expect((await runtimeOf(address)).presaleMerkleRoot).toBe(zeroRoot);
    await expect.poll(() => ask(third), patient).toMatchObject({ eligible: false, reason: "NO_LIST" });
    expect(await listed(address)).toMatchObject({ presale_whitelisted_addresses: [], presale_merkle_root: null });
  });

  test("freezes for good: what is frozen is refused at once and costs nothing, and the freeze itself may be asked for again", async () => {
    const address = await deployed({ base_uri: "ipfs://folder/" });
    const freeze = await put(address, { freeze_metadata: true }, { "Idempotency-Key": "freeze" });
    // Refused already while the freeze is under way.
    const early = await put(address, { royalties_share: 1 });
    expect(early).toMatchObject({ status: 422, body: { error: { code: "metadata_frozen" } } });
    await settled(freeze.body["transaction_hash"]);
    expect((await runtimeOf(address)).metadataUpdatable).toBe(false);
    expect(await listed(address)).toMatchObject({ metadata_frozen: true });
    const nonce = await relayerNonce();
    for (const change of [
      { base_uri: "ipfs://x/" },
      { prereveal_token_uri: "ipfs://x" },
      { public_mint_start: "2030-01-01" },
      { presale_whitelisted_addresses: [] },
      { royalties_share: 1 },
      { freeze_metadata: true },
    ]) {
      expect(await put(address, change)).toMatchObject({ status: 422, body: { error: { code: "metadata_frozen" } } });
    }
    const again = await put(address, { freeze_metadata: true }, { "Idempotency-Key": "freeze" });
    expect(again.body).toEqual(freeze.body);
    expect(await relayerNonce()).toBe(nonce);
  });

  test("refuses what can never change, nothing, nonsense, and what is not the account's", async () => {
    const address = await deployed();
    const open = await deployed({ base_uri: "" });
    const thirdParty = { Authorization: await newKey(api.services) };
    const nonce = await relayerNonce();
    const refused = async (changes: Record<string, unknown>, headers = {}) => {
      const { status, body } = await put(address, changes, headers);
      return [status, (body["error"] as unknown as { code: string }).code];
    };
    expect(await refused({ max_supply: 100 })).toEqual([422, "parameter_missing"]);
    expect(await refused({ max_supply: 101 })).toEqual([422, "value_error"]);
    expect(await refused({ base_uri: "ipfs://x/", max_supply: 101 })).toEqual([422, "value_error"]);
    expect(await refused({ base_uri: "ipfs://x/", treasury_address: randomAddress() })).toEqual([422, "value_error"]);
    expect(await refused({})).toEqual([422, "parameter_missing"]);
    expect(await refused({ freeze_metadata: false })).toEqual([422, "parameter_missing"]);
    expect(await refused({ royalties_share: 10_001 })).toEqual([422, "value_error"]);
    expect(await refused({ presale_whitelisted_addresses: ["bob"] })).toEqual([422, "invalid_address"]);
    expect(await refused({ public_mint_start: "soon" })).toEqual([422, "invalid_date"]);
    expect(await refused({ freeze_metadata: true })).toEqual([422, "value_error"]);
    expect(await refused({ base_uri: "ipfs://x/" }, thirdParty)).toEqual([404, "not_found"]);
    expect((await put(randomAddress(), { base_uri: "ipfs://x/" })).status).toBe(404);
    expect((await put(open, { base_uri: "ipfs://x/", chain: "mars" })).body).toMatchObject({
      error: { code: "invalid_enumeration" },
    });
    expect(await relayerNonce()).toBe(nonce);
  });
});

describe("GraphQL updateCollection", () => {
  test("does the same, and its update can be followed", async () => {
    const address = await deployed();
    await h.chain.setAutomine(false);
    const { data } = await api.graphql(update, {
      input: { chain, collection: address, baseUri: "ipfs://graph/", royaltiesBps: 100 },
    });
    const result = data["updateCollection"]?.["update"];
    expect(data["updateCollection"]?.["userErrors"]).toEqual([]);
    const waiting = await api.graphql("query ($id: ID!) { viewer { collectionUpdate(id: $id) { progress } } }", {
      id: result?.["id"],
    });
    await h.chain.setAutomine(true);
    await h.chain.mine({ blocks: 1 });
    expect(
      (waiting.data["viewer"] as unknown as { collectionUpdate: { progress: string } }).collectionUpdate.progress,
    ).toMatch(/^in no block yet; then 1 confirmation(, about|$)/);
    await settled(result?.["transactionHash"]);
    expect(await runtimeOf(address)).toMatchObject({ baseURI: "ipfs://graph/", royaltiesBps: 100n });
    const followed = await api.graphql(
      `query ($id: ID!, $a: Address!) {
        viewer { collectionUpdate(id: $id) { state transactionHash progress collection { address contract { name } } } } collection(chain: "goerli", address: $a) { baseUri royaltiesBps } }`,
      { id: result?.["id"], a: address },
    );
    expect(followed.data).toMatchObject({
      viewer: {
        collectionUpdate: {
          state: expect.stringMatching(/CONFIRMED|FINALIZED/),
          transactionHash: result?.["transactionHash"],
          progress: null,
          collection: { address: address.toLowerCase() },
        },
      },
      collection: { baseUri: "ipfs://graph/", royaltiesBps: 100 },
    });

    const more = await api.graphql(update, {
      input: {
        chain,
        collection: address,
        publicMintStart: "2031-01-01T00:00:00Z",
        royaltiesAddress: wallet.toLowerCase(),
      },
    });
    await settled(more.data["updateCollection"]?.["update"]?.["transactionHash"]);
    const list = async (variables: Record<string, unknown>) => {
      const { data } = await api.graphql(
        `query ($chain: ChainName!, $of: Address!, $after: String) { viewer {
          collectionUpdates(chain: $chain, collection: $of, first: 1, after: $after) {
            nodes { id baseUri prerevealTokenUri publicMintStart presaleMintStart presaleMerkleRoot royaltiesBps royaltiesAddress freezesMetadata }
            pageInfo { hasNextPage endCursor }
          } } }`,
        { chain, ...variables },
      );
      return (data["viewer"] as unknown as { collectionUpdates: Record<"nodes" | "pageInfo", unknown> })
        .collectionUpdates;
    };
    const unchanged = {
      ...{ baseUri: null, prerevealTokenUri: null, publicMintStart: null, presaleMintStart: null },
      ...{ presaleMerkleRoot: null, royaltiesBps: null, royaltiesAddress: null, freezesMetadata: false },
    };
    const [second, first] = [more.data["updateCollection"]?.["update"]?.["id"], result?.["id"]];
    const newest = await list({ of: address });
    expect(newest.nodes).toEqual([
      {
        ...{ ...unchanged, id: second },
        ...{ publicMintStart: "2031-01-01T00:00:00.000Z", royaltiesAddress: wallet.toLowerCase() },
      },
    ]);
    const { hasNextPage, endCursor } = newest.pageInfo as { hasNextPage: boolean; endCursor: string };
    expect(hasNextPage).toBe(true);
    const oldest = await list({ of: address, after: endCursor });
    expect(oldest).toMatchObject({
      nodes: [{ ...unchanged, id: first, baseUri: "ipfs://graph/", royaltiesBps: 100 }],
      pageInfo: { hasNextPage: false },
    });
    expect((await list({ of: await deployed() })).nodes).toEqual([]);
  });

  test("a collection that the service may not change is refused before any gas, saying who can help", async () => {
    const { data } = await api.graphql(
      `mutation ($input: DeployCollectionInput!) { deployCollection(input: $input) { deployment { transactionHash } } }`,
      {
        input: {
          chain,
          name: "Own",
          symbol: "OWN",
          maxSupply: "1",
          tokensPerMint: "1",
          mintPriceWei: "0",
          owner: wallet,
          treasury: wallet,
          publicMintStart: "2022-07-12T11:30:48Z",
          serviceAdmin: false,
        },
      },
    );
    const address = await settled(data["deployCollection"]?.["deployment"]?.["transactionHash"]);
    const nonce = await relayerNonce();
    const answer = await api.graphql(update, { input: { chain, collection: address, baseUri: "ipfs://x/" } });
    expect(answer.data["updateCollection"]?.["userErrors"]).toEqual([
      {
        code: "value_error",
        field: "collection",
        message: expect.stringContaining(`grant ADMIN_ROLE to ${h.relayer}`),
      },
    ]);
    expect(await relayerNonce()).toBe(nonce);
  });
});

test("two updates at once lose nothing of each other (V22)", async () => {
  const address = await deployed();
  const before = await runtimeOf(address);
  const [reveal, royalties, dates] = await Promise.all([
    put(address, { base_uri: "ipfs://both/" }),
    api.graphql(update, { input: { chain, collection: address, royaltiesBps: 250 } }),
    put(address, { presale_mint_start: "2029-01-01" }),
  ]);
  await settled(reveal.body["transaction_hash"]);
  await settled(royalties.data["updateCollection"]?.["update"]?.["transactionHash"]);
  await settled(dates.body["transaction_hash"]);
  expect(await runtimeOf(address)).toEqual({
    ...before,
    baseURI: "ipfs://both/",
    royaltiesBps: 250n,
    presaleMintStart: BigInt(Date.UTC(2029, 0, 1) / 1000),
  });
  expect(await listed(address)).toMatchObject({
    base_uri: "ipfs://both/",
    royalties_share: 250,
    presale_mint_start: "2029-01-01T00:00:00",
  });
});

test("a refusal for a member that cannot be changed is not given to the corrected request", async () => {
  const address = await deployed();
  const changes = { royalties_share: 300, royalties_address: wallet };
  const [wrong, right] = await Promise.all([
    put(address, { ...changes, mint_price: 0.02 }),
    put(address, { ...changes, mint_price: 0.01 }),
  ]);
  expect(wrong.status).toBe(422);
  expect(right.status).toBe(200);
  // Nor is the hash of the request that was right given to one that is wrong, however late it comes.
  expect((await put(address, { ...changes, mint_price: 0.02 })).status).toBe(422);
  const other = { royalties_share: 301, royalties_address: wallet };
  expect((await put(address, { ...other, mint_price: 0.02 })).status).toBe(422);
  expect((await put(address, { ...other, mint_price: 0.01 })).status).toBe(200);
});

test("one request sent many times is one update, with equal answers through either API", async () => {
  const address = await deployed();
  const nonce = await relayerNonce();
  const sends = Array.from({ length: 8 }, () => put(address, { base_uri: "ipfs://once/" }));
  const graph = api.graphql(update, { input: { chain, collection: address, baseUri: "ipfs://once/" } });
  const answers = await Promise.all(sends);
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  const hash = answers[0]?.body["transaction_hash"];
  expect((await graph).data["updateCollection"]?.["update"]?.["transactionHash"]).toBe(hash);
  await settled(hash);
  expect((await put(address, { base_uri: "ipfs://once/" })).body["transaction_hash"]).toBe(hash);
  expect(await relayerNonce()).toBe(nonce + 1);
});

describe("what became of an update", () => {
  test("the royalties address is told in the letter case that was sent, and means the same in any", async () => {
    const address = await deployed();
    const receiver = "0x8ba1f109551bD432803012645Ac136ddd64DBA72";
    const { status } = await put(address, { royalties_address: receiver, royalties_share: 250 });
    expect(status).toBe(200);
    await expect.poll(async () => (await listed(address))["royalties_address"], patient).toBe(receiver);
    const again = await put(address, { royalties_address: receiver.toLowerCase(), royalties_share: 250 });
    expect(again.status).toBe(200);
    expect((await runtimeOf(address)).royaltiesAddress).toBe(receiver);
  });

  test("one that waits for a block can be cancelled: nothing changes, both APIs say so, and the next one goes on", async () => {
    const address = await deployed();
    const before = await runtimeOf(address);
    await h.chain.setAutomine(false);
    const key = { "idempotency-key": randomUUID() };
    const sent = await put(address, { royalties_share: 777 }, key);
    const { rows } = await worker.pool.query("SELECT id FROM service.intent WHERE idem_key = $1", [
      `client:${key["idempotency-key"]}`,
    ]);
    const cancel =
      "mutation ($id: ID!) { cancelCollectionUpdate(id: $id) { update { state } userErrors { code field } } }";
    const { data } = await api.graphql(cancel, { id: rows[0].id });
    expect(data["cancelCollectionUpdate"]).toMatchObject({ userErrors: [] });
    const empty = async () => {
      const sql = "SELECT '0x' || encode(hash, 'hex') AS hash FROM service.attempt WHERE kind = 'cancellation'";
      return (await worker.pool.query<{ hash: Hex }>(sql)).rows;
    };
    // Signed is not sent yet: a block mined in between would hold the update itself, and nothing could cancel it then.
    const isAtNode = async () => {
      const [{ hash } = {}] = await empty();
      return hash !== undefined && (await h.chain.getTransaction({ hash }).catch(() => null)) !== null;
    };
    await expect.poll(isAtNode, patient).toBe(true);
    expect(await empty()).toHaveLength(1);
    await h.chain.setAutomine(true);
    await h.chain.mine({ blocks: 1 });
    const state = async () => {
      const query = "query ($id: ID!) { viewer { collectionUpdate(id: $id) { state } } }";
      const { data } = await api.graphql(query, { id: rows[0].id });
      return (data["viewer"] as unknown as { collectionUpdate: { state: string } }).collectionUpdate.state;
    };
    await expect.poll(state, patient).toBe("CANCELLED");
    expect(await runtimeOf(address)).toEqual(before);
    const repeated = await put(address, { royalties_share: 777 }, key);
    expect({ sent: sent.status, repeated: repeated.status }).toEqual({ sent: 200, repeated: 422 });
    expect((await put(address, { royalties_share: 778 })).status).toBe(200);
    await expect.poll(async () => (await runtimeOf(address)).royaltiesBps, patient).toBe(778n);
    const late = await api.graphql(cancel, { id: rows[0].id });
    expect(late.data["cancelCollectionUpdate"]).toMatchObject({ update: { state: "CANCELLED" } });
  });
});
