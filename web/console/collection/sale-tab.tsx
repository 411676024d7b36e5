import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { graphql } from "../../../client/src/graphql.ts";
import { counted } from "../../shared/amounts.ts";
import { Address, Copy, checksummed } from "../address.tsx";
import { api } from "../api.ts";
import { Amount } from "../balance.tsx";
import type { Collection, Figures, SaleBody } from "../collections.ts";
import { MintPlot } from "../mint-plot.tsx";
import { AmountRange, revenueOf } from "../revenue.tsx";
import { Time } from "../time.tsx";
import { Withdraw } from "./withdraw.tsx";

const holders = graphql(`query ($chain: ChainName!, $address: Address!) {
  contract(chain: $chain, address: $address) { statistics { ownerCount } }
}`);

interface SaleTabProps {
  collection: Collection;
  sale: SaleBody;
  mints: Figures["mints_by_hour"];
}

/** A collection's sale: its progress, its revenue, and the link for minting. */
export function SaleTab({ collection, sale, mints }: SaleTabProps) {
  const { chain, address } = collection;
  return (
    <>
      <Tiles {...{ collection, sale }} />
      {collection.base_uri === "" && !collection.metadata_frozen && (
        <p className="notice">
          The artwork is hidden.{" "}
          <Link to="/collections/$chain/$address/$tab" params={{ chain, address, tab: "settings" }}>
            Reveal it
          </Link>
        </p>
      )}
      {mints && (
        <section className="card" aria-label="Mints of the last day">
          <MintPlot counted={mints} />
        </section>
      )}
      <Facts {...{ collection, sale }} />
    </>
  );
}

function Tiles({ collection, sale }: { collection: Collection; sale: SaleBody }) {
  const { chain, address } = collection;
  const { paid, waits } = revenueOf(collection, sale);
  const { data } = useQuery({
    queryKey: ["holders", chain, address.toLowerCase()],
    queryFn: () => api.graphql(holders, { chain, address }),
    refetchInterval: 15_000,
  });
  const [minted, most] = [Number(sale.minted), Number(sale.max_supply)];
  return (
    <dl className="tiles">
      <div className="card">
        <dt>Minted</dt>
        <dd>
          {minted.toLocaleString()} of {most.toLocaleString()}
        </dd>
        <dd className="more">
          <progress value={minted} max={most} aria-label="Minted" />
        </dd>
      </div>
      <div className="card">
        <dt>Buyers paid</dt>
        <dd>
          <AmountRange range={paid} chain={chain} />
        </dd>
      </div>
      <div className="card">
        <dt>To withdraw</dt>
        <dd>
          <Amount wei={waits} chain={chain} />
        </dd>
        <dd className="more">
          <Withdraw collection={collection} waits={waits} />
        </dd>
      </div>
      <div className="card">
        <dt>Holders</dt>
        <dd>{data?.contract?.statistics?.ownerCount.toLocaleString() ?? (data ? "0" : "–")}</dd>
      </div>
    </dl>
  );
}

function Facts({ collection, sale }: { collection: Collection; sale: SaleBody }) {
  const { chain, address, name } = collection;
  const mintPage = `${location.origin}/mint/${chain}/${checksummed(address)}`;
  return (
    <section className="card stack" aria-labelledby="sale">
      <h2 id="sale">Sale</h2>
      <dl className="facts">
        <dt>Mint page</dt>
        <dd>
          <span className="address">
            <a href={mintPage} target="_blank" rel="noreferrer">
              {mintPage}
            </a>
            <Copy text={mintPage} what="the link of the mint page" />
          </span>
        </dd>
        <dt>Price</dt>
        <dd>
          <Amount wei={BigInt(sale.public_price_wei)} chain={chain} />
        </dd>
        {sale.presale_start !== null && (
          <>
            <dt>Presale price</dt>
            <dd>
              <Amount wei={BigInt(sale.presale_price_wei)} chain={chain} />, for{" "}
              {counted(collection.presale_whitelisted_addresses.length, "listed wallet")}
            </dd>
          </>
        )}
        {Number(sale.reserved) > 0 && (
          <>
            <dt>Reserve</dt>
            <dd>
              {counted(Number(sale.reserved), "token")} that you mint{" "}
              <Link to="/collections/$chain/$address/$tab" params={{ chain, address, tab: "settings" }}>
                in the settings
              </Link>
            </dd>
          </>
        )}
        <dt>Public sale</dt>
        <dd>{shownTime(sale.public_start)}</dd>
        <dt>Presale</dt>
        <dd>{shownTime(sale.presale_start)}</dd>
        <dt>Chain's clock</dt>
        <dd>
          {shownTime(sale.block_time)} in block {Number(sale.block).toLocaleString()}; it decides when a sale opens
        </dd>
        <dt>Contract</dt>
        <dd>
          <Address address={address} chain={chain} of="the contract" full />
        </dd>
        <dt>Treasury</dt>
        <dd>
          <Address address={collection.treasury_address} chain={chain} of="the treasury" full />
        </dd>
        <dt>Withdrawn</dt>
        <dd>
          <AmountRange range={revenueOf(collection, sale).withdrawn} chain={chain} />
        </dd>
      </dl>
      <details>
        <summary>A link for your own site</summary>
        <pre>{`<a href="${mintPage}">Mint ${name}</a>`}</pre>
      </details>
    </section>
  );
}

function shownTime(seconds: string | null) {
  return seconds === null ? "none" : <Time at={Number(seconds) * 1000} />;
}
