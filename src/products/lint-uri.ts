const links = /^(ipfs:\/\/.|https?:\/\/.|ar:\/\/.|data:[a-z]+\/)/i;

/** What wallets and markets will stumble over in a token's URI, in the words of the lint of uploads. */
export function lintUri(uri: string): string[] {
  if (!links.test(uri))
    return ["the URI is no link (ipfs://…, https://…): it is read only where a base URI goes before it"];
  if (/^http:/i.test(uri)) return ["the URI is an http: link, which browsers refuse"];
  if (/^https?:\/\/[^/]*\/ipfs\//i.test(uri)) return ["the URI names a gateway; ipfs:// outlives it"];
  return [];
}
