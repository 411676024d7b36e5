import type { SignClient } from "@walletconnect/sign-client";
import type { Provider } from "../../shared/wallets.ts";
import { chainReads } from "./chain-reads.ts";

export type Client = Awaited<ReturnType<typeof SignClient.init>>;
export type Session = ReturnType<Client["session"]["get"]>;

/** The chain that the page is about, and the endpoint to read it from. */
export interface Target {
  projectId: string;
  chainId: number;
  rpcUrl: string;
}

/** Methods that wallets are asked to approve; everything else is read from the chain. */
export const walletMethods = ["eth_sendTransaction", "wallet_switchEthereumChain", "wallet_addEthereumChain"];
export const walletEvents = ["accountsChanged", "chainChanged"];

/** How long a request waits for the user; after that the wallet must no longer answer it. */
const expirySeconds = 300;
/** A wallet that switches chains reports that in a separate message, within this time. */
const updateWithinMs = 5_000;

/** The accounts that a wallet approved, by chain, in the wallet's order. */
function accountsOf({ namespaces }: Pick<Session, "namespaces">): Map<number, string[]> {
  const accounts = new Map<number, string[]>();
  for (const text of Object.values(namespaces).flatMap((namespace) => namespace.accounts)) {
    const [, chain, address] = /^eip155:(\d{1,15}):(0x[0-9a-fA-F]{40})$/.exec(text) ?? [];
    if (chain && address) accounts.set(Number(chain), [...(accounts.get(Number(chain)) ?? []), address]);
  }
  return accounts;
}

export const knowsChain = (session: Session, chainId: number) => accountsOf(session).has(chainId);

/** WalletConnect's codes for a refusal by the user; pages expect EIP-1193's. */
const isRefusal = (code: unknown) => typeof code === "number" && code >= 5_000 && code <= 5_003;

/** What the wallet may still do is then unknown. */
const unanswered = "it did not answer within five minutes; see there whether anything was sent before you try again";

export function asProviderError(error: unknown): Error {
  const { code, message = "" } = (error ?? {}) as { code?: unknown; message?: string };
  const text = /^Request expired/.test(message) ? unanswered : message;
  return Object.assign(new Error(text), { code: isRefusal(code) ? 4001 : code });
}

/**
 * An EIP-1193 provider for the wallet of a session. A session has several chains and no current one: as long as it has
 * the target chain, that counts as the wallet's network.
 *
 * @param onEnd is called once, when the wallet ends the session or it expires.
 */
export function sessionProvider(client: Client, topic: string, target: Target, onEnd: () => void): Provider {
  const listeners = new Map<string, Set<(value: never) => void>>();
  const emit = (event: string, value: unknown) => {
    for (const listener of listeners.get(event) ?? []) (listener as (value: unknown) => void)(value);
  };
  const read = chainReads(target.rpcUrl, target.chainId);
  /** The account that the user chose last. */
  let chosen = "";
  const look = () => {
    const all = accountsOf(client.session.get(topic));
    const chainId = all.has(target.chainId) ? target.chainId : ([...all.keys()][0] ?? 0);
    const accounts = (all.get(chainId) ?? []).sort((one, other) => Number(other === chosen) - Number(one === chosen));
    return { chainId, accounts };
  };
  let last = look();

  const compare = () => {
    const before = last;
    last = look();
    if (last.chainId !== before.chainId) emit("chainChanged", `0x${last.chainId.toString(16)}`);
    if (last.accounts.join() !== before.accounts.join()) emit("accountsChanged", last.accounts);
  };
  const onUpdate = (event: { topic: string }) => event.topic === topic && compare();
  const onEvent = (event: { topic: string; params: { event: { name: string; data: unknown } } }) => {
    const { name, data } = event.params.event;
    if (event.topic !== topic || name !== "accountsChanged" || !Array.isArray(data)) return;
    const named = String(data[0]).split(":").at(-1)?.toLowerCase();
    // The wallet would not sign for an account that was not approved.
    chosen = last.accounts.find((account) => account.toLowerCase() === named) ?? chosen;
    compare();
  };
  const onDelete = (event: { topic: string }) => {
    if (event.topic !== topic) return;
    client.off("session_update", onUpdate);
    client.off("session_event", onEvent);
    client.off("session_delete", onDelete);
    client.off("session_expire", onDelete);
    last = { ...last, accounts: [] };
    onEnd();
    emit("disconnect", Object.assign(new Error("The wallet ended the connection."), { code: 4900 }));
  };
  client.on("session_update", onUpdate);
  client.on("session_event", onEvent);
  client.on("session_delete", onDelete);
  client.on("session_expire", onDelete);

  async function askWallet(method: string, params: readonly unknown[]): Promise<unknown> {
    const request = { method, params: [...params] };
    try {
      return await client.request({ topic, chainId: `eip155:${last.chainId}`, request, expiry: expirySeconds });
    } catch (error) {
      throw asProviderError(error);
    }
  }

  /** @throws Error for a wallet that reports the switch but has no account there. */
  async function untilTarget(): Promise<void> {
    for (let waited = 0; last.chainId !== target.chainId; waited += 250) {
      if (waited >= updateWithinMs) throw new Error("the wallet shows no account on this network");
      await new Promise((done) => setTimeout(done, 250));
    }
  }

  return {
    request: async ({ method, params = [] }) => {
      if (method === "eth_requestAccounts" || method === "eth_accounts") return last.accounts;
      if (method === "eth_chainId") return `0x${last.chainId.toString(16)}`;
      if (!walletMethods.includes(method)) return await read(method, params);
      const result = await askWallet(method, params);
      if (method !== "eth_sendTransaction") await untilTarget();
      return result;
    },
    on: (event, listener) => void listeners.set(event, new Set([...(listeners.get(event) ?? []), listener])),
    removeListener: (event, listener) => void listeners.get(event)?.delete(listener),
  };
}
