import { ChangeSettings } from "../collection/change-settings.tsx";
import { Developer } from "../collection/developer.tsx";
import { Money } from "../collection/money.tsx";
import { Freeze, Reveal } from "../collection/reveal.tsx";
import { SaleCard } from "../collection/sale-card.tsx";
import { saleWord, useCollections, useSale } from "../collections.ts";
import { Holders } from "../holders.tsx";
import { ErrorNotice, Loading } from "../notices.tsx";
import { Snapshot } from "../snapshot.tsx";
import { TokenGrid } from "../tokens.tsx";
import { TransferTable } from "../transfers.tsx";

/** One collection: how its sale goes, what can be changed, its tokens. */
export function CollectionPage({ chain, address }: { chain: string; address: string }) {
  const { collections, isPending, error } = useCollections();
  const sale = useSale(chain, address);
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
  return (
    <div className="stack">
      <div className="row">
        <h1>{collection.name}</h1>
        {sale.data && <span className="badge">{saleWord(sale.data)}</span>}
        {collection.metadata_frozen && <span className="badge off">frozen</span>}
      </div>
      <SaleCard collection={collection} />
      <Money collection={collection} />
      <ChangeSettings collection={collection} />
      <Reveal collection={collection} />
      <section className="card stack" aria-labelledby="tokens">
        <h2 id="tokens">Tokens</h2>
        <TokenGrid chain={chain} address={address} />
      </section>
      <section className="card stack" aria-labelledby="holders">
        <h2 id="holders">Holders</h2>
        <Holders chain={chain} address={address} />
        <Snapshot chain={chain} address={address} />
      </section>
      <section className="card stack" aria-labelledby="transfers">
        <h2 id="transfers">Transfers</h2>
        <TransferTable chain={chain} address={address} />
      </section>
      <Developer chain={chain} address={address} />
      <Freeze collection={collection} />
    </div>
  );
}
