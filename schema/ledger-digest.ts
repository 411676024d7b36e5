/**
 * Number and digest of the ledger rows of a range of blocks (both ends belong to it): the sum of 60 bits
 * of each row's MD5, so that rows are added in any order and without memory. Tokens of ranges that were listed later do not
 * count: they come when their blocks were recorded long ago.
 *
 * @param schema quoted. @param from and @param to SQL expressions.
 */
export function ledgerDigest(schema: string, from: string, to: string): string {
  const row = `concat_ws(',', block_number, log_index, batch_index, encode(block_hash, 'hex'), encode(tx_hash, 'hex'),
    encode(contract, 'hex'), token_id, encode(from_address, 'hex'), encode(to_address, 'hex'), amount, standard)`;
  return `SELECT count(*) AS row_count, coalesce(sum(('x' || left(md5(${row}), 15))::bit(60)::bigint), 0) AS digest
    FROM ${schema}.transfer t WHERE block_number BETWEEN ${from} AND ${to} AND NOT EXISTS (
      SELECT FROM ${schema}.range_listing l WHERE l.block_number BETWEEN ${from} AND ${to} AND l.listed_later
        AND (l.block_number, l.log_index) = (t.block_number, t.log_index))`;
}
