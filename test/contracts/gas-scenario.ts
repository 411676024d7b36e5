import hre from "hardhat";
import {
  type Abi,
  type Address,
  encodeDeployData,
  encodeFunctionData,
  getCreateAddress,
  type Hex,
  keccak256,
  parseEventLogs,
  toHex,
} from "viem";
import { collectionAbi, collectionBytecode } from "../../contracts/abi/collection.ts";
import { collectionFactoryAbi, collectionFactoryBytecode } from "../../contracts/abi/collection-factory.ts";
import { type DeploymentConfig, encodeInitData, type RuntimeConfig } from "../../contracts/abi/config.ts";
import { allowlist } from "./allowlist-tree.ts";

/** Gas used by one transaction each; every address, salt and amount is fixed, so that the figures are exact. */
export type GasReport = Record<string, number>;

const account = (name: string): Address => `0x${keccak256(toHex(`gas ${name}`)).slice(-40)}`;
export const people = {
  admin: account("admin"),
  relayer: account("relayer"),
  owner: account("owner"),
  treasury: account("treasury"),
  royalties: account("royalties"),
  buyers: Array.from({ length: 12 }, (_, index) => account(`buyer ${index}`)),
};
export const scenario = {
  priceWei: 10n ** 16n,
  presalePriceWei: 5n * 10n ** 15n,
  start: 1_700_000_000n,
  prereveal: `ipfs://bafybeib${"q".repeat(52)}/prereveal.json`.padEnd(78, "x"),
  reveal: `ipfs://bafybeib${"r".repeat(51)}/`,
  /** Presale lists of 1,000 and 5,000 with the buyers inside. */
  list: (length: number) => allowlist(scenario.addresses(length)),
  addresses: (length: number): Address[] => [
    ...people.buyers,
    ...Array.from({ length: length - 12 }, (_, index) => account(`listed ${index}`)),
  ],
};

function deploymentConfig(): DeploymentConfig {
  return {
    name: "Lighthouse Postcards 23",
    symbol: "LHP23",
    owner: people.owner,
    maxSupply: 5000n,
    reservedSupply: 100n,
    tokensPerMint: 20n,
    treasuryAddress: people.treasury,
  };
}

function runtimeConfig(changes: Partial<RuntimeConfig> = {}): RuntimeConfig {
  return {
    baseURI: "",
    metadataUpdatable: true,
    publicMintPrice: scenario.priceWei,
    publicMintPriceFrozen: true,
    presaleMintPrice: scenario.presalePriceWei,
    presaleMintPriceFrozen: true,
    publicMintStart: scenario.start,
    presaleMintStart: scenario.start,
    prerevealTokenURI: scenario.prereveal,
    presaleMerkleRoot: scenario.list(1000).root,
    royaltiesBps: 500n,
    royaltiesAddress: people.royalties,
    ...changes,
  };
}

/**
 * The same code, with a fixed value for the hash of its sources that solc puts behind each contract. A zero byte of
 * creation code costs 12 gas less than another one (EIP-2028), so a comment in a source would change the figures.
 */
function withoutSourceHash(code: Hex): Hex {
  const ipfsEntry = "64697066735822"; // CBOR: the key "ipfs", then a multihash of 34 bytes
  return code.replace(new RegExp(`${ipfsEntry}1220[0-9a-f]{64}`, "g"), `${ipfsEntry}1220${"ff".repeat(32)}`) as Hex;
}

/** A chain on which any account sends what is asked, at a zero gas price that never fails. */
export async function gasChain(network: "edr" | "osaka") {
  const connection = await hre.network.create({ network });
  const client = await connection.viem.getPublicClient();
  const testClient = await connection.viem.getTestClient();
  const nonces = new Map<Address, number>();
  for (const from of [people.admin, people.relayer, people.owner, ...people.buyers]) {
    await testClient.impersonateAccount({ address: from });
    await testClient.setBalance({ address: from, value: 10n ** 20n });
  }
  await testClient.setBalance({ address: people.treasury, value: 1n });
  /** Sends and returns the receipt of a transaction that must succeed. */
  async function send(from: Address, to: Address | undefined, data: Hex, value = 0n) {
    nonces.set(from, (nonces.get(from) ?? 0) + 1);
    const request = { from, data, value: toHex(value), gas: toHex(16_000_000), ...(to ? { to } : {}) };
    const hash = (await connection.provider.request({ method: "eth_sendTransaction", params: [request] })) as Hex;
    const receipt = await client.waitForTransactionReceipt({ hash });
    if (receipt.status !== "success") throw new Error(`reverted: ${hash}`);
    return receipt;
  }
  async function create(from: Address, abi: Abi, code: Hex, args: readonly unknown[]) {
    const bytecode = withoutSourceHash(code);
    const receipt = await send(from, undefined, encodeDeployData({ abi, bytecode, args } as never));
    if (!receipt.contractAddress) throw new Error("nothing was created");
    return { address: receipt.contractAddress as Address, gas: Number(receipt.gasUsed) };
  }
  return { connection, client, send, create, close: () => connection.close() };
}

/** Measures the operations of contracts.md section 6 on both ways to deploy. */
export async function measureGas(network: "edr" | "osaka"): Promise<{ clone: GasReport; standalone: GasReport }> {
  const chain = await gasChain(network);
  try {
    const factory = await chain.create(people.admin, collectionFactoryAbi as Abi, collectionFactoryBytecode, [
      people.admin,
      people.relayer,
    ]);
    const template = getCreateAddress({ from: factory.address, nonce: 1n });
    let intents = 0;
    const clone = async (runtime = runtimeConfig()) => {
      intents += 1;
      const intentId = keccak256(toHex(`gas intent ${intents}`));
      const args = [intentId, people.owner, encodeInitData(deploymentConfig(), runtime, true)] as const;
      const data = encodeFunctionData({ abi: collectionFactoryAbi, functionName: "deploy", args });
      const receipt = await chain.send(people.relayer, factory.address, data);
      const [log] = parseEventLogs({ abi: collectionFactoryAbi, eventName: "CollectionDeployed", logs: receipt.logs });
      if (!log) throw new Error("no collection");
      return { address: log.args.collection, gas: Number(receipt.gasUsed) };
    };
    const standalone = (runtime = runtimeConfig()) =>
      chain.create(people.owner, collectionAbi as Abi, collectionBytecode, [deploymentConfig(), runtime]);
    const templateGas = { factoryWithTemplate: factory.gas, templateBytes: await codeSize(chain, template) };
    return {
      clone: { ...templateGas, ...(await measureCollection(chain, clone)) },
      standalone: await measureCollection(chain, standalone),
    };
  } finally {
    await chain.close();
  }
}

export type GasChain = Awaited<ReturnType<typeof gasChain>>;

async function codeSize(chain: GasChain, address: Address): Promise<number> {
  return ((await chain.client.getCode({ address }))?.length ?? 2) / 2 - 1;
}

async function measureCollection(
  chain: GasChain,
  deploy: (runtime?: RuntimeConfig) => Promise<{ address: Address; gas: number }>,
): Promise<GasReport> {
  const [b0, b1, b2, b3, b4, b5, b6, b7] = people.buyers;
  const { address, gas } = await deploy();
  const call = async (from: Address | undefined, data: Hex, value = 0n) =>
    Number((await chain.send(from ?? people.owner, address, data, value)).gasUsed);
  const mint = (amount: bigint) => encodeFunctionData({ abi: collectionAbi, functionName: "mint", args: [amount] });
  const transfer = (from: Address | undefined, to: Address | undefined, id: bigint) =>
    encodeFunctionData({
      abi: collectionAbi,
      functionName: "transferFrom",
      args: [from ?? people.owner, to ?? people.owner, id],
    });
  const presale = async (length: number, from: Address | undefined, target: Address) => {
    const args = [1n, scenario.list(length).proof(from ?? people.owner)] as const;
    const data = encodeFunctionData({ abi: collectionAbi, functionName: "presaleMint", args });
    return Number((await chain.send(from ?? people.owner, target, data, scenario.presalePriceWei)).gasUsed);
  };

  // The sale is in progress: somebody minted before.
  await call(b7, mint(1n), scenario.priceWei);
  const report: GasReport = { deploy: gas };
  report["mint1"] = await call(b0, mint(1n), scenario.priceWei);
  report["mint5"] = await call(b1, mint(5n), 5n * scenario.priceWei);
  report["mint20"] = await call(b2, mint(20n), 20n * scenario.priceWei);
  report["presale1k"] = await presale(1000, b3, address);
  // The sender keeps one; the token has an ownership word of its own.
  await call(b0, mint(1n), scenario.priceWei);
  report["transferFirst"] = await call(b0, transfer(b0, b4, 1n), 0n);
  // Batch of buyer 1: ids 2 to 6. Its first token goes, then the following one, to a holder.
  await call(b1, transfer(b1, b4, 2n));
  report["transferNext"] = await call(b1, transfer(b1, b4, 3n));
  report["reserve20"] = await call(
    people.owner,
    encodeFunctionData({ abi: collectionAbi, functionName: "reserveMint", args: [b5 ?? people.owner, 20n] }),
  );
  report["reveal"] = await call(
    people.owner,
    encodeFunctionData({
      abi: collectionAbi,
      functionName: "updateConfig",
      args: [runtimeConfig({ baseURI: scenario.reveal })],
    }),
  );
  report["withdraw"] = await call(
    people.owner,
    encodeFunctionData({ abi: collectionAbi, functionName: "withdrawFees" }),
  );
  const large = await deploy(runtimeConfig({ presaleMerkleRoot: scenario.list(5000).root }));
  await chain.send(b7 ?? people.owner, large.address, mint(1n), scenario.priceWei);
  report["presale5k"] = await presale(5000, b6, large.address);
  return report;
}
