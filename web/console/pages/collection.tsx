import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { ChangeSettings } from "../collection/change-settings.tsx";
import { Changes } from "../collection/changes.tsx";
import { Developer } from "../collection/developer.tsx";
import { ReserveMint } from "../collection/reserve-mint.tsx";
import { Freeze, Reveal } from "../collection/reveal.tsx";
import { SaleTab } from "../collection/sale-tab.tsx";
import { type Collection, type Figures, saleWord, useCollections, useFigures } from "../collections.ts";
import { Holders } from "../holders.tsx";
import { ErrorNotice, Loading } from "../notices.tsx";
import { Snapshot } from "../snapshot.tsx";
import { TokenGrid } from "../tokens.tsx";
import { TransferTable } from "../transfers.tsx";
import { useCurrentLink } from "../use-current-link.ts";

const tabs = {
  sale: "Sale",
  tokens: "Tokens",
  holders: "Holders",
  activity: "Activity",
  settings: "Settings",
  developer: "Developer",
} as const;
type Tab = keyof typeof tabs;

/** One collection: its sale, its tokens and holders, its settings, and its calls for developers. */
export function CollectionPage({ chain, address, tab = "sale" }: { chain: string; address: string; tab?: string }) {
  const { collections, isPending, error } = useCollections();
  const figures = useFigures([{ chain, address }]);
  const row = useCurrentLink(isPending ? "" : tab);
  const collection = collections.find(
    (one) => one.chain === chain && one.address.toLowerCase() === address.toLowerCase(),
  );
  if (isPending) return <Loading what="the collection" />;
  if (!collection)
    return (
      <div className="stack">
        <h1>Not your collection</h1>
        <ErrorNotice error={error} />
        <p>No collection of this account stands at this address. The page Data shows any contract.</p>
      </div>
    );
  const shown: Tab = tab in tabs ? (tab as Tab) : "sale";
  const now = figures.of(collection);
  return (
    <div className="stack">
      <div className="row">
        <h1>{collection.name}</h1>
        {now?.sale && <span className="badge">{saleWord(now.sale)}</span>}
        {collection.metadata_frozen && <span className="badge off">frozen</span>}
      </div>
      <nav className="tabs" aria-label="Parts of the collection" ref={row}>
        {Object.entries(tabs).map(([name, title]) => (
          <Link
            key={name}
            to="/collections/$chain/$address/$tab"
            params={{ chain, address, tab: name }}
            aria-current={name === shown ? "page" : undefined}
          >
            {title}
          </Link>
        ))}
      </nav>
      <ErrorNotice error={figures.error ?? (now?.error ? new Error(now.error.message) : null)} />
      {partOf(shown, collection, now)}
    </div>
  );
}

function partOf(tab: Tab, collection: Collection, figures: Figures | undefined): ReactNode {
  const { chain, address } = collection;
  const { max_supply = "0", minted = "0", reserved: kept = "0" } = figures?.sale ?? {};
  const [unminted, reserved] = [Number(max_supply) - Number(minted), Number(kept)];
  // It stays after the last token of the reserve is minted, and says so.
  const reserve = figures?.sale && Number(collection.team_reserve) > 0 && (
    <ReserveMint collection={collection} left={reserved} />
  );
  switch (tab) {
    case "sale":
      if (!figures) return <Loading what="the sale" />;
      return figures.sale && <SaleTab {...{ collection, sale: figures.sale, mints: figures.mints_by_hour }} />;
    case "tokens":
      return (
        <Part name="tokens">
          <TokenGrid chain={chain} address={address} />
        </Part>
      );
    case "holders":
      return (
        <Part name="holders">
          <Holders chain={chain} address={address} />
          <Snapshot chain={chain} address={address} />
        </Part>
      );
    case "activity":
      return (
        <>
          <section className="card stack" aria-labelledby="changes">
            <h2 id="changes">Changes</h2>
            <Changes chain={chain} address={address} />
          </section>
          <section className="card stack" aria-labelledby="transfers">
            <h2 id="transfers">Mints and transfers</h2>
            <TransferTable chain={chain} address={address} />
          </section>
        </>
      );
    case "settings":
      if (collection.metadata_frozen)
        return (
          <>
            <p className="notice">The metadata is frozen for good. Nothing of this collection can be changed.</p>
            {reserve}
          </>
        );
      return (
        <>
          {reserve}
          <Reveal collection={collection} unminted={unminted} />
          <ChangeSettings collection={collection} />
          <Freeze collection={collection} />
        </>
      );
    case "developer":
      return <Developer collection={collection} />;
    default:
      return tab satisfies never;
  }
}

function Part({ name, children }: { name: Tab; children: ReactNode }) {
  return (
    <section className="card stack" aria-labelledby={name}>
      <h2 id={name}>{tabs[name]}</h2>
      {children}
    </section>
  );
}
