/**
 * Indexes that readers need, and the triggers only when rows are taken back. The launcher makes them when the backfill is through: Ponder drops
 * and rebuilds the ones it knows at every restart, and a backfill runs faster without them.
 */
export function readIndexStatements(schema: string): string[] {
  const s = `"${schema}"`;
  return [
    // First, because the triggers use it when rows are taken back: a token's last and first rows.
    `CREATE INDEX IF NOT EXISTS transfer_token ON ${s}.transfer (contract, token_id, block_number, log_index, batch_index)`,
    `CREATE INDEX IF NOT EXISTS transfer_contract ON ${s}.transfer (contract, block_number, log_index, batch_index)`,
    `CREATE INDEX IF NOT EXISTS transfer_from ON ${s}.transfer (from_address, block_number, log_index, batch_index)`,
    `CREATE INDEX IF NOT EXISTS transfer_to ON ${s}.transfer (to_address, block_number, log_index, batch_index)`,
    `CREATE INDEX IF NOT EXISTS transfer_burn ON ${s}.transfer (contract, block_number, log_index, batch_index)
      WHERE to_address = '\\x${"00".repeat(20)}'::bytea`,
    `CREATE INDEX IF NOT EXISTS transfer_to_token ON ${s}.transfer (to_address, contract, token_id, block_number, log_index, batch_index)
      WHERE standard = 'ERC1155'`,
    `CREATE INDEX IF NOT EXISTS transfer_time ON ${s}.transfer (block_timestamp, block_number)`,
    `CREATE INDEX IF NOT EXISTS transfer_tx ON ${s}.transfer (tx_hash)`,
    // The walk of an account's page gets all that it shows of a token from the index.
    `CREATE INDEX IF NOT EXISTS token_held ON ${s}.token (owner, contract, token_id) INCLUDE (creator, mint_timestamp)
      WHERE owner IS NOT NULL`,
    `CREATE INDEX IF NOT EXISTS token_contract_owner ON ${s}.token (contract, owner, token_id) WHERE owner IS NOT NULL`,
    `CREATE INDEX IF NOT EXISTS token_creator ON ${s}.token (creator, mint_block, mint_log_index, mint_batch_index) WHERE supply > 0 AND mint_block IS NOT NULL`,
    `CREATE INDEX IF NOT EXISTS token_mint ON ${s}.token (mint_block, mint_log_index, mint_batch_index) WHERE mint_block IS NOT NULL`,
    `CREATE INDEX IF NOT EXISTS token_mint_time ON ${s}.token (mint_timestamp) WHERE mint_timestamp IS NOT NULL`,
    `CREATE INDEX IF NOT EXISTS token_live ON ${s}.token (contract, token_id) WHERE supply > 0`,
    `CREATE INDEX IF NOT EXISTS holding_owner ON ${s}.holding (owner, contract, token_id) WHERE amount > 0`,
    `CREATE INDEX IF NOT EXISTS holding_contract_owner ON ${s}.holding (contract, owner, token_id) WHERE amount > 0`,
    // Few contracts are of ERC-1155: who looks up standards finds those alone.
    `CREATE INDEX IF NOT EXISTS contract_multi ON ${s}.contract (address) WHERE standard = 'ERC1155'`,
    `CREATE INDEX IF NOT EXISTS collection_address ON ${s}.collection (address)`,
    `CREATE INDEX IF NOT EXISTS collection_tx ON ${s}.collection (tx_hash)`,
    `CREATE INDEX IF NOT EXISTS collection_intent ON ${s}.collection (intent_id)`,
    `CREATE INDEX IF NOT EXISTS metadata_update_contract ON ${s}.metadata_update (contract, block_number, log_index)`,
  ];
}
