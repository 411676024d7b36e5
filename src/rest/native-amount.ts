/** An amount of wei as the text of a decimal number in units of the native token: 10n ** 16n is `0.01`. */
export function decimalOf(wei: bigint): string {
  const digits = String(wei < 0n ? -wei : wei).padStart(19, "0");
  const fraction = digits.slice(-18).replace(/0+$/, "");
  return `${wei < 0n ? "-" : ""}${digits.slice(0, -18)}${fraction && `.${fraction}`}`;
}
