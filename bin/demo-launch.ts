import pg from "pg";
import { type Address, formatEther, getContract, type Hex, type PublicClient, parseEther } from "viem";
import { collectionAbi } from "../contracts/abi/collection.ts";
import type { ReadyInfo } from "../src/embedded/ready-info.ts";
import { DemoClient } from "./demo-client.ts";
import { drawImage } from "./demo-images.ts";
import { step } from "./demo-step.ts";
import { connect, type Wallet } from "./demo-wallets.ts";

const supply = 10;
const chain = "goerli";

interface Nft {
  metadata_url: string | null;
  metadata: { name?: string } | null;
  owner: string | null;
}

/** A typical launch over public interfaces only. @returns the address. @throws Error at the first unexpected result. */
export async function launchCollection(ready: ReadyInfo): Promise<string> {
  if (ready.rpcUrl === null || ready.chainId === null) throw new Error("the demo needs a local chain");
  const client = new DemoClient(ready);
  const { node, createWallet } = connect(ready.rpcUrl, ready.chainId);
  const [creator, fan, visitor, treasury] = await Promise.all(Array.from({ length: 4 }, createWallet));
  if (!creator || !fan || !visitor || !treasury) throw new Error("no wallets");

  const images = await step(
    "ten images to IPFS",
    () => uploadImages(client),
    (urls) => [urls[0] ?? "", `… ${urls.length} in all`],
  );
  const folder = await step(
    "metadata folder to IPFS",
    () => uploadFolder(client, images),
    (uri) => [uri],
  );
  const teaser = await step(
    "placeholder to IPFS",
    () => uploadTeaser(client, images[0] ?? ""),
    (uri) => [uri],
  );

  const hash = await step(
    "deploy: accepted, signed, stored, sent",
    () => deploy(client, { creator, fan, treasury }, teaser),
    (value) => [value],
  );
  const address = await step(
    "contract address by that hash",
    async () =>
      (await client.restUntil<{ contract_address: Address }>(`/contracts/${hash}?chain=${chain}`)).contract_address,
    (value) => [value],
  );
  const contract = (wallet: Wallet) =>
    getContract({ address, abi: collectionAbi, client: { public: node as PublicClient, wallet } });
  const mined = async (sent: Promise<Hex>) => {
    const receipt = await node.waitForTransactionReceipt({ hash: await sent });
    if (receipt.status !== "success") throw new Error(`transaction ${receipt.transactionHash} was reverted`);
    return receipt;
  };

  await step(
    "presale: one wallet mints two with its Merkle proof",
    async () => {
      const proof = await eligibility(client, address, fan.account.address);
      await mined(contract(fan).write.presaleMint([2n, proof], { value: parseEther("0.01") }));
      return proof;
    },
    (proof) => [`${fan.account.address}, proof of ${proof.length} hashes`],
  );
  await step(
    "public sale: another wallet mints three",
    () => mined(contract(visitor).write.mint([3n], { value: parseEther("0.03") })),
    () => [visitor.account.address],
  );
  const last = `/nfts/${address}/4?chain=${chain}`;
  await step(
    "before the reveal",
    () => client.restUntil<{ nft: Nft }>(last, ({ nft }) => nft.metadata !== null),
    ({ nft }) => [`token 4: ${nft.metadata_url} → ${JSON.stringify(nft.metadata?.name)}`],
  );
  await step(
    "reveal, by the creator's wallet",
    async () => {
      const { runtimeConfig } = await contract(creator).read.getInfo();
      await mined(contract(creator).write.updateConfig([{ ...runtimeConfig, baseURI: folder }]));
    },
    () => [folder],
  );

  await step(
    "the same NFT through REST, GraphQL and SQL",
    async () => {
      const revealed = ({ nft }: { nft: Nft }) => nft.metadata_url === `${folder}4` && nft.metadata !== null;
      const { nft } = await client.restUntil<{ nft: Nft }>(last, revealed);
      const rows = [
        describe("REST", nft.owner, nft.metadata?.name),
        await readGraphQL(client, address),
        await readSql(ready, address),
      ];
      const [, ...owners] = rows.map((row) => row.slice(8));
      if (owners.some((row) => row !== rows[0]?.slice(8))) throw new Error(`the APIs disagree:\n${rows.join("\n")}`);
      return rows;
    },
    (rows) => rows,
  );
  await step(
    "all tokens of both wallets",
    () => Promise.all([fan, visitor].map((wallet) => listOwned(client, wallet.account.address))),
    (lists) => lists.flat(),
  );
  await step(
    "withdrawal to the treasury",
    async () => {
      const before = await node.getBalance({ address: treasury.account.address });
      await mined(contract(creator).write.withdrawFees());
      return (await node.getBalance({ address: treasury.account.address })) - before;
    },
    (gain) => [`treasury ${treasury.account.address} received ${formatEther(gain)} ETH`],
  );
  return address;
}

async function uploadImages(client: DemoClient): Promise<string[]> {
  const urls: string[] = [];
  for (let index = 0; index < supply; index += 1) {
    const form = new FormData();
    form.append("file", new Blob([new Uint8Array(drawImage(index))], { type: "image/png" }), `${index}.png`);
    const { ipfs_url } = await client.rest<{ ipfs_url: string }>("/files", { method: "POST", body: form });
    urls.push(ipfs_url);
  }
  return urls;
}

async function uploadFolder(client: DemoClient, images: readonly string[]): Promise<string> {
  const form = new FormData();
  for (const [index, image] of images.entries()) {
    const document = {
      name: `Yard #${index}`,
      description: "One of ten.",
      image: image.replace("https://ipfs.io/ipfs/", "ipfs://"),
      attributes: [{ trait_type: "Parity", value: index % 2 === 0 ? "even" : "odd" }],
    };
    form.append("metadata_files", new Blob([JSON.stringify(document)], { type: "application/json" }), `${index}.json`);
  }
  const answer = await client.rest<{ metadata_directory_ipfs_uri: string }>("/metadata/directory", {
    method: "POST",
    body: form,
  });
  return answer.metadata_directory_ipfs_uri;
}

async function uploadTeaser(client: DemoClient, image: string): Promise<string> {
  const body = { name: "Not revealed yet", description: "Come back after the sale.", file_url: image };
  return (await client.rest<{ metadata_uri: string }>("/metadata", { method: "POST", body })).metadata_uri;
}

async function deploy(
  client: DemoClient,
  { creator, fan, treasury }: Record<"creator" | "fan" | "treasury", Wallet>,
  teaser: string,
): Promise<string> {
  const ago = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString();
  const body = {
    chain,
    name: "Yard",
    symbol: "YARD",
    max_supply: supply,
    mint_price: 0.01,
    presale_mint_price: 0.005,
    tokens_per_mint: 5,
    royalties_share: 500,
    royalties_address: treasury.account.address,
    owner_address: creator.account.address,
    treasury_address: treasury.account.address,
    presale_mint_start: ago(7200),
    public_mint_start: ago(3600),
    metadata_updatable: true,
    base_uri: "",
    prereveal_token_uri: teaser,
    presale_whitelisted_addresses: [fan.account.address, creator.account.address, treasury.account.address],
  };
  const answer = await client.rest<{ transaction_hash: string }>("/contracts/collections", { method: "POST", body });
  return answer.transaction_hash;
}

async function eligibility(client: DemoClient, address: string, wallet: string): Promise<Hex[]> {
  const query = `query ($chain: ChainName!, $contract: Address!, $wallet: Address!) {
    eligibility(chain: $chain, collection: $contract, wallet: $wallet) { eligible reason proof }
  }`;
  const { eligibility } = await client.graphql<{ eligibility: { eligible: boolean; reason: string; proof: Hex[] } }>(
    query,
    {
      chain,
      contract: address,
      wallet,
    },
  );
  if (!eligibility.eligible) throw new Error(`${wallet} may not mint in the presale: ${eligibility.reason}`);
  return eligibility.proof;
}

/** Waits until each token has been read after the reveal, which takes a moment longer than for the first one. */
async function listOwned(client: DemoClient, wallet: string): Promise<string[]> {
  const path = `/accounts/${wallet}?chain=${chain}&include=metadata`;
  const { nfts } = await client.restUntil<{ nfts: { token_id: string; name: string | null }[] }>(path, (page) =>
    page.nfts.every(({ name }) => name?.startsWith("Yard #")),
  );
  return nfts.map((nft) => `${wallet} holds ${nft.token_id}: ${nft.name}`);
}

async function readGraphQL(client: DemoClient, address: string): Promise<string> {
  const query = `query ($chain: ChainName!, $contract: Address!, $tokenId: TokenId!) {
    nft(chain: $chain, contract: $contract, tokenId: $tokenId) { owner name }
  }`;
  const { nft } = await client.graphql<{ nft: { owner: string; name: string } }>(query, {
    chain,
    contract: address,
    tokenId: "4",
  });
  return describe("GraphQL", nft.owner, nft.name);
}

/** The query that an analyst would type into psql. */
async function readSql({ databaseUrl, chainId }: ReadyInfo, address: string): Promise<string> {
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  try {
    const { rows } = await database.query<{ owner: string; name: string }>(
      `SELECT '0x' || encode(t.owner, 'hex') AS owner, m.name
         FROM nft.tokens t
         LEFT JOIN service.token_metadata m USING (chain_id, contract, token_id)
        WHERE t.chain_id = $1 AND t.contract = decode($2, 'hex') AND t.token_id = 4`,
      [chainId, address.slice(2)],
    );
    return describe("SQL", rows[0]?.owner, rows[0]?.name);
  } finally {
    await database.end();
  }
}

function describe(api: string, owner: string | null | undefined, name: string | undefined): string {
  return `${api.padEnd(8)}${name}, held by ${owner}`;
}
