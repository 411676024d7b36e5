/** An amount in the chain's currency, such as `"0.05"`, in wei as decimal text. */
export function weiOf(amount: string): string {
  const [whole = "0", fraction = ""] = amount.split(".");
  return (BigInt(whole) * 10n ** 18n + BigInt(fraction.padEnd(18, "0"))).toString();
}

/** Wei in the chain's currency, without trailing zeros. */
export function amountOf(wei: string): string {
  const digits = wei.padStart(19, "0");
  const fraction = digits.slice(-18).replace(/0+$/, "");
  return fraction ? `${digits.slice(0, -18)}.${fraction}` : digits.slice(0, -18);
}
