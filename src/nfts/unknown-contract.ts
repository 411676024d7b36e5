import { ServiceError } from "../errors/errors.ts";

/** Of a contract that the index has never seen; docs/indexing.md says which it never sees. */
export const noNftLogs =
  "no NFT is known of this address on this chain; contracts whose Transfer event is not ERC-721's (CryptoKitties, Axie) are not read";

/** What is answered of a contract that is not indexed, without looking up why (`whyNotIndexed`). */
export function unknownContract(): ServiceError {
  return new ServiceError("not_found", `not indexed: ${noNftLogs}`);
}
