/** The anchor of an operation in `/docs`, by `get /v0/nfts` or `query nft`. */
export function referenceAnchor(operation: string): string {
  return operation.replaceAll(/\W+/g, "-").replace(/-$/, "");
}
