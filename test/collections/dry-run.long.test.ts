import { randomUUID } from "node:crypto";
import { type Address, createWalletClient, type Hex, http, parseEther } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { collectionFactoryAbi, collectionFactoryBytecode } from "../../contracts/abi/collection-factory.ts";
import type { RelayHarness } from "../transactions/harness.ts";
import type { HttpApi } from "./http-api.ts";
import { input, LaunchFixture, request, wallet } from "./launch-fixture.ts";

let fixture: LaunchFixture;
let h: RelayHarness;
let api: HttpApi;
beforeAll(async () => {
  fixture = await LaunchFixture.start();
  ({ h, api } = fixture);
});
afterAll(() => fixture?.stop());

test("names the address, the gas and the cost of the deployment that follows, and leaves nothing behind", async () => {
  const sent = request({ presale_whitelisted_addresses: [wallet] });
  const before = await fixture.footprint();
  const plan = await api.post("/v0/contracts/collections?dry_run=true", sent);
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
  expect(await fixture.footprint()).toEqual(before);

  const { rows } = await api.services.pool.query("SELECT count(*) FROM service.intent");
  const key = String(plan.body["idempotency_key"]);
  const answers = await Promise.all(
    Array.from({ length: 5 }, () => api.post("/v0/contracts/collections", sent, { "Idempotency-Key": key })),
  );
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  const { rows: after } = await api.services.pool.query("SELECT count(*) FROM service.intent");
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

test("says which members are not known: they are ignored, and a misspelt one is a request not carried out", async () => {
  const many = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`extra_${index}`, index]));
  const { body } = await api.post(
    "/v0/contracts/collections?dry_run=true",
    request({ team_reserve: undefined, reserved_supply: 5, ...many }),
  );
  const warnings = body["warnings"] as unknown as string[];
  expect(warnings).toHaveLength(11);
  expect(warnings[0]).toBe('"reserved_supply" is no member of this request and is ignored');
  expect(warnings[10]).toBe("3 further members are ignored");
  const whole = await api.post("/v0/contracts/collections?dry_run=true", request());
  expect(whole.body["warnings"]).toEqual([]);
});

test("lists the missing, the malformed and the impossible together", async () => {
  const before = await fixture.footprint();
  const { status, body } = await api.post(
    "/v0/contracts/collections?dry_run=1",
    request({ symbol: undefined, owner_address: "0x12", max_supply: 0, royalties_share: 10_001, team_reserve: -1 }),
  );
  expect(status).toBe(422);
  expect(body["error"]).toMatchObject({ code: "parameter_missing" });
  const found = (body["detail"] as unknown as { loc: string[]; type: string }[]).map(({ loc, type }) => [loc[0], type]);
  expect(found).toEqual(
    expect.arrayContaining([
      ["symbol", "parameter_missing"],
      ["owner_address", "invalid_address"],
      ["max_supply", "value_error"],
      ["royalties_share", "value_error"],
      ["team_reserve", "value_error"],
    ]),
  );
  expect(await fixture.footprint()).toEqual(before);
});

test("over GraphQL gives the same plan, and says what is legal but probably not meant", async () => {
  const sent = { base_uri: "ipfs://bafy", owner_address: wallet.replace("0x25D5", "0x25d5") };
  const name = `Keys ${randomUUID()}`;
  const key = randomUUID();
  const rest = await api.post("/v0/contracts/collections?dry_run=true", request({ ...sent, name }), {
    "Idempotency-Key": key,
  });
  const { data } = await api.graphql(
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
    warnings: [expect.stringContaining("no slash at its end"), "the checksum of owner is wrong: a typo?"],
    idempotencyKey: key,
    userErrors: [],
  });
  expect(rest.body["warnings"]).toEqual([
    expect.stringContaining("no slash at its end"),
    expect.stringContaining("checksum of ownerAddress"),
  ]);
});

test("a wrong checksum is told over GraphQL too: in variables, in a literal, and of an update", async () => {
  const typo = wallet.replace("0x25D5", "0x25d5");
  const deploy = `deployCollection(input: $input, dryRun: true) { plan { gas } warnings userErrors { code } }`;
  const { chain, name, symbol, maxSupply, tokensPerMint, mintPriceWei, publicMintStart } = input({});
  const given = { chain, name, symbol, maxSupply, tokensPerMint, mintPriceWei, publicMintStart };
  const literal = Object.entries(given).map(([member, value]) => `${member}: ${JSON.stringify(value)}`);
  const answers = [
    await api.graphql(`mutation ($input: DeployCollectionInput!) { ${deploy} }`, {
      input: input({ owner: wallet.toLowerCase(), treasury: typo, royaltiesAddress: typo }),
    }),
    await api.graphql(
      `mutation ($a: Address!) { ${deploy.replace("$input", `{ ${literal}, owner: $a, treasury: "${typo}", royaltiesAddress: $a }`)} }`,
      { a: wallet },
    ),
  ];
  expect(answers.map(({ data }) => data["deployCollection"]?.["warnings"])).toEqual([
    ["the checksum of treasury is wrong: a typo?", "the checksum of royaltiesAddress is wrong: a typo?"],
    ["the checksum of treasury is wrong: a typo?"],
  ]);
  const { predicted_address: address } = await fixture.deployed({});
  const { body } = await api.put("/v0/contracts/collections?dry_run=true", {
    ...{ chain: "goerli", contract_address: address, royalties_address: typo },
  });
  const { data } = await api.graphql(
    "mutation ($input: UpdateCollectionInput!) { updateCollection(input: $input, dryRun: true) { warnings } }",
    { input: { chain: "goerli", collection: address, royaltiesAddress: typo } },
  );
  expect(body["warnings"]).toContain("the checksum of royaltiesAddress is wrong: a typo?");
  expect(data["updateCollection"]?.["warnings"]).toEqual(body["warnings"]);
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
    const { body } = await api.post(path, request({ treasury_address: contractAddress }));
    expect(body).toMatchObject({
      error: { code: "invalid_address" },
      detail: [{ loc: ["treasury_address"], msg: expect.stringContaining("refuses payments") }],
    });
  }
});

test("an update's dry run names its gas and cost over both APIs, warns, and leaves the chain and the tables alone", async () => {
  const sale = { presale_mint_start: "2034-12-31", public_mint_start: "2035-01-01", royalties_share: 500 };
  const { predicted_address: address } = await fixture.deployed(sale);
  const path = "/v0/contracts/collections?dry_run=true";
  const sent = { chain: "goerli", contract_address: address, public_mint_start: "2022-01-01" };
  const before = await fixture.footprint();
  const { status, body } = await api.put(path, sent);
  expect([status, body["dry_run"], body["contract_address"]]).toEqual([200, true, address]);
  expect(body["warnings"]).toEqual([
    "the public sale opens as soon as this is on the chain",
    "the presale starts no earlier than the public sale",
    "the presale has a start but nobody on its list",
  ]);
  expect(Number(body["max_cost"])).toBeGreaterThan(Number(body["cost"]));
  const same = await api.put(path, { ...sent, public_mint_start: "2035-01-01", royalties_share: 500 });
  expect(same.body["warnings"]).toContainEqual(expect.stringContaining("would change nothing"));
  const refused = await api.put(path, { ...sent, max_supply: 7, royalties_share: 10_001 });
  expect(refused).toMatchObject({ status: 422, body: { error: { code: "value_error" } } });
  const { data } = await api.graphql(
    `mutation ($input: UpdateCollectionInput!) { updateCollection(input: $input, dryRun: true) {
      update { id } plan { gas maxFeePerGasWei } warnings userErrors { code } } }`,
    { input: { chain: "goerli", collection: address, publicMintStart: "2022-01-01T00:00:00Z" } },
  );
  expect(data["updateCollection"]).toEqual({
    update: null,
    plan: { gas: String(body["gas"]), maxFeePerGasWei: body["max_fee_per_gas"] },
    warnings: body["warnings"],
    userErrors: [],
  });
  expect(await fixture.footprint()).toEqual(before);

  const { body: done } = await api.put("/v0/contracts/collections", sent);
  const { gasUsed } = await h.chain.waitForTransactionReceipt({ hash: done["transaction_hash"] as unknown as Hex });
  expect(Number(gasUsed)).toBeLessThanOrEqual(Number(body["gas"]));
  expect(Number(gasUsed)).toBeGreaterThan(0.8 * Number(body["gas"]));
});
