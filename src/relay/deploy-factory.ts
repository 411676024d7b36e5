import { type Address, createWalletClient, custom } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { collectionFactoryAbi, collectionFactoryBytecode } from "../../contracts/abi/collection-factory.ts";
import type { Chain } from "../chains.ts";
import type { Logger } from "../log.ts";
import { createRpcClients } from "../rpc/clients.ts";
import { freshFees } from "./fees.ts";

export interface DeployedFactory {
  /** Lower case. */
  address: Address;
  /** Where it was created: no collection of it is older. */
  block: bigint;
}

/**
 * Deploys the factory, and with it the template, from the chain's relayer wallet, which becomes its
 * admin, its only relayer and the service admin of collections. Waits for the receipt.
 *
 * Takes the wallet's next nonce from the node: call it before the service deploys with this wallet, or
 * with the service stopped.
 *
 * @throws Error when the chain has no relayer key, serves another id, or the transaction reverts.
 */
export async function deployFactory(chain: Chain, log: Logger): Promise<DeployedFactory> {
  if (!chain.relayerKey) throw new Error(`RELAYER_KEY_${chain.name.toUpperCase()}: missing; it pays for the factory`);
  const account = privateKeyToAccount(chain.relayerKey);
  const client = createRpcClients()(chain);
  const chainId = await client.getChainId();
  if (chainId !== chain.id) throw new Error(`the node of ${chain.name} serves chain ${chainId}, not ${chain.id}`);
  const history = await client.getFeeHistory({ blockCount: 10, rewardPercentiles: [20] });
  const rewards = (history.reward ?? []).flatMap((block) => block.slice(0, 1));
  const wallet = createWalletClient({ account, transport: custom(client) });
  const hash = await wallet.deployContract({
    abi: collectionFactoryAbi,
    bytecode: collectionFactoryBytecode,
    args: [account.address, account.address],
    chain: null,
    ...freshFees(chain, { baseFeePerGas: history.baseFeePerGas, rewards }),
  });
  log.info({ chain: chain.name, hash }, "factory sent");
  const receipt = await client.waitForTransactionReceipt({ hash, timeout: 600_000 });
  if (receipt.status !== "success" || !receipt.contractAddress)
    throw new Error(`the factory's transaction ${hash} reverted`);
  const address = receipt.contractAddress.toLowerCase() as Address;
  log.info({ chain: chain.name, factory: address, block: receipt.blockNumber }, "factory deployed");
  return { address, block: receipt.blockNumber };
}
