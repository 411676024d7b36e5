/**
 * One token by its newest withheld range (ERC-2309), with the columns of `nft.tokens` that reads of a token use: a
 * token without a log of its own has no row there (docs/indexing.md). One row at most.
 *
 * Ranges are at most 10,000 tokens wide, and the lookup in the index of a contract's ranges relies on that.
 *
 * @param key SQL expressions.
 */
export function withheldToken(key: { chainId: string; contract: string; tokenId: string }): string {
  const nobody = `'\\x${"00".repeat(20)}'::bytea`;
  const minted = `r.from_address = ${nobody}`;
  return `(SELECT r.chain_id, r.contract, ${key.tokenId} AS token_id, 'ERC721'::text AS standard,
      CASE WHEN r.to_address <> ${nobody} THEN r.to_address END AS owner,
      (r.to_address <> ${nobody})::integer::numeric AS supply,
      CASE WHEN ${minted} THEN r.tx_from END AS creator,
      CASE WHEN ${minted} THEN r.block_number END AS mint_block,
      CASE WHEN ${minted} THEN r.block_timestamp END AS mint_timestamp
    FROM nft.token_ranges r
    WHERE r.chain_id = ${key.chainId} AND r.contract = ${key.contract} AND NOT r.listed
      AND r.from_token_id BETWEEN ${key.tokenId} - 9999 AND ${key.tokenId} AND r.to_token_id >= ${key.tokenId}
    ORDER BY r.block_number DESC, r.log_index DESC LIMIT 1)`;
}

/** The same for a key in the columns `chain_id`, `contract` and `token_id` of a statement's alias. */
export function withheldTokenOf(alias: string): string {
  return withheldToken({ chainId: `${alias}.chain_id`, contract: `${alias}.contract`, tokenId: `${alias}.token_id` });
}

/** Contracts with withheld tokens, with the identifying columns of `nft.contracts`; they may have rows there too. */
export const withheldContracts =
  "(SELECT f.chain_id, f.contract AS address, 'ERC721'::text AS standard FROM nft.contract_flags f WHERE f.flag = 'withheld')";
