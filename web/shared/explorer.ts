/**
 * Where an explorer shows an address.
 *
 * @param txUrl where it shows transactions, as an installation has it; null: there is no explorer.
 */
export function addressUrl(txUrl: string | null, address: string): string | null {
  return txUrl && /\/tx\/?$/.test(txUrl) ? txUrl.replace(/\/tx\/?$/, `/address/${address}`) : null;
}
