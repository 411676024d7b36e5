/** @jsxImportSource preact */
import { useState } from "preact/hooks";
import { formatEther } from "../shared/amounts.ts";
import { exactTime } from "../shared/times.ts";
import { Address } from "./address.tsx";
import { Artwork } from "./artwork.tsx";
import { ContractFacts } from "./contract-facts.tsx";
import { Offer } from "./offer.tsx";
import { formatWait, type Phase, phaseOf, priceOf, type Sale } from "./sale.ts";
import { useChainClock, useSale } from "./use-sale.ts";
import { useWallet } from "./use-wallet.ts";

export function MintPage({ path }: { path: string }) {
  const { sale, trouble, lasting } = useSale(path);
  const now = useChainClock(sale);
  const wallet = useWallet(sale);
  const [amount, setAmount] = useState(1);
  if (!sale)
    return (
      <main class="mint">
        <h1>{lasting ? "No collection here" : "Loading the collection"}</h1>
        {trouble ? (
          <>
            <p class="notice wrong" role="alert">
              {trouble[0]?.toUpperCase() + trouble.slice(1)}
            </p>
            {lasting && <p>Ask the creator for the right link.</p>}
          </>
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
        <header class="stack">
          <p class="row small">
            <span class={`badge ${phase.name === "public" || phase.name === "presale" ? "" : "off"}`}>
              {phaseWord(phase)}
            </span>
            <span class="badge off">{sale.chain.name}</span>
            {sale.chain.local && <span class="badge warn">local chain only: no real money</span>}
          </p>
          <h1>{sale.name}</h1>
          <p class="row small">
            <span class="quiet">Owned by</span> <Address address={sale.owner} of="the owner" chain={sale.chain} />
          </p>
          {sale.preview?.description && <p class="quiet">{sale.preview.description}</p>}
        </header>
        <Terms sale={sale} phase={phase} />
        <Countdown phase={phase} now={now} />
        {trouble && (
          <p class="notice warn" role="status">
            {trouble}
          </p>
        )}
        {!sale.deployedHere && (
          <p class="notice warn">
            This installation did not deploy this contract and has not checked its code. All that stands here is what
            the contract says of itself.
          </p>
        )}
        <Offer key={wallet.connected?.account ?? ""} {...{ sale, phase, wallet, amount, setAmount }} />
        <ContractFacts sale={sale} />
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
  const { image = null, animation = null, interactive = false } = sale.preview ?? {};
  return (
    <div class="picture stack">
      <Artwork
        {...{ image, animation, name: sale.name, width: 560, alt: `A token of ${sale.name}` }}
        instead={
          <>
            <span>{sale.name}</span>
            {!sale.revealed && <span class="small quiet">The artwork is revealed later.</span>}
          </>
        }
      />
      {interactive && <p class="small quiet">These tokens have an interactive part, which marketplaces show.</p>}
    </div>
  );
}

/** The terms, shown with or without a wallet. */
function Terms({ sale, phase }: { sale: Sale; phase: Phase }) {
  const [minted, most] = [Number(sale.minted), Number(sale.maxSupply)];
  const price = priceOf(sale, phase);
  const kept = sale.maxSupply - sale.minted - sale.left;
  const { coin } = sale.chain;
  return (
    <div class="terms stack">
      <p class="price">
        <strong title={`${price} wei`}>{price === 0n ? "Free" : `${formatEther(price)} ${coin}`}</strong>{" "}
        <span class="quiet small">
          for each token, and the network's fee
          {phase.name === "presale" && sale.publicPrice !== price
            ? `; ${formatEther(sale.publicPrice)} ${coin} in the public sale`
            : ""}
        </span>
      </p>
      <div>
        <p class="row apart small" id="supply">
          <span>
            <strong>{sale.minted.toLocaleString()}</strong> of {sale.maxSupply.toLocaleString()} minted
            {kept > 0n && <span class="quiet">, {kept.toLocaleString()} kept by the creator</span>}
          </span>
          <span class="quiet">{sale.left > 0n ? `${sale.left.toLocaleString()} left` : "none left"}</span>
        </p>
        <progress value={minted} max={most} aria-labelledby="supply" />
      </div>
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
  return (
    <p class="notice" role="timer">
      The {next.what} opens in <strong>{formatWait(next.opens * 1000 + 1000 - now)}</strong>
      <span class="quiet small"> ({exactTime(next.opens * 1000)}; the chain's clock decides)</span>
    </p>
  );
}
