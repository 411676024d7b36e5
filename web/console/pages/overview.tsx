import { Link } from "@tanstack/react-router";
import { previewsOf } from "../../shared/previews.ts";
import { Amount } from "../balance.tsx";
import { attentionOf, type Collection, type Figures, saleWord, useCollections, useFigures } from "../collections.ts";
import { useDraft } from "../launch/use-draft.ts";
import { MintPlot } from "../mint-plot.tsx";
import { ErrorNotice, Loading } from "../notices.tsx";
import { AmountRange, revenueOf } from "../revenue.tsx";

export function OverviewPage() {
  const { isPending, error, collections } = useCollections();
  const figures = useFigures(collections);
  const { draft } = useDraft();
  return (
    <div className="stack">
      <div className="row apart">
        <h1>Collections</h1>
        <Link to="/launch" className="button main">
          Launch a collection
        </Link>
      </div>
      <ErrorNotice error={error ?? figures.error} />
      {draft.name !== "" && (
        <p className="notice">
          {draft.transactionHash === ""
            ? `The launch of ${draft.name} is not finished.`
            : `${draft.name} was deployed.`}{" "}
          <Link to="/launch">{draft.transactionHash === "" ? "Go on with it" : "See whether it stands"}</Link>
        </p>
      )}
      {isPending && <Loading what="your collections" />}
      {!isPending && collections.length === 0 && !error && <FirstSteps />}
      <ul className="cards">
        {collections.map((collection) => (
          <CollectionCard
            key={`${collection.chain} ${collection.address}`}
            {...{ collection, figures: figures.of(collection) }}
          />
        ))}
      </ul>
    </div>
  );
}

/** First steps for a user without a collection. */
function FirstSteps() {
  return (
    <ul className="cards">
      <li className="card stack">
        <h2>Launch a collection</h2>
        <p>
          A folder of pictures becomes a collection with a page where people mint. On a local chain it costs nothing.
        </p>
        <p>
          <Link to="/launch">Choose a folder, or try sample pictures</Link>
        </p>
      </li>
      <li className="card stack">
        <h2>Read data</h2>
        <p>Every token of the chains of this installation: owners, traits, transfers and holders of any contract.</p>
        <p>
          <Link to="/data">Look up a contract or an account</Link>
        </p>
      </li>
      <li className="card stack">
        <h2>Call the API</h2>
        <p>GraphQL and REST do what these pages do, and more. Each operation has an example to copy.</p>
        <p>
          <Link to="/account">Make a key</Link>, then open <a href="/docs">the reference</a>
        </p>
      </li>
    </ul>
  );
}

function CollectionCard({ collection, figures }: { collection: Collection; figures: Figures | undefined }) {
  const { chain, address, name } = collection;
  const { sale = null, mints_by_hour: mints = null } = figures ?? {};
  const revenue = sale && revenueOf(collection, sale);
  const image = sale?.preview?.image;
  const attention = sale ? attentionOf(collection, sale, revenue?.waits ?? 0n) : [];
  return (
    <li className="card stack">
      {image ? (
        <img {...previewsOf(image, 320)} alt="" width="320" height="320" loading="lazy" />
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
      {figures?.error && <p className="small quiet">{figures.error.message}</p>}
      {sale && (
        <>
          <progress value={Number(sale.minted)} max={Number(sale.max_supply)} aria-label={`Minted of ${name}`} />
          <p className="small quiet">
            {Number(sale.minted).toLocaleString()} of {Number(sale.max_supply).toLocaleString()} minted on {chain}
          </p>
          {revenue && (
            <p className="small">
              <span className="quiet">Revenue: </span>
              <AmountRange range={revenue.paid} chain={chain} />
              <span className="quiet">, of it to withdraw: </span>
              <Amount wei={revenue.waits} chain={chain} />
            </p>
          )}
          {mints?.mints.some((count) => count > 0) && <MintPlot counted={mints} />}
          {attention.map((text) => (
            <p key={text} className="notice warn small">
              {text}
            </p>
          ))}
        </>
      )}
    </li>
  );
}
