import { useEffect, useState } from "preact/hooks";
import { isRejection, localWallet, type Provider, type Wallet, watchWallets } from "../shared/wallets.ts";
import type { Sale } from "./sale.ts";

export interface Connected {
  wallet: Wallet;
  account: `0x${string}`;
  chainId: number;
}

export interface WalletState {
  wallets: readonly Wallet[];
  connected: Connected | null;
  trouble: string | null;
  connect(wallet: Wallet): Promise<void>;
  disconnect(): void;
  switchChain(): Promise<void>;
}

const chainIdOf = async (provider: Provider) => Number(await provider.request({ method: "eth_chainId" }));

/** The wallets of this browser, the connected one, and the network it is on. */
export function useWallet(sale: Sale | null): WalletState {
  const [found, setFound] = useState<readonly Wallet[]>([]);
  const [connected, setConnected] = useState<Connected | null>(null);
  const [trouble, setTrouble] = useState<string | null>(null);
  useEffect(
    () => watchWallets((wallet) => setFound((known) => [...known.filter(({ id }) => id !== wallet.id), wallet])),
    [],
  );
  const { id = 0, name = "", coin = "", local = false, wallet_rpc_url = null } = sale?.chain ?? {};
  const wallets = local ? [...found, localWallet({ id, name })] : found;
  const provider = connected?.wallet.provider;
  useEffect(() => {
    if (!provider?.on) return;
    const accounts = (list: string[]) =>
      setConnected((before) => (before && list[0] ? { ...before, account: list[0] as `0x${string}` } : null));
    const chain = (chainId: string) => setConnected((before) => before && { ...before, chainId: Number(chainId) });
    provider.on("accountsChanged", accounts);
    provider.on("chainChanged", chain);
    return () => {
      provider.removeListener?.("accountsChanged", accounts);
      provider.removeListener?.("chainChanged", chain);
    };
  }, [provider]);

  async function connect(wallet: Wallet): Promise<void> {
    setTrouble(null);
    try {
      const [account] = (await wallet.provider.request({ method: "eth_requestAccounts" })) as `0x${string}`[];
      if (!account) return setTrouble("This wallet shows no account.");
      setConnected({ wallet, account, chainId: await chainIdOf(wallet.provider) });
    } catch (error) {
      setTrouble(isRejection(error) ? "You declined the connection in your wallet." : "The wallet did not connect.");
    }
  }

  async function switchChain(): Promise<void> {
    if (!connected) return;
    setTrouble(null);
    const { provider } = connected.wallet;
    try {
      await switchOrAdd(provider);
      setConnected({ ...connected, chainId: await chainIdOf(provider) });
    } catch (error) {
      setTrouble(
        isRejection(error)
          ? "You declined the change of network in your wallet."
          : `Your wallet does not know this network. Add ${name} (chain id ${id}) in its settings, then try again.`,
      );
    }
  }
  /** A wallet that does not know the network is asked to add it, which makes wallets change to it too. */
  async function switchOrAdd(provider: Provider): Promise<void> {
    const chainId = `0x${id.toString(16)}`;
    try {
      await provider.request({ method: "wallet_switchEthereumChain", params: [{ chainId }] });
    } catch (error) {
      if (isRejection(error) || wallet_rpc_url === null) throw error;
      const nativeCurrency = { name: coin, symbol: coin, decimals: 18 };
      const network = {
        chainId,
        chainName: local ? `${name} (local)` : name,
        rpcUrls: [wallet_rpc_url],
        nativeCurrency,
      };
      await provider.request({ method: "wallet_addEthereumChain", params: [network] });
      if ((await chainIdOf(provider)) !== id)
        await provider.request({ method: "wallet_switchEthereumChain", params: [{ chainId }] });
    }
  }
  return { wallets, connected, trouble, connect, disconnect: () => setConnected(null), switchChain };
}
