import { useState } from "react";
import { getAddress, isAddress } from "viem/utils";
import { shortAddress } from "../shared/amounts.ts";
import { addressUrl } from "../shared/explorer.ts";
import { identiconOf } from "../shared/identicon.ts";
import { useInstallation } from "./installation.ts";

/** Adds the checksum if the text is an address. */
export const checksummed = (text: string) =>
  isAddress(text.trim(), { strict: false }) ? getAddress(text.trim()) : text.trim();

export function Identicon({ address }: { address: string }) {
  const { path, colour } = identiconOf(address);
  return (
    <svg className="identicon" viewBox="0 0 5 5" aria-hidden="true">
      <path d={path} fill={colour} />
    </svg>
  );
}

/** A button that copies a text. @param what is copied, for screen readers: `the address of the treasury`. */
export function Copy({ text, what }: { text: string; what: string }) {
  const [copied, setCopied] = useState(false);
  // A page that is not served over HTTPS has no clipboard.
  if (!("clipboard" in navigator)) return null;
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 2_000);
  };
  return (
    <button type="button" className="tiny" aria-label={`Copy ${what}`} onClick={() => void copy()}>
      {copied ? "Copied" : "Copy"}
    </button>
  );
}

interface AddressProps {
  address: string;
  chain: string;
  /** The owner of the address, for screen readers: `the treasury`. */
  of: string;
  /** Whether to show all of it, as where money goes to it. */
  full?: boolean;
}

/** An address with its picture, its checksum, a button that copies it, and a link to the chain's explorer. */
export function Address({ address, chain, of, full = false }: AddressProps) {
  const installed = useInstallation()?.chains.find(({ name }) => name === chain);
  const written = checksummed(address);
  const link = installed && !installed.local ? addressUrl(installed.explorer_tx_url, written) : null;
  const text = full ? <code>{written}</code> : <code title={written}>{shortAddress(written)}</code>;
  return (
    <span className="address">
      <Identicon address={address} />
      {link ? (
        <a href={link} target="_blank" rel="noreferrer">
          {text}
        </a>
      ) : (
        text
      )}
      <Copy text={written} what={`the address of ${of}`} />
    </span>
  );
}
