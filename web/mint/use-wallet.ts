import { useEffect, useState } from "preact/hooks";
import { isRejection, localWallet, type Provider, type Wallet, watchWallets } from "../shared/wallets.ts";
import type { Sale } from "./sale.ts";
import type { PairingPanel } from "./wallet-connect/pairing-panel.tsx";
import { hasSession } from "./wallet-connect/remembered.ts";

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
  /** Shows how a wallet elsewhere connects (WalletConnect), while the visitor is doing that. */
  pairing: typeof PairingPanel | null;
  pair(): Promise<void>;
  endPairing(): void;
}

const chainIdOf = async (provider: Provider) => Number(await provider.request({ method: "eth_chainId" }));

/** This browser's wallets, the connected one, and its network. */
export function useWallet(sale: Sale | null): WalletState {
  const [found, setFound] = useState<readonly Wallet[]>([]);
  const [connected, setConnected] = useState<Connected | null>(null);
  const [trouble, setTrouble] = useState<string | null>(null);
  useEffect(
    () => watchWallets((wallet) => setFound((known) => [...known.filter(({ id }) => id !== wallet.id), wallet])),
    [],
  );
  const [pairing, setPairing] = useState<typeof PairingPanel | null>(null);
  const { id = 0, name = "", coin = "", local = false, wallet_rpc_url = null } = sale?.chain ?? {};
  const wallets = local ? [...found, localWallet({ id, name })] : found;
  const provider = connected?.wallet.provider;
  const isSession = connected?.wallet.end !== undefined;
  useEffect(() => {
    if (!provider?.on) return;
    const accounts = (list: string[]) =>
      setConnected((before) => (before && list[0] ? { ...before, account: list[0] as `0x${string}` } : null));
    const chain = (chainId: string) => setConnected((before) => before && { ...before, chainId: Number(chainId) });
    const ended = () => {
      setConnected(null);
      setTrouble("Your wallet ended the connection.");
    };
    provider.on("accountsChanged", accounts);
    provider.on("chainChanged", chain);
    // An extension emits this whenever its node is away, and recovers later.
    if (isSession) provider.on("disconnect", ended);
    return () => {
      provider.removeListener?.("accountsChanged", accounts);
      provider.removeListener?.("chainChanged", chain);
      provider.removeListener?.("disconnect", ended);
    };
  }, [provider, isSession]);
  const canPair = !!sale?.walletConnect;
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs once, when the sale is known
  useEffect(() => {
    if (canPair && hasSession()) void pair();
  }, [canPair]);

  async function pair(): Promise<void> {
    setTrouble(null);
    try {
      const { PairingPanel } = await import("./wallet-connect/pairing-panel.tsx");
      setPairing(() => PairingPanel);
    } catch {
      setTrouble("WalletConnect did not load. Try again.");
    }
  }

  async function connect(wallet: Wallet): Promise<void> {
    setTrouble(null);
    setPairing(null);
    try {
      const [account] = (await wallet.provider.request({ method: "eth_requestAccounts" })) as `0x${string}`[];
      if (!account) {
        void wallet.end?.().catch(() => undefined);
        return setTrouble("This wallet shows no account.");
      }
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
  /** A wallet that does not know the network is asked to add it, which also makes wallets switch to it. */
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

  function disconnect(): void {
    // A wallet that is offline gets this later.
    void connected?.wallet.end?.().catch(() => undefined);
    setConnected(null);
  }
  const endPairing = () => setPairing(null);
  return { wallets, connected, trouble, connect, disconnect, switchChain, pairing, pair, endPairing };
}
