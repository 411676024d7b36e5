/** The interface of every browser wallet (EIP-1193). */
export interface Provider {
  request(call: { method: string; params?: readonly unknown[] }): Promise<unknown>;
  on?(event: string, listener: (value: never) => void): void;
  removeListener?(event: string, listener: (value: never) => void): void;
}

export interface Wallet {
  id: string;
  name: string;
  provider: Provider;
  /** Whether it belongs to a local chain of this installation: its keys are publicly known. */
  local: boolean;
  /** For a wallet connected by a session: ends the session. Its provider emits `disconnect` when the wallet does. */
  end?(): Promise<void>;
  /** Opens the wallet's app on another device or in another app. */
  appUrl?: string | null;
}

interface Announcement {
  info: { uuid: string; name: string; rdns: string };
  provider: Provider;
}

const announcedWithinMs = 500;

/**
 * Listens for this browser's wallets (EIP-6963), which announce themselves. The built-in browsers of some wallets only
 * set `window.ethereum`.
 *
 * @returns a function that stops listening.
 */
export function watchWallets(found: (wallet: Wallet) => void): () => void {
  let heard = false;
  const hear = (event: Event) => {
    heard = true;
    const { info, provider } = (event as CustomEvent<Announcement>).detail;
    found({ id: info.uuid, name: info.name, provider, local: false });
  };
  const timer = setTimeout(() => {
    const { ethereum } = globalThis as { ethereum?: Provider };
    if (!heard && ethereum) found({ id: "injected", name: "This browser's wallet", provider: ethereum, local: false });
  }, announcedWithinMs);
  addEventListener("eip6963:announceProvider", hear);
  dispatchEvent(new Event("eip6963:requestProvider"));
  return () => {
    clearTimeout(timer);
    removeEventListener("eip6963:announceProvider", hear);
  };
}

/** The test wallet of a local chain: the chain's own node has its keys. */
export function localWallet(chain: { name: string; id: number }): Wallet {
  const provider: Provider = {
    request: async ({ method, params = [] }) => {
      if (method === "eth_requestAccounts") return (await ask("eth_accounts", [])) as string[];
      if (method === "wallet_switchEthereumChain" || method === "wallet_addEthereumChain") return null;
      return await ask(method, params);
    },
  };
  const ask = async (method: string, params: readonly unknown[]): Promise<unknown> => {
    const response = await fetch(`/local-wallet/${chain.name}`, {
      method: "POST",
      body: JSON.stringify({ method, params }),
    });
    const answer = (await response.json()) as { result?: unknown; error?: { message: string; code?: number } };
    if (answer.error) throw Object.assign(new Error(answer.error.message), answer.error);
    return answer.result;
  };
  return { id: `local-${chain.id}`, name: "Test wallet", provider, local: true };
}

/** EIP-1193's code for a refusal by the user. */
export function isRejection(error: unknown): boolean {
  const { code, message = "" } = (error ?? {}) as { code?: unknown; message?: string };
  return code === 4001 || code === "ACTION_REJECTED" || /user (rejected|denied)/i.test(message);
}
