/** @jsxImportSource preact */
import { addressUrl } from "../shared/explorer.ts";
import { Address } from "./address.tsx";
import type { Sale } from "./sale.ts";

/** What a buyer may rely on, and what may still change, according to the contract now. */
export function ContractFacts({ sale }: { sale: Sale }) {
  const { chain } = sale;
  const code = chain.local ? null : addressUrl(chain.explorer_tx_url, sale.address);
  return (
    <section class="facts-of stack" aria-labelledby="contract">
      <h2 id="contract">What the contract says</h2>
      <h3>{sale.deployedHere ? "Nobody can change" : "It says that nobody can change"}</h3>
      <ul>
        <li>There are never more than {sale.maxSupply.toLocaleString()} tokens.</li>
        {sale.pricesFrozen && <li>The price stays as it is.</li>}
        {sale.metadataFrozen && <li>Pictures and metadata are frozen.</li>}
        <li>
          What buyers pay goes to the treasury <Address address={sale.treasury} of="the treasury" chain={chain} full />
        </li>
      </ul>
      <h3>The owner, and those that the owner lets act, can change</h3>
      <ul>
        {!sale.pricesFrozen && <li>The price.</li>}
        {!sale.metadataFrozen && (
          <li>
            {sale.revealed
              ? "Pictures and metadata: they are not frozen yet."
              : "Pictures and metadata: they are revealed later."}
          </li>
        )}
        <li>When the sale opens, and who is on the presale list.</li>
        <li>Royalties: now {sale.royaltiesBps / 100} % of later sales, where a marketplace honours them.</li>
      </ul>
      <h3>Whose code it is</h3>
      <p>
        {sale.deployedHere
          ? "This installation deployed the contract or checked its code: it is that of its collections."
          : "This installation did not deploy the contract and has not checked its code."}{" "}
        {code && (
          <a href={`${code}#code`} target="_blank" rel="noreferrer">
            Read the code
          </a>
        )}
      </p>
      <p>
        Contract <Address address={sale.address} of="the contract" chain={chain} full />
      </p>
    </section>
  );
}
