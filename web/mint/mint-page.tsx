/** @jsxImportSource preact */
import { MintForm } from "./mint-form.tsx";
import { formatWait, type Phase, phaseOf, type Sale } from "./sale.ts";
import { useChainClock, useSale } from "./use-sale.ts";
import { useWallet } from "./use-wallet.ts";
import { WalletPanel } from "./wallet-panel.tsx";

export function MintPage({ path }: { path: string }) {
  const { sale, trouble, lasting } = useSale(path);
  const now = useChainClock(sale);
  const wallet = useWallet(sale);
  if (!sale)
    return (
      <main class="mint">
        <h1>{lasting ? "No collection here" : "Loading the collection"}</h1>
        {trouble ? (
          <p class="notice wrong" role="alert">
            {trouble}
          </p>
        ) : (
          <p role="status">One moment.</p>
        )}
      </main>
    );
  const phase = phaseOf(sale, now);
  return (
    <main class="mint">
      <Picture sale={sale} />
      <div class="stack">
        <header>
          <p class="row small">
            <span class={`badge ${phase.name === "public" || phase.name === "presale" ? "" : "off"}`}>
              {phaseWord(phase)}
            </span>
            <span class="quiet">{sale.chain.name}</span>
            {sale.chain.local && <span class="badge warn">local chain only: no real money</span>}
          </p>
          <h1>{sale.name}</h1>
          {sale.preview?.description && <p class="quiet">{sale.preview.description}</p>}
        </header>
        <Supply sale={sale} />
        <Countdown phase={phase} now={now} />
        {trouble && (
          <p class="notice warn" role="status">
            {trouble}
          </p>
        )}
        <section class="card stack" aria-label="Mint">
          <WalletPanel sale={sale} wallet={wallet} />
          {wallet.connected && wallet.connected.chainId === sale.chain.id && (
            <MintForm key={wallet.connected.account} sale={sale} phase={phase} connected={wallet.connected} />
          )}
        </section>
        <p class="small quiet">
          Contract <code>{sale.address}</code>
        </p>
      </div>
    </main>
  );
}

function phaseWord(phase: Phase): string {
  const words = {
    "sold-out": "Sold out",
    never: "Closed",
    before: "Not open yet",
    presale: "Presale",
    public: "Public sale",
  };
  return words[phase.name];
}

function Picture({ sale }: { sale: Sale }) {
  const image = sale.preview?.image;
  return (
    <div class="picture">
      {image ? (
        <img src={image} alt={`A token of ${sale.name}`} width="560" height="560" />
      ) : (
        <div class="no-picture">{sale.name}</div>
      )}
    </div>
  );
}

function Supply({ sale }: { sale: Sale }) {
  const [minted, most] = [Number(sale.minted), Number(sale.maxSupply)];
  return (
    <div>
      <p class="row apart small" id="supply">
        <span>
          <strong>{sale.minted.toLocaleString()}</strong> of {sale.maxSupply.toLocaleString()} minted
        </span>
        <span class="quiet">{sale.left > 0n ? `${sale.left.toLocaleString()} left` : "none left"}</span>
      </p>
      <progress value={minted} max={most} aria-labelledby="supply" />
    </div>
  );
}

function Countdown({ phase, now }: { phase: Phase; now: number }) {
  const next =
    phase.name === "before"
      ? { opens: phase.opens, what: phase.what }
      : phase.name === "presale" && phase.publicOpens !== null
        ? { opens: phase.publicOpens, what: "public sale" }
        : null;
  if (!next) return null;
  const time = new Date(next.opens * 1000);
  return (
    <p class="notice" role="timer">
      The {next.what} opens in <strong>{formatWait(next.opens * 1000 + 1000 - now)}</strong>
      <span class="quiet small"> ({time.toLocaleString()}; the chain's clock decides)</span>
    </p>
  );
}
