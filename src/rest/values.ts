import type { Chain } from "../chains.ts";

/** Dates of the legacy answers: UTC without offset and without `Z`. */

/** Block times and mint starts: `2022-07-12T11:30:48`. */
export function naiveSeconds(unixSeconds: bigint): string {
  return new Date(Number(unixSeconds) * 1000).toISOString().slice(0, 19);
}

/** Server times: `2022-07-12T21:26:37.388951`. */
export function naiveMicros(unixMicros: bigint): string {
  const micros = String(unixMicros % 1_000_000n).padStart(6, "0");
  return `${naiveSeconds(unixMicros / 1_000_000n)}.${micros}`;
}

/** Wei as the text of a decimal number in native tokens: 10n ** 16n is `0.01`. */
export function decimalOf(wei: bigint): string {
  const digits = String(wei < 0n ? -wei : wei).padStart(19, "0");
  const fraction = digits.slice(-18).replace(/0+$/, "");
  return `${wei < 0n ? "-" : ""}${digits.slice(0, -18)}${fraction && `.${fraction}`}`;
}

/** A transaction and its link, which keeps the alias if the chain was requested by one: `rinkeby.etherscan.io`. */
export function transactionMembers(
  { chain, transactionHash: hash }: { chain: Chain; transactionHash: string | null },
  asked: string,
) {
  const explorer = chain.explorerTxUrl.replace(`//${chain.name}.`, `//${asked}.`);
  return { transaction_hash: hash, transaction_external_url: hash && `${explorer}/${hash}` };
}
