/** @jsxImportSource preact */
import { useState } from "preact/hooks";
import { shortAddress } from "../shared/amounts.ts";
import { addressUrl } from "../shared/explorer.ts";
import { identiconOf } from "../shared/identicon.ts";
import type { Sale } from "./sale.ts";

interface AddressProps {
  address: string;
  /** The owner of the address, for screen readers: `the creator`. */
  of: string;
  chain: Sale["chain"];
  /** Whether to show all of it, as where money goes to it. */
  full?: boolean;
}

/** An address with its picture, a button that copies it, and a link to the chain's explorer. */
export function Address({ address, of, chain, full = false }: AddressProps) {
  const [copied, setCopied] = useState(false);
  const { path, colour } = identiconOf(address);
  const link = chain.local ? null : addressUrl(chain.explorer_tx_url, address);
  const copy = async () => {
    await navigator.clipboard.writeText(address);
    setCopied(true);
    setTimeout(() => setCopied(false), 2_000);
  };
  const text = full ? <code>{address}</code> : <code title={address}>{shortAddress(address)}</code>;
  return (
    <span class="address">
      <svg class="identicon" viewBox="0 0 5 5" aria-hidden="true">
        <path d={path} fill={colour} />
      </svg>
      {link ? (
        <a href={link} target="_blank" rel="noreferrer">
          {text}
        </a>
      ) : (
        text
      )}
      {/* A page that is not served over HTTPS has no clipboard. */}
      {"clipboard" in navigator && (
        <button type="button" class="tiny" aria-label={`Copy the address of ${of}`} onClick={() => void copy()}>
          {copied ? "Copied" : "Copy"}
        </button>
      )}
    </span>
  );
}
