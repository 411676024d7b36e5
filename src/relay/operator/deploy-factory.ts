import { type Address, createWalletClient, custom, encodeDeployData, formatEther } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { collectionFactoryAbi, collectionFactoryBytecode } from "../../../contracts/abi/collection-factory.ts";
import type { Chain } from "../../chains.ts";
import { createRpcClients } from "../../rpc/clients.ts";
import type { Logger } from "../../telemetry/log.ts";
import { freshFees } from "../chain/fees.ts";

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
  if (!chain.relayerKey)
    throw new Error(
      `RELAYER_KEY_${chain.name.toUpperCase()}: missing; set the private key of a funded wallet, which pays for the factory (also ` +
        "where a signer has it: to this command alone, and no SIGNER_URL)",
    );
  const account = privateKeyToAccount(chain.relayerKey);
  const client = createRpcClients()(chain);
  const chainId = await client.getChainId();
  if (chainId !== chain.id)
    throw new Error(
      `the node of ${chain.name} serves chain ${chainId}, not ${chain.id}: correct RPC_URL_${chain.name.toUpperCase()} or CHAIN_ID_${chain.name.toUpperCase()}`,
    );
  const history = await client.getFeeHistory({ blockCount: 10, rewardPercentiles: [20] });
  const rewards = (history.reward ?? []).flatMap((block) => block.slice(0, 1));
  const fees = freshFees(chain, { baseFeePerGas: history.baseFeePerGas, rewards });
  const args = [account.address, account.address] as const;
  const creation = { abi: collectionFactoryAbi, bytecode: collectionFactoryBytecode, args };
  // Without fees: a node refuses the estimate of an empty wallet otherwise, in words of its own.
  const gas = await client.estimateGas({ account, data: encodeDeployData(creation) });
  const balance = await client.getBalance({ address: account.address });
  const needed = gas * fees.maxFeePerGas;
  if (balance < needed)
    throw new Error(
      `the wallet ${account.address} holds ${formatEther(balance)} on ${chain.name}, and the factory takes up to ` +
        `${formatEther(needed)}: send it at least ${formatEther(roundUp(needed))}, or name a funded wallet in ` +
        `RELAYER_KEY_${chain.name.toUpperCase()}`,
    );
  const wallet = createWalletClient({ account, transport: custom(client) });
  const hash = await wallet.deployContract({
    ...creation,
    chain: null,
    gas,
    ...fees,
  });
  log.info({ chain: chain.name, hash }, "factory sent");
  const receipt = await client.waitForTransactionReceipt({ hash, timeout: 600_000 });
  if (receipt.status !== "success" || !receipt.contractAddress)
    throw new Error(`the factory's transaction ${hash} reverted`);
  const address = receipt.contractAddress.toLowerCase() as Address;
  log.info({ chain: chain.name, factory: address, block: receipt.blockNumber }, "factory deployed");
  return { address, block: receipt.blockNumber };
}

/** The next amount in wei with one leading digit: what a person is asked to send. */
function roundUp(wei: bigint): bigint {
  const unit = 10n ** BigInt(String(wei).length - 1);
  return ((wei + unit - 1n) / unit) * unit;
}
