import { findChain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import { cachedStatement } from "../db/pool/cached-statement.ts";
import { withheldToken } from "../db/withheld-token.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import type { NftKey } from "./get-nfts.ts";

/** Where a token's picture is. */
export interface TokenPicture {
  /** The CID of this service's own copy; null when it holds none. */
  own: string | null;
  /** As the metadata has it, a data: URI of a megabyte too; null: the metadata names none, or has not been read. */
  link: string | null;
}

/**
 * Looks up the picture that a token's metadata names.
 *
 * @throws ServiceError `not_found` for a token the index has never seen, and what `findChain` throws.
 */
export async function findPicture(services: Services, { chain, contract, tokenId }: NftKey): Promise<TokenPicture> {
  const { id } = findChain(services.chains, chain);
  const values = [toBytes(contract), String(tokenId)];
  const row = await services.reads.first(textOf(id), values);
  if (!row) throw new ServiceError("not_found", "the index has no such token");
  const picture = { own: row.text(0), link: row.text(1) };
  row.release();
  return picture;
}

/** Metadata of a token that a reorganisation took away may still be there. */
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
