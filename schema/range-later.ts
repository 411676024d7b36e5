import { type RangeAllowance, rangeAllowance, totalsAndFlags } from "./range-allowance.ts";

const ledgerColumns = [
  ...["block_number", "log_index", "batch_index", "block_hash", "block_timestamp", "tx_hash", "tx_from", "contract"],
  ...["token_id", "from_address", "to_address", "operator", "amount", "standard"],
];
const columnsOf = (alias: string) => ledgerColumns.map((column) => `${alias}.${column}`).join(", ");

/** Where a range was announced. */
export interface RangeKey {
  blockNumber: bigint;
  logIndex: number;
}

/**
 * The oldest withheld range of a final block that shall be listed now: an operator has let its contract in
 * (`service.listed_contract`), or the contract has had one ERC-721 log in final blocks for each `perMovement` tokens that
 * it announced up to and with the range.
 *
 * Only final blocks count, so no reorganisation takes back the reason why a range was listed, and an index that is made
 * anew comes to the same state.
 *
 * @param schema a chain's schema that has its indexes for readers. $1 is the chain's id.
 */
export function lateRange(schema: string, { perMovement }: RangeAllowance = rangeAllowance): string {
  const s = `"${schema}"`;
  const final = `(SELECT substr(finalized_checkpoint, 27, 16)::bigint FROM ${s}._ponder_checkpoint)`;
  // Each log counts once, that of a range too.
  const movements = `(SELECT count(*) FROM (SELECT FROM ${s}.transfer t
        LEFT JOIN ${s}.range_listing own ON own.block_number = t.block_number AND own.log_index = t.log_index
        WHERE t.contract = r.contract AND t.standard = 'ERC721' AND t.block_number <= ${final} AND own.log_index IS NULL
        LIMIT r.needed) one)
      + (SELECT count(*) FROM ${s}.range_listing own WHERE own.contract = r.contract AND own.block_number <= ${final})`;
  return `
    WITH withheld AS (
      SELECT f.contract, a.address IS NOT NULL AS allowed,
        coalesce(c.transfers_721, 0) + coalesce(u.transfers, 0) + coalesce(t.logs - t.listed, 0) AS movements
      FROM ${s}.contract_flag f
      LEFT JOIN service.listed_contract a ON a.chain_id = $1 AND a.address = f.contract
      LEFT JOIN ${s}.contract c ON c.address = f.contract
      LEFT JOIN ${s}.fungible u ON u.address = f.contract
      LEFT JOIN ${s}.range_total t ON t.kind = 'contract' AND t.key = f.contract AND t.day = 0
      -- A contract of one large range and nothing else, as a flood has them, is passed over before its ranges are read.
      WHERE f.flag = 'withheld' AND f.count > 0
        AND (a.address IS NOT NULL OR c.address IS NOT NULL OR u.transfers > 0 OR t.logs > 1 OR t.tokens <= ${perMovement})
    ), ranges AS (
      SELECT l.block_number, l.log_index, l.contract, l.listed, w.allowed, w.movements,
        ceil(sum(l.tokens) OVER (PARTITION BY l.contract ORDER BY l.block_number, l.log_index) / ${perMovement})::bigint AS needed
      FROM withheld w JOIN ${s}.range_listing l ON l.contract = w.contract
    )
    SELECT block_number, log_index FROM ranges r
    WHERE NOT listed AND block_number <= ${final} AND (allowed OR (movements >= needed AND ${movements} >= needed))
    ORDER BY block_number, log_index LIMIT 1`;
}

/**
 * Keeps other writers of the ledger away until the transaction ends; fails when one is at work.
 * Waiting could end in a deadlock, and PostgreSQL might then end Ponder's transaction.
 */
export function lockLedger(schema: string): string {
  return `LOCK TABLE "${schema}".transfer, "${schema}".token_range IN SHARE ROW EXCLUSIVE MODE NOWAIT`;
}

/** Names of the triggers of `transfer` that are not ours. */
export function externalTriggers(schema: string): string {
  return `SELECT tgname AS name FROM pg_trigger
    WHERE tgrelid = '"${schema}".transfer'::regclass AND NOT tgisinternal AND tgname NOT LIKE 'derive\\_%'`;
}

/**
 * Lists a withheld range of a final block: its tokens get their ledger rows at the position of the log. To be run in one
 * transaction behind `lockLedger`.
 *
 * What the ledger has of these tokens since is taken out and written again with them, so that the derived state sees all
 * of a token's rows in order. Ponder's triggers are off meanwhile. They would record the rows with the next block and a
 * reorganisation of it would take them back; what Ponder recorded of rows above the final block holds as it is.
 *
 * @param triggers see `externalTriggers`.
 */
export function listLateRange(schema: string, { blockNumber, logIndex }: RangeKey, triggers: string[]): string[] {
  const s = `"${schema}"`;
  const key = `SELECT ${blockNumber}::bigint AS block_number, ${logIndex}::integer AS log_index`;
  const isIt = `r.block_number = ${blockNumber} AND r.log_index = ${logIndex}`;
  const itsTokens = `t.contract = r.contract AND t.token_id BETWEEN r.from_token_id AND r.to_token_id`;
  const set = (word: string) =>
    triggers.map((name) => `ALTER TABLE ${s}.transfer ${word} TRIGGER "${name.replaceAll('"', '""')}"`);
  return [
    ...set("DISABLE"),
    ...totalsAndFlags(s, key, -1),
    `UPDATE ${s}.range_listing r SET listed = true, listed_later = true WHERE ${isIt}`,
    ...totalsAndFlags(s, key, 1),
    `CREATE TEMPORARY TABLE moved_since ON COMMIT DROP AS SELECT ${columnsOf("t")} 
      FROM ${s}.transfer t JOIN ${s}.range_listing r ON ${isIt} AND ${itsTokens}`,
    `DELETE FROM ${s}.transfer t USING ${s}.range_listing r WHERE ${isIt} AND ${itsTokens}`,
    `INSERT INTO ${s}.transfer (${ledgerColumns.join(", ")})
      SELECT * FROM moved_since
      UNION ALL
      SELECT r.block_number, r.log_index, n::integer, r.block_hash, r.block_timestamp, r.tx_hash, r.tx_from, r.contract,
        r.from_token_id + n, r.from_address, r.to_address, NULL, 1, 'ERC721'
      FROM ${s}.range_listing r CROSS JOIN LATERAL generate_series(0, r.tokens - 1) n WHERE ${isIt}
      ORDER BY 1, 2, 3`,
    ...set("ENABLE"),
  ];
}
