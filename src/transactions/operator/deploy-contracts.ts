import {
  type Abi,
  type Address,
  createWalletClient,
  custom,
  encodeDeployData,
  formatEther,
  type Hex,
  parseEventLogs,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { collectionFactoryAbi, collectionFactoryBytecode } from "../../../contracts/abi/collection-factory.ts";
import { productOperatorAbi, productOperatorBytecode } from "../../../contracts/abi/product-operator.ts";
import { easyIntent } from "../../../schema/nft-events.ts";
import type { Chain } from "../../chains.ts";
import { createRpcClients } from "../../rpc/clients.ts";
import { openNodes } from "../../rpc/nodes.ts";
import type { Logger } from "../../telemetry/log.ts";
import { freshFees } from "../chain/fees.ts";
import { askMarket, dataFee, isLegacy } from "../chain/market.ts";

interface DeployedContract {
  /** Lower case. */
  address: Address;
  /** The block of its creation: nothing that it created is older. */
  block: bigint;
}

/**
 * Deploys the factory, and with it the template, from the chain's relayer wallet, which becomes its admin, its only
 * relayer and the service admin of collections. Waits for the receipt.
 *
 * Takes the wallet's next nonce from the node: call it before the service deploys with this wallet, or with the service
 * stopped.
 *
 * @throws Error when the chain has no relayer key or another chain id, or the transaction reverts.
 */
export async function deployFactory(chain: Chain, log: Logger): Promise<DeployedContract> {
  return await deployContract(chain, log, "factory", {
    abi: collectionFactoryAbi,
    bytecode: collectionFactoryBytecode,
  });
}

/**
 * Deploys the operator of product contracts, and with it their templates, in the same way as the factory.
 *
 * @throws Error as `deployFactory`.
 */
async function deployOperator(chain: Chain, log: Logger): Promise<DeployedContract> {
  return await deployContract(chain, log, "operator", { abi: productOperatorAbi, bytecode: productOperatorBytecode });
}

async function deployContract(
  chain: Chain,
  log: Logger,
  what: "factory" | "operator",
  code: { abi: Abi; bytecode: Hex },
): Promise<DeployedContract> {
  if (!chain.relayerKey)
    throw new Error(
      `RELAYER_KEY_${chain.name.toUpperCase()}: missing; set the private key of a funded wallet, which pays for the ${what} (also ` +
        "where a signer has it: to this command alone, and no SIGNER_URL)",
    );
  const account = privateKeyToAccount(chain.relayerKey);
  const client = createRpcClients()(chain);
  const chainId = await client.getChainId();
  if (chainId !== chain.id)
    throw new Error(
      `the node of ${chain.name} serves chain ${chainId}, not ${chain.id}: correct RPC_URL_${chain.name.toUpperCase()} or CHAIN_ID_${chain.name.toUpperCase()}`,
    );
  const { market } = await openNodes(chain).first((node) => askMarket(node, chain));
  const fees = freshFees(chain, market);
  const args = [account.address, account.address] as const;
  const creation = { ...code, args };
  // Without fees: otherwise a node refuses the estimate for an empty wallet, with a message of its own.
  const data = encodeDeployData(creation);
  const gas = await client.estimateGas({ account, data });
  const balance = await client.getBalance({ address: account.address });
  const needed = gas * fees.maxFeePerGas + dataFee(market, data);
  if (balance < needed)
    throw new Error(
      `the wallet ${account.address} holds ${formatEther(balance)} on ${chain.name}, and the ${what} takes up to ` +
        `${formatEther(needed)}: send it at least ${formatEther(roundUp(needed))}, or name a funded wallet in ` +
        `RELAYER_KEY_${chain.name.toUpperCase()}`,
    );
  const wallet = createWalletClient({ account, transport: custom(client) });
  const hash = await wallet.deployContract({
    ...creation,
    chain: null,
    gas,
    ...(isLegacy(chain) ? { gasPrice: fees.maxFeePerGas } : fees),
  });
  log.info({ chain: chain.name, hash }, `${what} sent`);
  const receipt = await client.waitForTransactionReceipt({ hash, timeout: 600_000 });
  if (receipt.status !== "success" || !receipt.contractAddress)
    throw new Error(`the ${what}'s transaction ${hash} reverted`);
  const address = receipt.contractAddress.toLowerCase() as Address;
  log.info({ chain: chain.name, [what]: address, block: receipt.blockNumber }, `${what} deployed`);
  return { address, block: receipt.blockNumber };
}

/** Rounds up to one leading digit: the amount in wei that a person is asked to send. */
function roundUp(wei: bigint): bigint {
  const unit = 10n ** BigInt(String(wei).length - 1);
  return ((wei + unit - 1n) / unit) * unit;
}

interface DeployedOperator extends DeployedContract {
  /** The contract of easy mints. Lower case. */
  easyContract: Address;
}

/** The name and symbol that wallets and markets show for the contract of easy mints. */
interface EasyNames {
  name: string;
  symbol: string;
}

/**
 * Deploys the operator of product contracts, and through it the ERC-721 contract of easy mints, which the relayer
 * wallet owns. Takes two nonces from the node, as `deployFactory` takes one.
 *
 * @throws Error as `deployFactory`, or when the contract's transaction reverts.
 */
export async function deployOperatorAndEasy(chain: Chain, names: EasyNames, log: Logger): Promise<DeployedOperator> {
  const operator = await deployOperator(chain, log);
  if (!chain.relayerKey) throw new Error("unreachable: the operator was deployed by this key");
  const account = privateKeyToAccount(chain.relayerKey);
  const client = createRpcClients()(chain);
  const wallet = createWalletClient({ account, transport: custom(client) });
  const hash = await wallet.writeContract({
    address: operator.address,
    abi: productOperatorAbi,
    functionName: "deployERC721",
    args: [
      easyIntent,
      { ...names, owner: account.address, tokensBurnable: false },
      {
        baseURI: "",
        metadataUpdatable: false,
        tokensTransferable: false,
        royaltiesBps: 0n,
        royaltiesAddress: account.address,
      },
      [],
    ],
    chain: null,
  });
  const receipt = await client.waitForTransactionReceipt({ hash, timeout: 600_000 });
  const [made] = parseEventLogs({ abi: productOperatorAbi, eventName: "ProductDeployed", logs: receipt.logs });
  if (receipt.status !== "success" || !made) throw new Error(`the transaction ${hash} of the easy contract reverted`);
  const easyContract = made.args.product.toLowerCase() as Address;
  log.info({ chain: chain.name, easyContract, block: receipt.blockNumber }, "contract of easy mints deployed");
  return { ...operator, easyContract };
}
