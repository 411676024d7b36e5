import { type Address, createTestClient, type Hex, http, parseEventLogs, publicActions, walletActions } from "viem";
import { privateKeyToAddress } from "viem/accounts";
import { productOperatorAbi, productOperatorBytecode } from "../../contracts/abi/product-operator.ts";
import { easyIntent } from "../../schema/nft-events.ts";

export interface TestOperator {
  /** Lower case. */
  address: Address;
  block: bigint;
  /** An account of the node: its transactions take none of the relay's nonces. */
  admin: Address;
  /** The contract of easy mints. Lower case. */
  easyContract: Address;
}

/** The operator of product contracts, with every wallet of `keys` as a relayer, and the contract of easy mints. */
export async function deployTestOperator(nodeUrl: string, keys: readonly Hex[]): Promise<TestOperator> {
  const client = createTestClient({ mode: "anvil", transport: http(nodeUrl), pollingInterval: 50 })
    .extend(publicActions)
    .extend(walletActions);
  const [admin] = await client.getAddresses();
  if (!admin) throw new Error("a node with accounts is wanted");
  const send = { account: admin, chain: null } as const;
  const abi = productOperatorAbi;
  const made = await client.deployContract({ ...send, abi, bytecode: productOperatorBytecode, args: [admin, admin] });
  const { contractAddress: address, blockNumber: block } = await client.waitForTransactionReceipt({ hash: made });
  if (!address) throw new Error("the operator was not made");
  const role = await client.readContract({ address, abi, functionName: "RELAYER_ROLE" });
  for (const wallet of keys.map((key) => privateKeyToAddress(key))) {
    const hash = await client.writeContract({ ...send, address, abi, functionName: "grantRole", args: [role, wallet] });
    await client.waitForTransactionReceipt({ hash });
  }
  const hash = await client.writeContract({
    ...{ ...send, address, abi, functionName: "deployERC721" },
    args: [
      easyIntent,
      { name: "Easy", symbol: "EZ", owner: admin, tokensBurnable: false },
      {
        ...{ baseURI: "", metadataUpdatable: false, tokensTransferable: false },
        ...{ royaltiesBps: 0n, royaltiesAddress: admin },
      },
      [],
    ],
  });
  const { logs } = await client.waitForTransactionReceipt({ hash });
  const [deployed] = parseEventLogs({ abi, eventName: "ProductDeployed", logs });
  if (!deployed) throw new Error("the contract of easy mints was not made");
  const lower = (text: Address) => text.toLowerCase() as Address;
  return { address: lower(address), block, admin, easyContract: lower(deployed.args.product) };
}
