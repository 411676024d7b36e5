import hre from "hardhat";
import { type Address, getContract, type Hex, parseEventLogs, keccak256 as viemKeccak } from "viem";
import { collectionAbi, collectionBytecode } from "../../contracts/abi/collection.ts";
import { collectionFactoryAbi, collectionFactoryBytecode } from "../../contracts/abi/collection-factory.ts";
import { type DeploymentConfig, encodeInitData, type RuntimeConfig } from "../../contracts/abi/config.ts";

export const never = 2n ** 256n - 1n;
export const adminRole = viemKeccak(new TextEncoder().encode("ADMIN_ROLE"));
export const defaultAdminRole: Hex = `0x${"00".repeat(32)}`;
export const priceWei = 10n ** 16n;
export const presalePriceWei = 5n * 10n ** 15n;

/** A fresh in-process chain with the factory and its accounts by their part in the story. */
export async function chain() {
  const connection = await hre.network.create({ network: "edr" });
  const { viem } = connection;
  const client = await viem.getPublicClient();
  const wallets = await viem.getWalletClients();
  const wallet = (index: number) => {
    const found = wallets[index];
    if (!found) throw new Error(`no account ${index}`);
    return found;
  };
  const [admin, relayer, owner, treasury, royalties] = [wallet(0), wallet(1), wallet(2), wallet(3), wallet(4)];
  const deployed = async (hash: Hex): Promise<Address> => {
    const { contractAddress } = await client.waitForTransactionReceipt({ hash });
    if (!contractAddress) throw new Error("nothing was deployed");
    return contractAddress;
  };
  const factoryHash = await admin.deployContract({
    abi: collectionFactoryAbi,
    bytecode: collectionFactoryBytecode,
    args: [admin.account.address, relayer.account.address],
    gas: 16_000_000n,
  });
  const factory = await deployed(factoryHash);
  const template = await client.readContract({ abi: collectionFactoryAbi, address: factory, functionName: "template" });

  const deploymentConfig = (changes: Partial<DeploymentConfig> = {}): DeploymentConfig => ({
    name: "Lighthouse Postcards",
    symbol: "LHP",
    owner: owner.account.address,
    maxSupply: 100n,
    reservedSupply: 10n,
    tokensPerMint: 5n,
    treasuryAddress: treasury.account.address,
    ...changes,
  });
  const runtimeConfig = (changes: Partial<RuntimeConfig> = {}): RuntimeConfig => ({
    baseURI: "",
    metadataUpdatable: true,
    publicMintPrice: priceWei,
    publicMintPriceFrozen: true,
    presaleMintPrice: presalePriceWei,
    presaleMintPriceFrozen: true,
    publicMintStart: 1n,
    presaleMintStart: 1n,
    prerevealTokenURI: "ipfs://prereveal",
    presaleMerkleRoot: `0x${"00".repeat(32)}`,
    royaltiesBps: 500n,
    royaltiesAddress: royalties.account.address,
    ...changes,
  });

  /** Deploys a clone the way the relayer does and returns its address, read from the event. */
  async function deployClone(config: DeploymentConfig, runtime: RuntimeConfig, serviceAdmin = true): Promise<Address> {
    intents += 1;
    const intentId: Hex = `0x${intents.toString(16).padStart(64, "0")}`;
    const hash = await relayer.writeContract({
      abi: collectionFactoryAbi,
      address: factory,
      functionName: "deploy",
      args: [intentId, config.owner, encodeInitData(config, runtime, serviceAdmin)],
    });
    const receipt = await client.waitForTransactionReceipt({ hash });
    const [log] = parseEventLogs({ abi: collectionFactoryAbi, eventName: "CollectionDeployed", logs: receipt.logs });
    if (!log) throw new Error("no CollectionDeployed event");
    return log.args.collection;
  }
  let intents = 0;

  async function deployStandalone(config: DeploymentConfig, runtime: RuntimeConfig): Promise<Address> {
    const args = [config, runtime] as const;
    return deployed(await owner.deployContract({ abi: collectionAbi, bytecode: collectionBytecode, args }));
  }

  /** The typed contract, spoken to with the wallet of `index` (0 factory admin, 1 relayer, 2 owner, 3 treasury). */
  const collection = (address: Address, index = 2) =>
    getContract({ abi: collectionAbi, address, client: { public: client, wallet: wallet(index) } });
  return {
    connection,
    client,
    wallet,
    admin,
    relayer,
    owner,
    treasury,
    royalties,
    factory,
    template,
    deploymentConfig,
    runtimeConfig,
    deployClone,
    deployStandalone,
    collection,
  };
}
