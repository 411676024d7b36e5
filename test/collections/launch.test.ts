import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { Readable } from "node:stream";
import type { ReadableStream as NodeStream } from "node:stream/web";
import { type Address, createWalletClient, getAddress, type Hex, http, parseEther } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import { collectionFactoryAbi, collectionFactoryBytecode } from "../../contracts/abi/collection-factory.ts";
import { recogniseDeployments } from "../../src/collections/recognise-deployments.ts";
import { goerli, RelayHarness, randomAddress } from "../relay/harness.ts";
import { DoorServer, newKey } from "./door-server.ts";

let h: RelayHarness;
let door: DoorServer;
beforeAll(async () => {
  h = await RelayHarness.start();
  door = await DoorServer.start(h.process());
});
afterAll(async () => {
  await door?.stop();
  await h?.stop();
});

const wallet = "0x25D5bf305aA1FbD778B05Aaa454405D0094Cfa96";
const request = (changes: Record<string, unknown> = {}) => ({
  chain: "goerli",
  name: `Keys ${randomUUID()}`,
  symbol: "TSK",
  max_supply: 100,
  mint_price: 0.01,
  tokens_per_mint: 10,
  owner_address: wallet,
  treasury_address: wallet,
  public_mint_start: "2022-07-12T11:30:48+00:00",
  ...changes,
});
const input = (changes: Record<string, unknown> = {}) => ({
  chain: "goerli",
  name: `Keys ${randomUUID()}`,
  symbol: "TSK",
  maxSupply: "100",
  tokensPerMint: "10",
  mintPriceWei: "10000000000000000",
  owner: wallet,
  treasury: wallet,
  publicMintStart: "2022-07-12T11:30:48Z",
  ...changes,
});

async function deployed(changes: Record<string, unknown> = {}, key = door.key) {
  const { status, body } = await door.post("/v0/contracts/collections", request(changes), { Authorization: key });
  expect(status).toBe(200);
  const { rows } = await door.services.pool.query(
    `SELECT i.id FROM service.intent i JOIN service.slot s ON s.intent_id = i.id
       JOIN service.attempt a ON (a.chain_id, a.addr, a.nonce) = (s.chain_id, s.addr, s.nonce) WHERE a.hash = decode($1, 'hex')`,
    [String(body["transaction_hash"]).slice(2)],
  );
  await h.until(door.services, rows[0].id, ["finalized"]);
  return body;
}

async function footprint() {
  const { rows } = await door.services.pool.query(
    `SELECT (SELECT count(*) FROM service.intent) AS intents, (SELECT count(*) FROM service.allowlist) AS lists,
       (SELECT count(*) FROM service.attempt) AS attempts, (SELECT count(*) FROM service.self_deployment) AS own`,
  );
  return { ...rows[0], nonce: await h.chain.getTransactionCount({ address: h.relayer, blockTag: "pending" }) };
}

describe("a dry run", () => {
  test("names the address, the gas and the cost of the deployment that follows, and leaves nothing behind", async () => {
    const sent = request({ presale_whitelisted_addresses: [wallet] });
    const before = await footprint();
    const plan = await door.post("/v0/contracts/collections?dry_run=true", sent);
    expect(plan.status).toBe(200);
    expect(Object.keys(plan.body)).toEqual([
      "response",
      "dry_run",
      "chain",
      "predicted_address",
      "idempotency_key",
      "gas",
      "max_fee_per_gas",
      "cost",
      "max_cost",
      "warnings",
      "error",
    ]);
    expect(await footprint()).toEqual(before);

    const { rows } = await door.services.pool.query("SELECT count(*) FROM service.intent");
    const key = String(plan.body["idempotency_key"]);
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => door.post("/v0/contracts/collections", sent, { "Idempotency-Key": key })),
    );
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    const { rows: after } = await door.services.pool.query("SELECT count(*) FROM service.intent");
    expect(after[0].count - rows[0].count).toBe(1n);
    const [first] = answers;
    expect(first?.body["predicted_address"]).toBe(plan.body["predicted_address"]);
    const hash = first?.body["transaction_hash"] as unknown as Hex;
    const { gasUsed } = await h.chain.waitForTransactionReceipt({ hash });
    expect(Number(gasUsed)).toBeLessThanOrEqual(Number(plan.body["gas"]));
    expect(Number(gasUsed)).toBeGreaterThan(0.9 * Number(plan.body["gas"]));
    expect(Number(plan.body["max_cost"])).toBeGreaterThan(Number(plan.body["cost"]));
    expect(await h.chain.getCode({ address: plan.body["predicted_address"] as unknown as Address })).toMatch(/^0x363d/);
  });

  test("says which members are not known: they are ignored, and a misspelt one is a wish not carried out", async () => {
    const many = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`extra_${index}`, index]));
    const { body } = await door.post(
      "/v0/contracts/collections?dry_run=true",
      request({ team_reserve: undefined, reserved_supply: 5, ...many }),
    );
    const warnings = body["warnings"] as unknown as string[];
    expect(warnings).toHaveLength(11);
    expect(warnings[0]).toBe('"reserved_supply" is no member of this request and is ignored');
    expect(warnings[10]).toBe("3 further members are ignored");
    const whole = await door.post("/v0/contracts/collections?dry_run=true", request());
    expect(whole.body["warnings"]).toEqual([]);
  });

  test("lists the missing, the malformed and the impossible together", async () => {
    const before = await footprint();
    const { status, body } = await door.post(
      "/v0/contracts/collections?dry_run=1",
      request({ symbol: undefined, owner_address: "0x12", max_supply: 0, royalties_share: 10_001, team_reserve: -1 }),
    );
    expect(status).toBe(422);
    expect(body["error"]).toMatchObject({ code: "parameter_missing" });
    const found = (body["detail"] as unknown as { loc: string[]; type: string }[]).map(({ loc, type }) => [
      loc[0],
      type,
    ]);
    expect(found).toEqual(
      expect.arrayContaining([
        ["symbol", "parameter_missing"],
        ["owner_address", "invalid_address"],
        ["max_supply", "value_error"],
        ["royalties_share", "value_error"],
        ["team_reserve", "value_error"],
      ]),
    );
    expect(await footprint()).toEqual(before);
  });

  test("over GraphQL gives the same plan, and says what is legal but probably not meant", async () => {
    const sent = { base_uri: "ipfs://bafy", owner_address: wallet.replace("0x25D5", "0x25d5") };
    const name = `Keys ${randomUUID()}`;
    const key = randomUUID();
    const rest = await door.post("/v0/contracts/collections?dry_run=true", request({ ...sent, name }), {
      "Idempotency-Key": key,
    });
    const { data } = await door.graphql(
      `mutation ($input: DeployCollectionInput!) { deployCollection(input: $input, dryRun: true) {
        deployment { id } plan { predictedAddress gas maxFeePerGasWei } warnings idempotencyKey userErrors { code } } }`,
      { input: input({ name, baseUri: "ipfs://bafy", idempotencyKey: key, owner: sent.owner_address }) },
    );
    expect(data["deployCollection"]).toEqual({
      deployment: null,
      plan: {
        predictedAddress: String(rest.body["predicted_address"]).toLowerCase(),
        gas: String(rest.body["gas"]),
        maxFeePerGasWei: rest.body["max_fee_per_gas"],
      },
      warnings: [expect.stringContaining("no slash at its end")],
      idempotencyKey: key,
      userErrors: [],
    });
    expect(rest.body["warnings"]).toEqual([
      expect.stringContaining("no slash at its end"),
      expect.stringContaining("checksum of ownerAddress"),
    ]);
  });

  test("finds a treasury that refuses payments; the deployment is refused too", async () => {
    // The factory's own code takes no wei. A second one, since the service's own address is refused anyway.
    const account = privateKeyToAccount(generatePrivateKey());
    await h.chain.setBalance({ address: account.address, value: parseEther("10") });
    const deployer = createWalletClient({ account, transport: http(h.node.url) });
    const hash = await deployer.deployContract({
      abi: collectionFactoryAbi,
      bytecode: collectionFactoryBytecode,
      args: [account.address, account.address],
      chain: null,
    });
    const { contractAddress } = await h.chain.waitForTransactionReceipt({ hash });
    for (const path of ["/v0/contracts/collections?dry_run=true", "/v0/contracts/collections"]) {
      const { body } = await door.post(path, request({ treasury_address: contractAddress }));
      expect(body).toMatchObject({
        error: { code: "invalid_address" },
        detail: [{ loc: ["treasury_address"], msg: expect.stringContaining("refuses payments") }],
      });
    }
  });
});

describe("mode SIGN", () => {
  const mutation = `mutation ($input: DeployCollectionInput!, $sender: Address) {
    deployCollection(input: $input, mode: SIGN, sender: $sender) {
      deployment { id } transaction { chainId to data valueWei gas expectedAddress } userErrors { code field message }
    } }`;
  const prepare = async (given: Record<string, unknown>, sender?: Address, key = door.key) => {
    const answer = await door.graphql(mutation, { input: given, sender }, { Authorization: key });
    expect(answer.errors).toBeUndefined();
    return answer.data["deployCollection"]?.["transaction"] as unknown as {
      data: Hex;
      gas: string;
      to: null;
      expectedAddress: Address;
      chainId: number;
      valueWei: string;
    };
  };
  const recognise = async () => {
    while (await recogniseDeployments(door.services, goerli(door.services)));
  };

  test("a wallet deploys what it was given, and the collection is the account's, with its presale proofs", async () => {
    const account = privateKeyToAccount(generatePrivateKey());
    await h.chain.setBalance({ address: account.address, value: parseEther("10") });
    const given = input({
      owner: account.address,
      allowlist: [account.address, randomAddress()],
      presaleMintStart: "2022-07-11T11:30:48Z",
    });
    const transaction = await prepare(given, account.address);
    expect(transaction).toMatchObject({ to: null, valueWei: "0", chainId: h.node.id });
    // Asking again gives the same bytes while they are awaited; another account gets others.
    expect((await prepare(given)).data).toBe(transaction.data);
    const stranger = await newKey(door.services);
    const others = await prepare(given, undefined, stranger);
    expect(others.data).not.toBe(transaction.data);

    const nonce = await h.chain.getTransactionCount({ address: h.relayer });
    const deployer = createWalletClient({ account, transport: http(h.node.url) });
    const hash = await deployer.sendTransaction({ data: transaction.data, gas: BigInt(transaction.gas), chain: null });
    const receipt = await h.chain.waitForTransactionReceipt({ hash });
    expect(receipt.contractAddress).toBe(transaction.expectedAddress);
    expect(await h.chain.getTransactionCount({ address: h.relayer })).toBe(nonce);
    expect(await door.get(`/v0/contracts/${hash}?chain=goerli`)).toMatchObject({ status: 404 });

    await recognise();
    const found = await door.get(`/v0/contracts/${hash}?chain=goerli`);
    expect(found.body).toMatchObject({ contract_address: getAddress(transaction.expectedAddress) });
    const theirs = await door.get(`/v0/contracts/${hash}?chain=goerli`, { Authorization: stranger });
    expect(theirs.status).toBe(404);
    const { data } = await door.graphql(
      `query ($address: Address!, $wallet: Address!) {
        collection(chain: "goerli", address: $address) { name owner relayed transactionHash }
        eligibility(chain: "goerli", collection: $address, wallet: $wallet) { eligible reason proof } }`,
      { address: transaction.expectedAddress, wallet: account.address },
    );
    expect(data["collection"]).toEqual({
      name: given.name,
      owner: account.address.toLowerCase(),
      relayed: false,
      transactionHash: hash,
    });
    const { eligible, proof } = data["eligibility"] as unknown as { eligible: boolean; proof: Hex[] };
    expect(eligible).toBe(true);
    const minted = await deployer.writeContract({
      address: transaction.expectedAddress,
      abi: collectionAbi,
      functionName: "presaleMint",
      args: [1n, proof],
      value: parseEther("0.01"),
      chain: null,
    });
    expect((await h.chain.waitForTransactionReceipt({ hash: minted })).status).toBe("success");
  });

  test("after a reorganisation the collection is gone until it is there again", async () => {
    const account = privateKeyToAccount(generatePrivateKey());
    await h.chain.setBalance({ address: account.address, value: parseEther("10") });
    const { data } = await prepare(input({ owner: account.address }), account.address);
    const deployer = createWalletClient({ account, transport: http(h.node.url) });
    const snapshot = await h.chain.snapshot();
    const hash = await deployer.sendTransaction({ data, chain: null });
    await h.chain.waitForTransactionReceipt({ hash });
    await recognise();
    expect((await door.get(`/v0/contracts/${hash}?chain=goerli`)).status).toBe(200);
    await door.services.pool.query("UPDATE service.self_deployment SET finalized = false");
    await h.chain.revert({ id: snapshot });
    await h.chain.mine({ blocks: 1 });
    await recognise();
    expect((await door.get(`/v0/contracts/${hash}?chain=goerli`)).status).toBe(404);
    const again = await deployer.sendTransaction({ data, chain: null });
    await h.chain.waitForTransactionReceipt({ hash: again });
    await recognise();
    expect((await door.get(`/v0/contracts/${again}?chain=goerli`)).status).toBe(200);
  });

  test("refuses wrong input as the other mode does, and stores nothing", async () => {
    const before = await footprint();
    const { data } = await door.graphql(mutation, { input: input({ maxSupply: "0" }) });
    expect(data["deployCollection"]).toMatchObject({
      transaction: null,
      userErrors: expect.arrayContaining([expect.objectContaining({ code: "value_error", field: "maxSupply" })]),
    });
    expect(await footprint()).toEqual(before);
  });
});

describe("the account's contracts", () => {
  test("collections are listed field by field, with a proof under each spelling of a wallet", async () => {
    const key = await newKey(door.services);
    const golden = JSON.parse(readFileSync(new URL("../golden/merkle.json", import.meta.url), "utf8"));
    const vector = golden.vectors.find(({ id }: { id: string }) => id === "mixed-case-duplicates");
    const first = await deployed({ name: "First" }, key);
    const second = await deployed(
      {
        chain: "rinkeby",
        name: "Second",
        mint_price: "0.000000000000000001",
        team_reserve: 3,
        prereveal_token_uri: "ipfs://pre",
        presale_mint_start_date: "2022-07-11T13:30:48+02:00",
        presale_whitelisted_addresses: vector.whitelist,
        royalty_share: 500,
      },
      key,
    );
    const path = "/v0/me/contracts/collections?chain=goerli";
    const { body, text } = await door.get(path, { Authorization: key });
    const contracts = body["contracts"] as unknown as Record<string, unknown>[];
    expect(contracts.map(({ name }) => name)).toEqual(["Second", "First"]);
    expect(Object.entries(contracts[0] ?? {})).toEqual([
      ["name", "Second"],
      ["symbol", "TSK"],
      ["transaction_hash", second["transaction_hash"]],
      ["transaction_external_url", `https://goerli.etherscan.io/tx/${second["transaction_hash"]}`],
      ["chain", "goerli"],
      ["address", String(second["predicted_address"]).toLowerCase()],
      ["owner_address", wallet],
      ["creation_date", expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$/)],
      ["metadata_frozen", false],
      ["max_supply", 100],
      ["team_reserve", 3],
      ["mint_price", 1e-18],
      ["tokens_per_mint", 10],
      ["treasury_address", wallet],
      ["public_mint_start", "2022-07-12T11:30:48"],
      ["base_uri", ""],
      ["prereveal_token_uri", "ipfs://pre"],
      ["presale_mint_start", "2022-07-11T11:30:48"],
      ["presale_whitelisted_addresses", vector.deduplicated],
      ["presale_merkle_root", vector.presale_merkle_root],
      ["royalties_share", 500],
      ["royalties_address", wallet],
    ]);
    expect(text).toContain('"mint_price":0.000000000000000001,');
    expect(contracts[1]).toMatchObject({
      transaction_hash: first["transaction_hash"],
      presale_mint_start: null,
      presale_merkle_root: null,
      presale_whitelisted_addresses: [],
    });

    const proofs = (await door.get(`${path}&include=merkle_proofs`, { Authorization: key })).body[
      "contracts"
    ] as unknown as { merkle_proofs: Record<string, Hex[]> }[];
    const [given = {}, none = {}] = proofs.map(({ merkle_proofs }) => merkle_proofs);
    expect(none).toEqual({});
    for (const [address, proof] of Object.entries(vector.proofs)) {
      expect(given[address]).toEqual(proof);
      expect(given[getAddress(address)]).toEqual(proof);
    }
    for (const spelling of vector.deduplicated) expect(given[spelling]).toEqual(vector.proofs[spelling.toLowerCase()]);
    expect((await door.get("/v0/me/contracts")).body).toEqual({ response: "OK", contracts: [], error: null });
  });

  test("the ABI is the compiler's, with selectors, and only for the account's own", async () => {
    const { predicted_address: address } = await deployed();
    const { body } = await door.get(`/v0/me/contracts/abis/${address}?chain=goerli`);
    const abi = body["abi"] as unknown as { name: string; type: string }[];
    expect(JSON.stringify(abi.find(({ name }) => name === "ADMIN_ROLE"))).toBe(
      '{"inputs":[],"name":"ADMIN_ROLE","outputs":[{"internalType":"bytes32","name":"","type":"bytes32"}],"stateMutability":"view","type":"function","constant":true,"signature":"0x75b238fc"}',
    );
    expect(abi.find(({ name }) => name === "mint")).toMatchObject({ payable: true, signature: "0xa0712d68" });
    expect(abi.find(({ name, type }) => type === "event" && name === "Transfer")).toMatchObject({
      signature: "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",
    });
    const stranger = { Authorization: await newKey(door.services) };
    const theirs = await door.get(`/v0/me/contracts/abis/${address}?chain=goerli`, stranger);
    expect(theirs).toMatchObject({ status: 404, body: { error: { code: "not_found" } } });
    const { data } = await door.graphql(
      'query ($a: Address!) { collection(chain: "goerli", address: $a) { abi } collections(chain: "goerli") { address } }',
      { a: address },
    );
    expect(data["collection"]?.["abi"]).toEqual(abi);
    expect(data["collections"]?.[0]).toEqual({ address: String(address).toLowerCase() });
  });
});

describe("following a deployment", () => {
  /** Reads server-sent events until `enough` or the end; then leaves. */
  async function listen(id: string, enough: (states: string[]) => boolean = () => false) {
    const leaving = new AbortController();
    const response = await fetch(`${door.base}/graphql`, {
      method: "POST",
      headers: { Authorization: door.key, "Content-Type": "application/json", Accept: "text/event-stream" },
      body: JSON.stringify({
        query: "subscription ($id: ID!) { deployment(id: $id) { state collection } }",
        variables: { id },
      }),
      signal: leaving.signal,
    });
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    const states: string[] = [];
    let text = "";
    if (!response.body) throw new Error("no body");
    for await (const chunk of Readable.fromWeb(response.body as NodeStream)) {
      text += Buffer.from(chunk).toString("utf8");
      for (const [, data = ""] of text.matchAll(/^data: ?(\{.*\})$/gm)) {
        const { data: payload, errors } = JSON.parse(data);
        states.push(payload?.deployment?.state ?? errors?.[0]?.extensions?.code);
      }
      text = text.slice(text.lastIndexOf("\n\n") + 1);
      if (enough(states)) break;
    }
    leaving.abort();
    return states;
  }

  test("a subscription tells each state and ends with the last", async () => {
    const { data } = await door.graphql(
      "mutation ($input: DeployCollectionInput!) { deployCollection(input: $input) { deployment { id } } }",
      { input: input() },
    );
    const id = String(data["deployCollection"]?.["deployment"]?.["id"]);
    const listening = listen(id);
    await h.until(door.services, id, ["finalized"]);
    const states = await listening;
    expect(states.at(-1)).toBe("FINALIZED");
    expect(new Set(states).size).toBe(states.length);
    // One that has ended is told once.
    expect(await listen(id)).toEqual(["FINALIZED"]);
    expect(await listen(randomUUID())).toEqual(["not_found"]);
  });

  test("one that has not been signed can be cancelled; what stands cannot", async () => {
    await h.pauseFactory(true);
    const cancel =
      "mutation ($id: ID!) { cancelDeployment(id: $id) { deployment { state } userErrors { code field } } }";
    try {
      const sent = input({ idempotencyKey: randomUUID() });
      const { errors } = await door.graphql(
        "mutation ($input: DeployCollectionInput!) { deployCollection(input: $input) { deployment { id } } }",
        { input: sent },
      );
      const held = String(errors?.[0]?.extensions.details?.deployment);
      const { data } = await door.graphql(cancel, { id: held });
      expect(data["cancelDeployment"]).toEqual({ deployment: { state: "CANCELLED" }, userErrors: [] });
      expect(await listen(held)).toEqual(["CANCELLED"]);
    } finally {
      await h.pauseFactory(false);
    }
    const { data } = await door.graphql(
      "mutation ($input: DeployCollectionInput!) { deployCollection(input: $input) { deployment { id } } }",
      { input: input() },
    );
    const id = String(data["deployCollection"]?.["deployment"]?.["id"]);
    await h.until(door.services, id, ["finalized"]);
    const refused = await door.graphql(cancel, { id });
    expect(refused.data["cancelDeployment"]).toEqual({
      deployment: null,
      userErrors: [{ code: "value_error", field: null }],
    });
  });
});
