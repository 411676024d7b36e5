import {
  type Account,
  type Chain,
  createTestClient,
  createWalletClient,
  defineChain,
  http,
  parseEther,
  publicActions,
  type Transport,
  type WalletClient,
  walletActions,
} from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";

export type Wallet = WalletClient<Transport, Chain, Account>;

/** A public client for the chain, and a function that makes funded wallets. */
export function connect(rpcUrl: string, chainId: number) {
  const chain = defineChain({
    id: chainId,
    name: "local",
    nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
    rpcUrls: { default: { http: [rpcUrl] } },
  });
  const node = createTestClient({ mode: "hardhat", chain, transport: http(rpcUrl), pollingInterval: 100 })
    .extend(publicActions)
    .extend(walletActions);
  const createWallet = async (): Promise<Wallet> => {
    const account = privateKeyToAccount(generatePrivateKey());
    const [rich] = await node.getAddresses();
    if (!rich) throw new Error("the node has no funded account");
    const hash = await node.sendTransaction({ account: rich, to: account.address, value: parseEther("10") });
    await node.waitForTransactionReceipt({ hash });
    return createWalletClient({ account, chain, transport: http(rpcUrl) });
  };
  return { node, createWallet };
}
