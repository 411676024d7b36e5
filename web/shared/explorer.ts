/**
 * An address's page on an explorer.
 *
 * @param txUrl the explorer's base URL for transactions, as the installation has it; null: there is no explorer.
 */
export function addressUrl(txUrl: string | null, address: string): string | null {
  return txUrl && /\/tx\/?$/.test(txUrl) ? txUrl.replace(/\/tx\/?$/, `/address/${address}`) : null;
}
