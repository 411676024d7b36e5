import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { isRejection, type Wallet } from "../../shared/wallets.ts";
import { useIdentity } from "../identity.tsx";
import { installationQuery, useInstallation, useWallets } from "../installation.ts";
import { ErrorNotice } from "../notices.tsx";

export function SignInPage() {
  const { useKey: enterKey, signIn } = useIdentity();
  const installation = useInstallation();
  const wallets = useWallets();
  const [key, setKey] = useState("");
  const client = useQueryClient();
  const byKey = useMutation({ mutationFn: () => enterKey(key.trim()) });
  const byWallet = useMutation({
    mutationFn: async (wallet: Wallet) => {
      // A wallet may be available before the server has answered.
      const { chains } = await client.ensureQueryData(installationQuery);
      const chain = chains.find(({ local }) => local || !wallet.local);
      if (!chain) throw new Error("This installation serves no chain.");
      try {
        await signIn(wallet, chain);
      } catch (error) {
        throw isRejection(error) ? new Error("You declined in your wallet.") : error;
      }
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    byKey.mutate();
  };
  return (
    <div className="stack narrow">
      <h1>Sign in</h1>
      <section className="card stack" aria-labelledby="by-wallet">
        <h2 id="by-wallet">With a wallet</h2>
        <p className="quiet">
          You sign a message; nothing is sent and nothing is paid.
          {installation?.sign_up ? " A wallet that is new here gets a free account." : ""}
        </p>
        {wallets.length === 0 && <p>This browser has no wallet.</p>}
        <div className="row">
          {wallets.map((wallet) => (
            <button
              type="button"
              className="main"
              key={wallet.id}
              disabled={byWallet.isPending}
              onClick={() => byWallet.mutate(wallet)}
            >
              {wallet.name}
              {wallet.local && <span className="badge warn">local chain only</span>}
            </button>
          ))}
        </div>
        <ErrorNotice error={byWallet.error} />
      </section>
      <form className="card stack" aria-labelledby="by-key" onSubmit={submit}>
        <h2 id="by-key">With an API key</h2>
        <label>
          API key
          <span className="hint">This tab keeps it until you close it.</span>
          <input
            type="password"
            autoComplete="off"
            spellCheck="false"
            required
            value={key}
            onChange={(event) => setKey(event.target.value)}
          />
        </label>
        <button type="submit" disabled={byKey.isPending}>
          Use this key
        </button>
        <ErrorNotice error={byKey.error} />
      </form>
    </div>
  );
}
