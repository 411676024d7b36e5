import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { CID } from "multiformats/cid";
import pg from "pg";
import { type Address, getAddress, getContract, type Hex, type PublicClient, parseEther } from "viem";
import { beforeAll, expect, test } from "vitest";
import { drawImage } from "../bin/demo-images.ts";
import { connect, type Wallet } from "../bin/demo-wallets.ts";
import { collectionAbi } from "../contracts/abi/collection.ts";
import { Client } from "./setup/client.ts";
import type { Answer } from "./setup/send.ts";
import { leaseStack } from "./setup/shared-stack.ts";
import { patient } from "./setup/wait.ts";

// One launch, step by step, as a creator, a collector and an analyst would do it; each test needs those above it.
const stack = leaseStack();
let client: Client;
let node: ReturnType<typeof connect>["node"];
let owner: Wallet;
let fan: Wallet;
let visitor: Wallet;
let treasury: Wallet;
let folder: string;
let image: string;
let hash: string;
let address: Address;

beforeAll(async () => {
  client = new Client(stack.ready);
  const chain = connect(stack.ready.rpcUrl ?? "", stack.ready.chainId ?? 0);
  node = chain.node;
  [owner, fan, visitor, treasury] = (await Promise.all(Array.from({ length: 4 }, chain.createWallet))) as [
    Wallet,
    Wallet,
    Wallet,
    Wallet,
  ];
});

const contract = (wallet: Wallet) =>
  getContract({ address, abi: collectionAbi, client: { public: node as PublicClient, wallet } });
const mined = async (sent: Promise<Hex>) => {
  const receipt = await node.waitForTransactionReceipt({ hash: await sent });
  expect(receipt.status).toBe("success");
  return receipt;
};

test("a file is stored unchanged under the CID of its bytes", async () => {
  const bytes = new Uint8Array(drawImage(1));
  const { status, body } = await client.form("/files", [["file", new Blob([bytes], { type: "image/png" }), "1.png"]]);
  const digest = createHash("sha256").update(bytes).digest();
  const cid = CID.createV1(0x55, {
    code: 0x12,
    size: 32,
    digest,
    bytes: Buffer.concat([Buffer.from([0x12, 32]), digest]),
  });
  expect(status).toBe(200);
  expect(Object.entries(body)).toEqual([
    ["response", "OK"],
    ["ipfs_url", `https://ipfs.io/ipfs/${cid}`],
    ["file_name", "1.png"],
    ["content_type", "image/png"],
    ["file_size", bytes.length],
    ["file_size_mb", Number((bytes.length / 1_048_576).toFixed(4))],
    ["error", null],
  ]);
  const served = await fetch(`${stack.ready.gateway}/${cid}`);
  expect(served.headers.get("content-type")).toBe("image/png");
  expect(new Uint8Array(await served.arrayBuffer())).toEqual(bytes);
  image = `ipfs://${cid}`;
});

const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");

test("the README's upload answers as the README says", async () => {
  const shown = /```json\n(\{\s*"response"[\s\S]*?\})\n```/.exec(readme)?.[1] ?? "";
  const { body } = await client.form("/files", [["file", new Blob(["hello"], { type: "text/plain" }), "hello.txt"]]);
  expect(JSON.stringify(body)).toBe(JSON.stringify(JSON.parse(shown)));
});

test("a metadata folder resolves under both names of each file", async () => {
  const documents = Array.from({ length: 5 }, (_, index) =>
    JSON.stringify({
      name: `Key #${index}`,
      description: "A key",
      image,
      attributes: [{ trait_type: "Api", value: String(index) }],
    }),
  );
  const { status, body } = await client.form(
    "/metadata/directory",
    documents.map((text, index) => ["metadata_files", new Blob([text], { type: "application/json" }), `${index}.json`]),
  );
  expect(status).toBe(200);
  expect(Object.keys(body)).toEqual([
    "response",
    "metadata_directory_ipfs_uri",
    "metadata_directory_ipfs_url",
    "error",
  ]);
  folder = String(body["metadata_directory_ipfs_uri"]);
  expect(folder).toMatch(/^ipfs:\/\/bafybei\w+\/$/);
  expect(body["metadata_directory_ipfs_url"]).toBe(`https://ipfs.io/ipfs/${folder.slice(7, -1)}`);
  for (const name of ["3", "3.json"]) {
    const served = await fetch(`${stack.ready.gateway}/${folder.slice(7)}${name}`);
    expect(await served.text()).toBe(documents[3]);
  }
});

test("a deployment answers with a hash at once, and the hash leads to the contract the chain has", async () => {
  const body = {
    chain: "goerli",
    name: "Keys",
    symbol: "TSK",
    max_supply: 5,
    mint_price: 0.01,
    presale_mint_price: 0.001,
    tokens_per_mint: 3,
    royalties_share: 500,
    royalties_address: treasury.account.address,
    owner_address: owner.account.address,
    treasury_address: treasury.account.address,
    public_mint_start_date: new Date(Date.now() - 3_600_000).toISOString(),
    presale_mint_start_date: new Date(Date.now() - 7_200_000).toISOString(),
    metadata_updatable: true,
    base_uri: "",
    prereveal_token_uri: image,
    presale_whitelisted_addresses: [fan.account.address, fan.account.address.toLowerCase(), owner.account.address],
  };
  const answer = await client.json("/contracts/collections", body);
  expect(answer.body).toMatchObject({ response: "OK" });
  expect(answer.status).toBe(200);
  hash = String(answer.body["transaction_hash"]);
  const known = Object.entries(answer.body).filter(([name]) => name !== "predicted_address");
  expect(known).toEqual([
    ["response", "OK"],
    ["chain", "goerli"],
    ["transaction_hash", expect.stringMatching(/^0x[0-9a-f]{64}$/)],
    ["transaction_external_url", `https://goerli.etherscan.io/tx/${hash}`],
    ["owner_address", owner.account.address],
    ["name", "Keys"],
    ["symbol", "TSK"],
    ["error", null],
  ]);

  const found = await client.until(`/contracts/${hash}?chain=goerli`, ({ status }) => status === 200);
  expect(Object.keys(found.body)).toEqual(["response", "chain", "contract_address", "transaction_hash", "error"]);
  address = found.body["contract_address"] as Address;
  expect(address).toBe(getAddress(address));
  expect(found.body["transaction_hash"]).toBe(hash);

  // Asked of the chain: our own tables would agree with our own mistake.
  const receipt = await node.getTransactionReceipt({ hash: hash as Hex });
  expect(receipt.logs.map((log) => log.address)).toContain(address.toLowerCase());
  const { deploymentConfig, runtimeConfig } = await contract(owner).read.getInfo();
  expect(deploymentConfig).toEqual({
    name: "Keys",
    symbol: "TSK",
    owner: owner.account.address,
    maxSupply: 5n,
    reservedSupply: 0n,
    tokensPerMint: 3n,
    treasuryAddress: treasury.account.address,
  });
  expect(runtimeConfig).toMatchObject({
    baseURI: "",
    metadataUpdatable: true,
    publicMintPrice: parseEther("0.01"),
    publicMintPriceFrozen: true,
    presaleMintPrice: parseEther("0.001"),
    prerevealTokenURI: image,
    royaltiesBps: 500n,
    royaltiesAddress: treasury.account.address,
  });

  const again = await client.json("/contracts/collections", body);
  expect(again.body["transaction_hash"]).toBe(hash);
});

test("an analyst finds the collection under its name before it has a token", async () => {
  const database = new pg.Client({ connectionString: stack.ready.databaseUrl });
  await database.connect();
  const read = async () => {
    const { rows } = await database.query(
      "SELECT name, symbol, launched_here, token_count::int FROM analytics.collections WHERE contract = $1",
      [address.toLowerCase()],
    );
    return rows;
  };
  try {
    await expect
      .poll(read, { ...patient, interval: 100 })
      .toEqual([{ name: "Keys", symbol: "TSK", launched_here: true, token_count: 0 }]);
  } finally {
    await database.end();
  }
});

test("a wallet of the list mints in the presale with the proof the service gives; others get none", async () => {
  const document = `query ($contract: Address!, $wallet: Address!) {
    eligibility(chain: "goerli", collection: $contract, wallet: $wallet) { eligible reason proof }
  }`;
  const asked = await client.graphql(document, { contract: address, wallet: fan.account.address });
  const { eligibility } = asked.body["data"] as { eligibility: { eligible: boolean; proof: Hex[] } };
  expect(eligibility.eligible).toBe(true);
  await mined(contract(fan).write.presaleMint([2n, eligibility.proof], { value: parseEther("0.002") }));
  const outsider = await client.graphql(document, { contract: address, wallet: visitor.account.address });
  expect(outsider.body["data"]).toMatchObject({ eligibility: { eligible: false, proof: null } });
  await mined(contract(visitor).write.mint([2n], { value: parseEther("0.02") }));
});

const record = {
  name: "Keys",
  symbol: "TSK",
  type: "ERC721",
  metadata: {
    description: null,
    thumbnail_url: null,
    cached_thumbnail_url: null,
    banner_url: null,
    cached_banner_url: null,
    royalty_bps: 500,
  },
};

test("after the reveal every token shows its own metadata", async () => {
  const { runtimeConfig } = await contract(owner).read.getInfo();
  const png = Buffer.from(drawImage(1));
  await mined(contract(owner).write.updateConfig([{ ...runtimeConfig, baseURI: folder }]));
  for (const id of [0, 1, 2, 3]) {
    const answer = await client.until(
      `/nfts/${address}/${id}?chain=goerli`,
      ({ body }) =>
        (body["nft"] as { metadata_url?: string } | undefined)?.metadata_url === `${folder}${id}` &&
        (body["nft"] as { metadata: unknown }).metadata !== null &&
        (body["nft"] as { file_information: unknown }).file_information !== null,
    );
    const holder = (id < 2 ? fan : visitor).account.address.toLowerCase();
    expect(await contract(owner).read.ownerOf([BigInt(id)])).toBe(getAddress(holder));
    expect(Object.keys(answer.body)).toEqual(["response", "nft", "owner", "contract", "error"]);
    expect(Object.entries(answer.body["nft"] as object)).toEqual([
      ["chain", "goerli"],
      ["contract_address", address.toLowerCase()],
      ["token_id", String(id)],
      ["metadata_url", `${folder}${id}`],
      [
        "metadata",
        { name: `Key #${id}`, description: "A key", image, attributes: [{ trait_type: "Api", value: String(id) }] },
      ],
      // What the PNG says of itself, in the first bytes of its header.
      ["file_information", { height: png.readUInt32BE(20), width: png.readUInt32BE(16), file_size: png.length }],
      ["file_url", image],
      ["animation_url", null],
      ["cached_file_url", expect.toSatisfy((value) => value === null || typeof value === "string")],
      ["cached_animation_url", null],
      ["creator_address", holder],
      ["mint_date", expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/)],
      ["updated_date", expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$/)],
      ["rarity", null],
      ["owner", holder],
      ["metadata_status", "FRESH"],
      ["metadata_error", null],
      ["metadata_warnings", []],
    ]);
    expect(answer.body["owner"]).toBe(holder);
    expect(answer.body["contract"]).toEqual(record);
  }
});

test("the lists agree with the chain and with plain SQL", async () => {
  const account = await client.get(
    `/accounts/${fan.account.address}?chain=goerli&include=metadata&include=contract_information`,
  );
  const nfts = account.body["nfts"] as Record<string, unknown>[];
  expect(account.body).toMatchObject({ response: "OK", total: 2, continuation: null, error: null });
  expect(nfts.map((nft) => nft["token_id"])).toEqual(["0", "1"]);
  expect(nfts[1]).toMatchObject({
    name: "Key #1",
    description: "A key",
    contract: record,
    metadata_url: `${folder}1`,
    chain: "goerli",
  });

  const tokens = await client.get(`/nfts/${address}?chain=goerli&page_size=3`);
  expect(tokens.body).toMatchObject({ total: 4, contract: record });
  expect((tokens.body["nfts"] as { token_id: string }[]).map((nft) => nft.token_id)).toEqual(["0", "1", "2"]);
  const rest = await client.get(
    `/nfts/${address}?chain=goerli&page_size=3&continuation=${encodeURIComponent(String(tokens.body["continuation"]))}`,
  );
  expect((rest.body["nfts"] as { token_id: string }[]).map((nft) => nft.token_id)).toEqual(["3"]);
  expect(rest.body["continuation"]).toBeNull();

  const all = await client.get("/nfts?chain=goerli&include=all");
  expect(Object.keys(all.body)).toEqual(["response", "nfts", "continuation", "error"]);
  // The newest first; further down stands what other test files minted on the same stack.
  const newest = (all.body["nfts"] as { contract_address: string; token_id: string }[]).slice(0, 4);
  expect(newest.map((nft) => nft.contract_address)).toEqual(Array(4).fill(address.toLowerCase()));
  expect(newest.map((nft) => nft.token_id)).toEqual(["3", "2", "1", "0"]);

  const database = new pg.Client({ connectionString: stack.ready.databaseUrl });
  await database.connect();
  const { rows } = await database.query<{ token_id: string; owner: string }>(
    `SELECT token_id::text, '0x' || encode(owner, 'hex') AS owner FROM nft.tokens WHERE contract = decode($1, 'hex') ORDER BY token_id`,
    [address.slice(2)],
  );
  await database.end();
  const owners = await Promise.all(rows.map((row) => contract(owner).read.ownerOf([BigInt(row.token_id)])));
  expect(rows.map((row) => getAddress(row.owner))).toEqual(owners);
  expect(rows).toHaveLength(4);
});

test("the same service answers the same over GraphQL", async () => {
  const document = `query ($contract: Address!) {
    nft(chain: "goerli", contract: $contract, tokenId: "3") { tokenId owner name metadataUrl }
  }`;
  const { body } = await client.graphql(document, { contract: address });
  expect(body).toMatchObject({
    data: {
      nft: { tokenId: "3", owner: visitor.account.address.toLowerCase(), name: "Key #3", metadataUrl: `${folder}3` },
    },
  });
});

test("the README's query shows the collection with its tokens and their owners", async () => {
  const document = /```graphql\n([\s\S]*?)```/.exec(readme)?.[1] ?? "";
  const { body } = await client.graphql(document, { contract: address });
  const [collector, other] = [fan, visitor].map(({ account }) => account.address.toLowerCase());
  const tokens = [collector, collector, other, other].map((holder, id) => ({
    tokenId: String(id),
    name: `Key #${id}`,
    owner: holder,
    fileUrl: image,
  }));
  expect(body["data"]).toEqual({
    contract: {
      name: "Keys",
      statistics: { totalSupply: "4", ownerCount: 2 },
      nfts: { nodes: tokens, pageInfo: { hasNextPage: false, endCursor: expect.any(String) } },
    },
  });
});

test("the fees reach the treasury and nobody else", async () => {
  const before = await node.getBalance({ address: treasury.account.address });
  await mined(contract(owner).write.withdrawFees());
  expect((await node.getBalance({ address: treasury.account.address })) - before).toBe(parseEther("0.022"));
  expect(await node.getBalance({ address })).toBe(0n);
});

test("an update of the royalties shows on both APIs", async () => {
  const changed = await client.put("/contracts/collections", {
    chain: "goerli",
    contract_address: address,
    royalties_share: 750,
  });
  expect(changed).toMatchObject({ status: 200, body: { response: "OK" } });
  const shows = ({ body }: Answer) => (body["contract"] as typeof record | undefined)?.metadata.royalty_bps === 750;
  await client.until(`/nfts/${address}/0?chain=goerli`, shows);
  const document = `query ($contract: Address!) { contract(chain: "goerli", address: $contract) { royaltyBps name } }`;
  const { body } = await client.graphql(document, { contract: address });
  expect(body).toMatchObject({ data: { contract: { royaltyBps: 750, name: "Keys" } } });
});
