import { formatEther } from "../shared/amounts.ts";
import { isRejection } from "../shared/wallets.ts";

/** Why a mint does not happen, for the visitor. `again` offers the button again. */
export interface Refusal {
  kind: string;
  text: string;
  again: boolean;
}

/** The contract's revert messages, and what each means here. */
const reverts: readonly [RegExp, string, string][] = [
  [/Minting has not started yet/, "not-started", "The sale is not open yet by the chain's clock. Nothing was sent."],
  [/Presale has not started yet/, "not-started", "The presale is not open yet by the chain's clock. Nothing was sent."],
  [/Already minted/, "presale-used", "This wallet has used its one presale mint."],
  [/Not whitelisted/, "not-listed", "This wallet is not on the presale list."],
  [/Amount too large/, "over-limit", "This is more than one mint may have."],
  [/Payment too small/, "price", "The price does not fit what would be paid. Load the page again."],
  [/(Supply|supply|left|remain|sold|Not enough tokens)/, "sold-out", "There are not so many tokens left."],
  [/MintToZero|Safe|receiver/i, "receiver", "This wallet cannot receive tokens of this kind."],
];

/** A node may put the revert's text into the error's message, or as ABI bytes into one of its members. */
function revertText(error: unknown): string {
  const seen: string[] = [];
  const visit = (value: unknown, depth: number): void => {
    if (depth > 4 || value === null || value === undefined) return;
    if (typeof value === "string") seen.push(/^0x08c379a0[0-9a-f]{128,}$/i.test(value) ? errorString(value) : value);
    else if (typeof value === "object")
      for (const key of ["message", "reason", "details", "data", "error", "cause", "originalError"])
        visit((value as Record<string, unknown>)[key], depth + 1);
  };
  visit(error, 0);
  return seen.join(" ");
}

/** Error(string): selector, offset, length, text. */
function errorString(data: string): string {
  const length = Number(BigInt(`0x${data.slice(74, 138)}`));
  const hex = data.slice(138, 138 + Math.min(length, 500) * 2);
  const bytes = Uint8Array.from({ length: hex.length / 2 }, (_, index) =>
    Number.parseInt(hex.slice(index * 2, index * 2 + 2), 16),
  );
  return new TextDecoder().decode(bytes);
}

/** @param missing wei that the wallet lacks, if that is known. */
export function lacking(missing: bigint, unit: string): Refusal {
  return {
    kind: "funds",
    text: `This wallet has too little: ${formatEther(missing)} ${unit} are missing for the price and the network's fee.`,
    again: true,
  };
}

export function refusalOf(error: unknown): Refusal {
  if (isRejection(error))
    return {
      kind: "rejected",
      text: "You declined in your wallet. Nothing was sent and nothing was paid.",
      again: true,
    };
  const text = revertText(error);
  if (/insufficient funds|doesn't have enough funds/i.test(text))
    return { kind: "funds", text: "This wallet has too little for the price and the network's fee.", again: true };
  for (const [pattern, kind, words] of reverts) if (pattern.test(text)) return { kind, text: words, again: true };
  const said = text.replaceAll(/\s+/g, " ").trim().slice(0, 160);
  return { kind: "unknown", text: `Your wallet or its node refused${said ? `: ${said}` : "."}`, again: true };
}
