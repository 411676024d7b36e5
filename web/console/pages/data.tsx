import { type FormEvent, useState } from "react";
import { Holders } from "../holders.tsx";
import { useInstallation } from "../installation.ts";
import { addressPattern } from "../launch/fields.tsx";
import { Snapshot } from "../snapshot.tsx";
import { TokenGrid } from "../tokens.tsx";
import { TransferTable } from "../transfers.tsx";

/** Any account or contract of the index. */
export function DataPage() {
  const chains = useInstallation()?.chains ?? [];
  const [asked, setAsked] = useState<{ chain: string; address: string; account: boolean } | null>(null);
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name) ?? "").trim();
    setAsked({ chain: text("chain"), address: text("address"), account: text("what") === "account" });
  };
  return (
    <div className="stack">
      <h1>Data</h1>
      <form className="card fields" onSubmit={submit}>
        <label>
          Network
          <select name="chain">
            {chains.map(({ name }) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <label>
          What
          <select name="what">
            <option value="contract">A contract's tokens</option>
            <option value="account">What an account holds</option>
          </select>
        </label>
        <label>
          Address
          <input name="address" required pattern={addressPattern} spellCheck="false" autoComplete="off" />
        </label>
        <button type="submit" className="main">
          Show
        </button>
      </form>
      {asked && (
        <>
          <section className="stack" aria-labelledby="tokens">
            <h2 id="tokens">Tokens</h2>
            <TokenGrid
              key={`${asked.chain} ${asked.address}`}
              chain={asked.chain}
              address={asked.address}
              holder={asked.account}
            />
          </section>
          {!asked.account && (
            <section className="card stack" aria-labelledby="holders">
              <h2 id="holders">Holders</h2>
              <Holders chain={asked.chain} address={asked.address} />
              <Snapshot key={`${asked.chain} ${asked.address}`} chain={asked.chain} address={asked.address} />
            </section>
          )}
          <section className="stack" aria-labelledby="moves">
            <h2 id="moves">Transfers</h2>
            <TransferTable chain={asked.chain} address={asked.address} account={asked.account} />
          </section>
        </>
      )}
    </div>
  );
}
