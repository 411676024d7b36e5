import pg from "pg";
import type { Address, Hex } from "viem";
import { privateKeyToAddress } from "viem/accounts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect, type Wallet } from "../../bin/demo-wallets.ts";
import { erc721ProductAbi } from "../../contracts/abi/erc721-product.ts";
import { Client } from "../setup/client.ts";
import { leaseStack } from "../setup/shared-stack.ts";
import { wait } from "../setup/wait.ts";
import { randomAddress, uri } from "./scenario.ts";

// Whose tokens those are that the service mints for its clients, in all places that name a creator.

const stack = leaseStack();
const chain = "goerli";
let client: Client;
let node: ReturnType<typeof connect>["node"];
let database: pg.Client;
let owner: Wallet;
let relayer: string;

beforeAll(async () => {
  client = new Client(stack.ready);
  const connected = connect(stack.ready.rpcUrl ?? "", stack.ready.chainId ?? 0);
  node = connected.node;
  owner = await connected.createWallet();
  relayer = String(stack.ready.relayer).toLowerCase();
  database = new pg.Client({ connectionString: stack.ready.databaseUrl });
  await database.connect();
});
afterAll(async () => {
  await database?.end();
});

let deployed = 0;
async function deploy(type: "erc721" | "erc1155", ownerAddress: Address): Promise<Address> {
  const sent = await client.json("/contracts", {
    chain,
    name: `Tickets ${deployed++}`,
    symbol: "TIX",
    type,
    owner_address: ownerAddress,
  });
  expect(sent.body).toMatchObject({ response: "OK" });
  const found = await client.until(
    `/contracts/${sent.body["transaction_hash"]}?chain=${chain}`,
    ({ status }) => status === 200,
  );
  return String(found.body["contract_address"]).toLowerCase() as Address;
}

/** The contract and id of each token that an account is named as the creator of, oldest first. */
async function createdBy(account: string, count: number): Promise<[contract: string, tokenId: string][]> {
  const list = `/accounts/creators/${account}?chain=${chain}&page_size=50`;
  const { body } = await client.until(list, (answer) => (answer.body["nfts"] as unknown[])?.length >= count);
  const nfts = body["nfts"] as { contract_address: string; token_id: string }[];
  return nfts.map((nft): [string, string] => [nft.contract_address, nft.token_id]).reverse();
}

/** Who each place says that the creator of a token is which `holder` has. */
async function creatorOf(contract: string, tokenId: string, holder: string): Promise<unknown[]> {
  const read = async () => {
    const { rows } = await database.query<{ creator: string }>(
      "SELECT '0x' || encode(creator, 'hex') AS creator FROM nft.tokens WHERE contract = decode($1, 'hex') AND token_id = $2",
      [contract.slice(2), tokenId],
    );
    return rows[0]?.creator;
  };
  const sql = await wait(`token ${tokenId} of ${contract}`, read);
  const analyst = await database.query("SELECT creator FROM analytics.tokens WHERE contract = $1 AND token_id = $2", [
    contract,
    tokenId,
  ]);
  const one = await client.get(`/nfts/${contract}/${tokenId}?chain=${chain}`);
  const held = (await client.get(`/accounts/${holder}?chain=${chain}`)).body["nfts"] as Record<string, string>[];
  const listed = held.find((nft) => nft["contract_address"] === contract && nft["token_id"] === tokenId);
  const { body } = await client.graphql(
    `query ($contract: Address!, $tokenId: TokenId!) { nft(chain: "goerli", contract: $contract, tokenId: $tokenId) { creator } }`,
    { contract, tokenId },
  );
  return [
    ...[sql, analyst.rows[0]?.creator, (one.body["nft"] as Record<string, string>)["creator_address"]],
    listed?.["creator_address"],
    (body["data"] as { nft: { creator: string } }).nft.creator,
  ];
}
const everywhere = (account: string) => Array(5).fill(account);

test("tokens of a client's contract have its owner as creator, whoever sent the mint", async () => {
  const account = owner.account.address.toLowerCase();
  const contract = await deploy("erc721", owner.account.address);
  const [holder, other] = [randomAddress(), randomAddress()];
  const minted = await client.json("/mints/customizable", {
    ...{ chain, contract_address: contract, metadata_uri: uri, mint_to_address: holder, token_id: 1 },
  });
  expect(minted.body).toMatchObject({ response: "OK" });
  const tokens = [2, 3].map((tokenId) => ({ to: other, uri, tokenId: String(tokenId) }));
  const batch = await client.graphql(
    `mutation ($contract: Address!, $tokens: [MintTokenInput!]!) {
      mintBatch(chain: "goerli", contract: $contract, tokens: $tokens) { requests { id } userErrors { message } } }`,
    { contract, tokens },
  );
  expect(batch.body).toMatchObject({ data: { mintBatch: { requests: [{}, {}], userErrors: [] } } });
  await createdBy(account, 3);
  // By the wallet that owns the contract, without the service.
  const hash = await owner.writeContract({
    ...{ address: contract, abi: erc721ProductAbi, functionName: "mintToCaller", args: [holder, 4n, uri] },
  } as never);
  await node.waitForTransactionReceipt({ hash });
  const multi = await deploy("erc1155", owner.account.address);
  const several = await client.json("/mints/customizable/batch", {
    ...{ chain, contract_address: multi },
    tokens: [5, 6].map((tokenId) => ({ mint_to_address: holder, token_id: tokenId, metadata_uri: uri, quantity: 9 })),
  });
  expect(several.body).toMatchObject({ response: "OK" });

  const created = await createdBy(account, 6);
  const own = ["1", "2", "3", "4"].map((tokenId) => [contract, tokenId]);
  expect(created.slice(0, 4).sort()).toEqual(own);
  expect(created.slice(4)).toEqual(["5", "6"].map((tokenId) => [multi, tokenId]));
  for (const [place, tokenId, by] of [
    [contract, "1", holder],
    [contract, "2", other],
    [contract, "4", holder],
    [multi, "5", holder],
  ] as const)
    expect([tokenId, await creatorOf(place, tokenId, by)]).toEqual([tokenId, everywhere(account)]);

  const receipt = await node.getTransactionReceipt({ hash: String(minted.body["transaction_hash"]) as Hex });
  expect(receipt.from).toBe(relayer);
  expect((await createdBy(relayer, 0)).filter(([address]) => address === contract || address === multi)).toEqual([]);
});

test("after the contract went to somebody else its tokens keep their creator, and later ones get the same", async () => {
  const contract = await deploy("erc721", owner.account.address);
  const [holder, next] = [randomAddress(), privateKeyToAddress(`0x${"7".repeat(64)}`)];
  const hash = await owner.writeContract({
    ...{ address: contract, abi: erc721ProductAbi, functionName: "transferOwnership", args: [next] },
  } as never);
  await node.waitForTransactionReceipt({ hash });
  const minted = await client.json("/mints/customizable", {
    ...{ chain, contract_address: contract, metadata_uri: uri, mint_to_address: holder, token_id: 1 },
  });
  expect(minted.body).toMatchObject({ response: "OK" });
  await wait("the minted token", async () => (await client.get(`/nfts/${contract}/1?chain=${chain}`)).status === 200);
  expect(await creatorOf(contract, "1", holder)).toEqual(everywhere(owner.account.address.toLowerCase()));
});

test("an easy mint has the wallet that sent it as creator: its contract belongs to the service", async () => {
  const holder = randomAddress();
  const minted = await client.json("/mints/easy/urls", {
    ...{ chain, name: "One", description: "", file_url: "ipfs://x", mint_to_address: holder },
  });
  expect(minted.body).toMatchObject({ response: "OK" });
  const { body } = await client.until(
    `/mints/${minted.body["transaction_hash"]}?chain=${chain}`,
    (answer) => typeof answer.body["token_id"] === "string",
  );
  const contract = String(minted.body["contract_address"]).toLowerCase();
  expect(await creatorOf(contract, String(body["token_id"]), holder)).toEqual(everywhere(relayer));
});
