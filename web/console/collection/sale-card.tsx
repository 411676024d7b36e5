import { Address } from "../address.tsx";
import { Amount } from "../balance.tsx";
import { type Collection, useSale } from "../collections.ts";
import { barsByHour, useMints } from "../mints.ts";
import { ErrorNotice } from "../notices.tsx";
import { BarPlot } from "../plot.tsx";
import { Time } from "../time.tsx";

/** How a collection's sale goes, and where its visitors mint. */
export function SaleCard({ collection }: { collection: Collection }) {
  const { chain, address, name } = collection;
  const { data, error } = useSale(chain, address);
  const mints = useMints(chain, address);
  const mintPage = `${location.origin}/mint/${chain}/${address}`;
  const link = `<a href="${mintPage}">Mint ${name}</a>`;
  return (
    <section className="card stack" aria-labelledby="sale">
      <h2 id="sale">Sale</h2>
      {data && (
        <>
          <progress value={Number(data.minted)} max={Number(data.max_supply)} aria-label="Minted" />
          <dl className="facts">
            <dt>Minted</dt>
            <dd>
              {Number(data.minted).toLocaleString()} of {Number(data.max_supply).toLocaleString()}
            </dd>
            <dt>Price</dt>
            <dd>
              <Amount wei={BigInt(data.public_price_wei)} chain={chain} />
            </dd>
            <dt>Public sale</dt>
            <dd>{shownTime(data.public_start)}</dd>
            <dt>Presale</dt>
            <dd>{shownTime(data.presale_start)}</dd>
            <dt>Chain's clock</dt>
            <dd>
              {shownTime(data.block_time)} in block {Number(data.block).toLocaleString()}; it decides when a sale opens
            </dd>
            <dt>Contract</dt>
            <dd>
              <Address address={address} chain={chain} of="the contract" full />
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
      <ErrorNotice error={error} />
    </section>
  );
}

function shownTime(seconds: string | null) {
  return seconds === null ? "none" : <Time at={Number(seconds) * 1000} />;
}
