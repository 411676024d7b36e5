import { findChain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import { cachedStatement } from "../db/pool/cached-statement.ts";
import { withheldToken } from "../db/withheld-token.ts";
import { ServiceError } from "../errors/errors.ts";
import { gatewayPath, parseIpfsUri } from "../metadata/read/ipfs-location.ts";
import { ownContent } from "../metadata/read/read-document.ts";
import type { Services } from "../services.ts";
import type { NftKey } from "./get-nfts.ts";

/** Where a token's picture is. */
export type TokenPicture =
  /** The path below `/ipfs/`. The content need not be stored here. */
  | { kind: "content"; path: string }
  /** As in the metadata; it may be a data: URI of a megabyte. */
  | { kind: "link"; link: string };

/** A longer link is never looked up as IPFS content. */
const mostIpfsLink = 2_048;

/**
 * Finds the picture that a token's metadata names.
 *
 * @returns null: the metadata names none, or has not been read.
 * @throws ServiceError `not_found` for a token the index has never seen, and what `findChain` throws.
 */
export async function findPicture(
  services: Services,
  { chain, contract, tokenId }: NftKey,
): Promise<TokenPicture | null> {
  const { id } = findChain(services.chains, chain);
  const values = [toBytes(contract), String(tokenId)];
  const row = await services.reads.first(textOf(id), values);
  if (!row) throw new ServiceError("not_found", "the index has no such token");
  const [own, link] = [row.text(0), row.text(1)];
  row.release();
  if (own !== null) return { kind: "content", path: own.split("/").map(encodeURIComponent).join("/") };
  if (link === null) return null;
  const locations = /^ipfs:/i.test(link) && link.length <= mostIpfsLink ? parseIpfsUri(link) : null;
  // Browsers would resolve `.` and `..` to a path outside the content.
  if (!locations || locations[0].path.some((name) => name === "." || name === "..")) return { kind: "link", link };
  // The content may have been stored here after the metadata was read.
  const stored = await ownContent(services, locations);
  return { kind: "content", path: stored?.cid ?? gatewayPath(locations[0]) };
}

/** The token must exist in the index: metadata of a token that a reorg removed may remain. */
function textOf(chainId: number): string {
  const withheld = withheldToken({ chainId: String(chainId), contract: "$1", tokenId: "$2::numeric" });
  return cachedStatement(
    `picture|${chainId}`,
    [],
    () => `SELECT m.cached_image, m.image FROM (SELECT) one
      LEFT JOIN service.token_metadata m ON m.chain_id = ${chainId} AND m.contract = $1 AND m.token_id = $2::numeric
      WHERE EXISTS (SELECT FROM nft.tokens t WHERE t.chain_id = ${chainId} AND t.contract = $1 AND t.token_id = $2::numeric)
        OR EXISTS (SELECT FROM ${withheld} w)`,
  );
}
