import { Link } from "@tanstack/react-router";
import { type Collection, saleWord, useCollections, useSale } from "../collections.ts";
import { ErrorNotice, Loading } from "../notices.tsx";

export function OverviewPage() {
  const { isPending, error, collections } = useCollections();
  return (
    <div className="stack">
      <div className="row apart">
        <h1>Collections</h1>
        <Link to="/launch" className="button main">
          Launch a collection
        </Link>
      </div>
      <ErrorNotice error={error} />
      {isPending && <Loading what="your collections" />}
      {!isPending && collections.length === 0 && !error && (
        <p className="card">
          Nothing here yet. A launch takes a folder of pictures and some minutes; you can try it on a local chain
          without spending anything.
        </p>
      )}
      <ul className="cards">
        {collections.map((collection) => (
          <CollectionCard key={`${collection.chain} ${collection.address}`} collection={collection} />
        ))}
      </ul>
    </div>
  );
}

function CollectionCard({ collection }: { collection: Collection }) {
  const { chain, address, name } = collection;
  const { data: sale } = useSale(chain, address);
  const image = sale?.preview?.image;
  return (
    <li className="card stack">
      {image ? (
        <img src={image} alt="" width="320" height="320" loading="lazy" />
      ) : (
        <div className="no-picture">{collection.symbol}</div>
      )}
      <div className="row apart">
        <h2>
          <Link to="/collections/$chain/$address" params={{ chain, address }}>
            {name}
          </Link>
        </h2>
        {sale && <span className={`badge ${saleWord(sale) === "not open" ? "off" : ""}`}>{saleWord(sale)}</span>}
      </div>
      {sale && (
        <>
          <progress value={Number(sale.minted)} max={Number(sale.max_supply)} aria-label={`Minted of ${name}`} />
          <p className="small quiet">
            {Number(sale.minted).toLocaleString()} of {Number(sale.max_supply).toLocaleString()} minted on {chain}
          </p>
        </>
      )}
    </li>
  );
}
