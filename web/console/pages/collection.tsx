import { Amount, useBalance } from "../balance.tsx";
import { ChangeSettings } from "../collection/change-settings.tsx";
import { Freeze, Reveal } from "../collection/reveal.tsx";
import { Withdraw } from "../collection/withdraw.tsx";
import { saleWord, useCollections, useSale } from "../collections.ts";
import { Holders } from "../holders.tsx";
import { barsByHour, useMints } from "../mints.ts";
import { ErrorNotice, Loading } from "../notices.tsx";
import { BarPlot } from "../plot.tsx";
import { Snapshot } from "../snapshot.tsx";
import { TokenGrid } from "../tokens.tsx";
import { TransferTable } from "../transfers.tsx";

/** One collection: how its sale goes, what can be changed, its tokens. */
export function CollectionPage({ chain, address }: { chain: string; address: string }) {
  const { collections, isPending, error } = useCollections();
  const sale = useSale(chain, address);
  const balance = useBalance(chain, address);
  const mints = useMints(chain, address);
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
  const mintPage = `${location.origin}/mint/${chain}/${address}`;
  const link = `<a href="${mintPage}">Mint ${collection.name}</a>`;
  return (
    <div className="stack">
      <div className="row">
        <h1>{collection.name}</h1>
        {sale.data && <span className="badge">{saleWord(sale.data)}</span>}
        {collection.metadata_frozen && <span className="badge off">frozen</span>}
      </div>
      <section className="card stack" aria-labelledby="sale">
        <h2 id="sale">Sale</h2>
        {sale.data && (
          <>
            <progress value={Number(sale.data.minted)} max={Number(sale.data.max_supply)} aria-label="Minted" />
            <dl className="facts">
              <dt>Minted</dt>
              <dd>
                {Number(sale.data.minted).toLocaleString()} of {Number(sale.data.max_supply).toLocaleString()}
              </dd>
              <dt>Price</dt>
              <dd>
                <Amount wei={BigInt(sale.data.public_price_wei)} chain={chain} />
              </dd>
              <dt>To withdraw</dt>
              <dd>{balance.data === undefined ? "–" : <Amount wei={balance.data} chain={chain} />}</dd>
              <dt>Public sale</dt>
              <dd>{shownTime(sale.data.public_start)}</dd>
              <dt>Presale</dt>
              <dd>{shownTime(sale.data.presale_start)}</dd>
              <dt>Contract</dt>
              <dd>
                <code>{address}</code>
              </dd>
              <dt>Mint page</dt>
              <dd>
                <a href={mintPage}>{mintPage}</a>
              </dd>
            </dl>
            <details>
              <summary>A link for your own site</summary>
              <pre>{link}</pre>
            </details>
          </>
        )}
        {mints.data && (
          <BarPlot
            title="Mints per hour, the last 24 hours"
            bars={barsByHour(mints.data.times)}
            {...(mints.data.cut ? { note: "older ones are left out" } : {})}
          />
        )}
        <ErrorNotice error={sale.error} />
      </section>
      <ChangeSettings
        key={`${collection.public_mint_start} ${collection.presale_mint_start}`}
        collection={collection}
      />
      <Reveal collection={collection} />
      <Withdraw collection={collection} />
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
      <Freeze collection={collection} />
    </div>
  );
}

function shownTime(seconds: string | null): string {
  return seconds === null ? "none" : new Date(Number(seconds) * 1000).toLocaleString();
}
