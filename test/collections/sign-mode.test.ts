import { type Address, createWalletClient, getAddress, type Hex, http, parseEther } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import { detectDeployments } from "../../src/collections/detect-deployments.ts";
import { goerli, type RelayHarness, randomAddress } from "../transactions/harness.ts";
import { type HttpApi, newKey } from "./http-api.ts";
import { input, LaunchFixture } from "./launch-fixture.ts";

let fixture: LaunchFixture;
let h: RelayHarness;
let api: HttpApi;
beforeAll(async () => {
  fixture = await LaunchFixture.start();
  ({ h, api } = fixture);
});
afterAll(() => fixture?.stop());

const mutation = `mutation ($input: DeployCollectionInput!, $sender: Address) {
  deployCollection(input: $input, mode: SIGN, sender: $sender) {
    deployment { id } transaction { chainId to data valueWei gas expectedAddress } userErrors { code field message }
  } }`;
const prepare = async (given: Record<string, unknown>, sender?: Address, key = api.key) => {
  const answer = await api.graphql(mutation, { input: given, sender }, { Authorization: key });
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
const detect = async () => {
  while ((await detectDeployments(api.services, goerli(api.services))) === "again");
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
  const thirdParty = await newKey(api.services);
  const others = await prepare(given, undefined, thirdParty);
  expect(others.data).not.toBe(transaction.data);

  const nonce = await h.chain.getTransactionCount({ address: h.relayer });
  const deployer = createWalletClient({ account, transport: http(h.node.url) });
  const hash = await deployer.sendTransaction({ data: transaction.data, gas: BigInt(transaction.gas), chain: null });
  const receipt = await h.chain.waitForTransactionReceipt({ hash });
  expect(receipt.contractAddress).toBe(transaction.expectedAddress);
  expect(await h.chain.getTransactionCount({ address: h.relayer })).toBe(nonce);
  expect(await api.get(`/v0/contracts/${hash}?chain=goerli`)).toMatchObject({ status: 404 });

  await detect();
  const found = await api.get(`/v0/contracts/${hash}?chain=goerli`);
  expect(found.body).toMatchObject({ contract_address: getAddress(transaction.expectedAddress) });
  const theirs = await api.get(`/v0/contracts/${hash}?chain=goerli`, { Authorization: thirdParty });
  expect(theirs.status).toBe(404);
  const { data } = await api.graphql(
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
  await detect();
  expect((await api.get(`/v0/contracts/${hash}?chain=goerli`)).status).toBe(200);
  await api.services.pool.query("UPDATE service.self_deployment SET finalized = false");
  await h.chain.revert({ id: snapshot });
  await h.chain.mine({ blocks: 1 });
  await detect();
  expect((await api.get(`/v0/contracts/${hash}?chain=goerli`)).status).toBe(404);
  const again = await deployer.sendTransaction({ data, chain: null });
  await h.chain.waitForTransactionReceipt({ hash: again });
  await detect();
  expect((await api.get(`/v0/contracts/${again}?chain=goerli`)).status).toBe(200);
});

test("refuses wrong input as the other mode does, and stores nothing", async () => {
  const before = await fixture.footprint();
  const { data } = await api.graphql(mutation, { input: input({ maxSupply: "0" }) });
  expect(data["deployCollection"]).toMatchObject({
    transaction: null,
    userErrors: expect.arrayContaining([expect.objectContaining({ code: "value_error", field: "maxSupply" })]),
  });
  expect(await fixture.footprint()).toEqual(before);
});
