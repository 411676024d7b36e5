/** Whole units of a token with 18 decimals, as people write them; show the exact number of wei next to it. */
export function formatEther(wei: bigint): string {
  const sign = wei < 0n ? "-" : "";
  const digits = (wei < 0n ? -wei : wei).toString().padStart(19, "0");
  const fraction = digits.slice(-18).replace(/0+$/, "");
  return `${sign}${digits.slice(0, -18)}${fraction ? `.${fraction}` : ""}`;
}

/** @returns null for a text that is not an amount, or has more than 18 decimals. */
export function parseEther(text: string): bigint | null {
  const match = /^(\d{1,40})(?:\.(\d{0,18}))?$/.exec(text.trim());
  return match ? BigInt((match[1] ?? "") + (match[2] ?? "").padEnd(18, "0")) : null;
}

/** A fee to two significant digits. */
export function formatFee(wei: bigint): string {
  const text = formatEther(wei);
  const [, whole = "", fraction = ""] = /^(\d+)\.?(\d*)$/.exec(text) ?? [];
  const kept = /^0*\d{0,2}/.exec(fraction)?.[0] ?? "";
  const shown = kept.replace(/0+$/, "");
  return `${whole}${shown ? `.${shown}` : ""}`;
}

/** The sum of a price and a fee, to the last decimal that either shows, rounded up: never less than the price. */
export function formatTotal(price: bigint, fee: bigint): string {
  const places = (text: string) => text.split(".")[1]?.length ?? 0;
  const last = 10n ** BigInt(18 - Math.max(places(formatEther(price)), places(formatFee(fee))));
  return formatEther(((price + fee + last - 1n) / last) * last);
}

/** As `formatFee`, for an amount in whole units, as API answers have it. */
export const formatCost = (cost: number) => formatFee(parseEther(cost.toFixed(18)) ?? 0n);

export function shortAddress(address: string): string {
  return `${address.slice(0, 6)}…${address.slice(-4)}`;
}

const binary = ["B", "KiB", "MiB", "GiB"];

export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  for (; value >= 1024 && unit < binary.length - 1; unit += 1) value /= 1024;
  return `${unit === 0 ? value : value.toFixed(1)} ${binary[unit]}`;
}

/** `1 token`, `2 tokens`. */
export const counted = (count: number, what: string) => `${count.toLocaleString()} ${what}${count === 1 ? "" : "s"}`;
