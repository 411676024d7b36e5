import { readFileSync } from "node:fs";
import { getAddress, type Hex } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type HttpApi, newKey } from "./http-api.ts";
import { LaunchFixture, wallet } from "./launch-fixture.ts";

let fixture: LaunchFixture;
let api: HttpApi;
beforeAll(async () => {
  fixture = await LaunchFixture.start();
  ({ api } = fixture);
});
afterAll(() => fixture?.stop());

test("collections are listed field by field, with a proof under each spelling of a wallet", async () => {
  const key = await newKey(api.services);
  const golden = JSON.parse(readFileSync(new URL("../golden/merkle.json", import.meta.url), "utf8"));
  const vector = golden.vectors.find(({ id }: { id: string }) => id === "mixed-case-duplicates");
  const first = await fixture.deployed({ name: "First" }, key);
  const second = await fixture.deployed(
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
  const { body, text } = await api.get(path, { Authorization: key });
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

  const proofs = (await api.get(`${path}&include=merkle_proofs`, { Authorization: key })).body[
    "contracts"
  ] as unknown as { merkle_proofs: Record<string, Hex[]> }[];
  const [given = {}, none = {}] = proofs.map(({ merkle_proofs }) => merkle_proofs);
  expect(none).toEqual({});
  for (const [address, proof] of Object.entries(vector.proofs)) {
    expect(given[address]).toEqual(proof);
    expect(given[getAddress(address)]).toEqual(proof);
  }
  for (const spelling of vector.deduplicated) expect(given[spelling]).toEqual(vector.proofs[spelling.toLowerCase()]);
  expect((await api.get("/v0/me/contracts")).body).toEqual({ response: "OK", contracts: [], error: null });
});

test("the ABI is the compiler's, with selectors, and only for the account's own", async () => {
  const { predicted_address: address } = await fixture.deployed();
  const { body } = await api.get(`/v0/me/contracts/abis/${address}?chain=goerli`);
  const abi = body["abi"] as unknown as { name: string; type: string }[];
  expect(JSON.stringify(abi.find(({ name }) => name === "ADMIN_ROLE"))).toBe(
    '{"inputs":[],"name":"ADMIN_ROLE","outputs":[{"internalType":"bytes32","name":"","type":"bytes32"}],"stateMutability":"view","type":"function","constant":true,"signature":"0x75b238fc"}',
  );
  expect(abi.find(({ name }) => name === "mint")).toMatchObject({ payable: true, signature: "0xa0712d68" });
  expect(abi.find(({ name, type }) => type === "event" && name === "Transfer")).toMatchObject({
    signature: "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",
  });
  const thirdParty = { Authorization: await newKey(api.services) };
  const theirs = await api.get(`/v0/me/contracts/abis/${address}?chain=goerli`, thirdParty);
  expect(theirs).toMatchObject({ status: 404, body: { error: { code: "not_found" } } });
  const { data } = await api.graphql(
    'query ($a: Address!) { collection(chain: "goerli", address: $a) { abi } viewer { collections(chain: "goerli") { address } } }',
    { a: address },
  );
  expect(data["collection"]?.["abi"]).toEqual(abi);
  expect((data["viewer"] as { collections?: unknown[] } | undefined)?.collections?.[0]).toEqual({
    address: String(address).toLowerCase(),
  });
});
