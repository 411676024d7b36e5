import { type Address, createWalletClient, custom, parseEventLogs } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { productOperatorAbi } from "../../../contracts/abi/product-operator.ts";
import { easyIntent } from "../../../schema/nft-events.ts";
import type { Chain } from "../../chains.ts";
import { createRpcClients } from "../../rpc/clients.ts";
import type { Logger } from "../../telemetry/log.ts";
import { type DeployedContract, deployOperator } from "./deploy-factory.ts";

export interface DeployedOperator extends DeployedContract {
  /** The contract of easy mints. Lower case. */
  easyContract: Address;
}

/** What wallets and markets call the contract of easy mints. */
export interface EasyNames {
  name: string;
  symbol: string;
}

/**
 * Deploys the operator of product contracts, and by it the ERC-721 contract that easy mints go to, which the relayer
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
