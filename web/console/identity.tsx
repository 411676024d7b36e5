import { createContext, type ReactNode, use, useCallback, useEffect, useMemo, useState } from "react";
import { createSiweMessage } from "viem/siwe";
import { getAddress } from "viem/utils";
import { keep, readKept } from "../shared/kept.ts";
import type { Wallet } from "../shared/wallets.ts";
import { api, ask, type Identity, setIdentity } from "./api.ts";
import type { InstalledChain } from "./installation.ts";

interface SessionBody {
  account_id: string;
  wallet: string;
  csrf_token: string;
}

interface IdentityState {
  /** Undefined until the server has answered. */
  identity: Identity | null | undefined;
  useKey(key: string): Promise<void>;
  signIn(wallet: Wallet, chain: InstalledChain): Promise<void>;
  signOut(): Promise<void>;
}

const IdentityContext = createContext<IdentityState | null>(null);
const keyName = "mintyard-key";

const ofSession = ({ account_id, wallet, csrf_token }: SessionBody): Identity => ({
  kind: "session",
  csrfToken: csrf_token,
  wallet,
  accountId: account_id,
});

/** This browser's identity: a key that this tab keeps, or a session in a cookie that scripts cannot read. */
export function IdentityProvider({ children }: { children: ReactNode }) {
  const [identity, setState] = useState<Identity | null | undefined>(undefined);
  const become = useCallback((now: Identity | null) => {
    setIdentity(now);
    setState(now);
  }, []);
  useEffect(() => {
    const key = readKept(keyName, "tab");
    if (key) return become({ kind: "key", key });
    ask<{ session: SessionBody | null }>("/auth/session").then(
      ({ session }) => become(session && ofSession(session)),
      () => become(null),
    );
  }, [become]);
  const state = useMemo<IdentityState>(
    () => ({
      identity,
      useKey: async (key) => {
        setIdentity({ kind: "key", key });
        await api.get("/v0/me/settings");
        keep(keyName, key, "tab");
        become({ kind: "key", key });
      },
      signIn: async (wallet, chain) => {
        const [account] = (await wallet.provider.request({ method: "eth_requestAccounts" })) as string[];
        if (!account) throw new Error("This wallet shows no account.");
        const { nonce, statement } = await ask<{ nonce: string; statement: string }>("/auth/nonce", "post", {});
        const address = getAddress(account);
        const message = createSiweMessage({
          ...{ address, chainId: chain.id, domain: location.host, uri: `${location.origin}/console`, version: "1" },
          ...{ statement, nonce, issuedAt: new Date() },
        });
        const bytes = [...new TextEncoder().encode(message)];
        const hex = `0x${bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
        const signature = await wallet.provider.request({ method: "personal_sign", params: [hex, account] });
        become(ofSession(await ask<SessionBody>("/auth/sign-in", "post", { message, signature })));
      },
      signOut: async () => {
        keep(keyName, null, "tab");
        if (identity?.kind === "session") await ask("/auth/session", "delete").catch(() => undefined);
        become(null);
      },
    }),
    [identity, become],
  );
  return <IdentityContext value={state}>{children}</IdentityContext>;
}

export function useIdentity(): IdentityState {
  const state = use(IdentityContext);
  if (!state) throw new Error("no identity provider");
  return state;
}
