const inOrder = "ORDER BY block_number, log_index, batch_index ROWS UNBOUNDED PRECEDING";
const secondsPerDay = 86_400;

/** How many tokens of ranges (ERC-2309) are listed one by one. */
export interface RangeAllowance {
  /** Of one contract, in its life. */
  contract: number;
  /** Of all contracts together to whose ranges one transaction sender gave occasion, on one day of block time (UTC). */
  sender: number;
  /** Of the whole chain, on one day. */
  chain: number;
  /** Of a contract, for each ERC-721 log that it has had, this one included, whatever the three above say. */
  perMovement: number;
  /** Of one contract in one block, and of all contracts together that are listed for their movements: bounds a statement's rows. */
  contractBlock: number;
  block: number;
}

/**
 * A log of some 2,000 gas can name 10,000 tokens, and each costs about two kilobytes as rows. Collections that are minted in
 * their constructor have 5,000 or 10,000. What is withheld can be listed later (range-later.ts).
 */
export const rangeAllowance: RangeAllowance = {
  contract: 10_000,
  sender: 10_000,
  chain: 15_000,
  perMovement: 10,
  contractBlock: 10_000,
  block: 50_000,
};

/**
 * Tables of ranges: `range_listing` has a row for each log that reported a range of two tokens or more, and says whether the
 * range became ledger rows; `range_total` adds up what the allowances are compared with.
 *
 * Rows are written by `expandRanges` and go with the row of Ponder's table `token_range`. The decision about a range looks
 * only at logs before it in the chain, so that indexing again, in whatever batches, gives the same ledger.
 */
export function rangeStatements(s: string): string[] {
  return [
    `CREATE TABLE ${s}.range_listing (
      block_number bigint NOT NULL,
      log_index integer NOT NULL,
      block_hash bytea NOT NULL,
      block_timestamp bigint NOT NULL,
      tx_hash bytea NOT NULL,
      tx_from bytea NOT NULL,
      contract bytea NOT NULL,
      from_token_id numeric(78,0) NOT NULL,
      to_token_id numeric(78,0) NOT NULL,
      from_address bytea NOT NULL,
      to_address bytea NOT NULL,
      listed boolean NOT NULL,
      -- Whether it was withheld when it was announced, and listed since: its ledger rows came after the block was final.
      listed_later boolean NOT NULL DEFAULT false,
      tokens bigint NOT NULL,
      -- What it takes of the allowances of its sender and of the chain.
      sender_tokens bigint NOT NULL,
      chain_tokens bigint NOT NULL,
      PRIMARY KEY (block_number, log_index)
    )`,
    `CREATE INDEX range_listing_contract ON ${s}.range_listing (contract, from_token_id)`,
    `CREATE TABLE ${s}.range_total (
      kind text NOT NULL,
      key bytea NOT NULL,
      day bigint NOT NULL,
      tokens bigint NOT NULL,
      listed bigint NOT NULL,
      logs bigint NOT NULL,
      PRIMARY KEY (kind, key, day)
    )`,
    `CREATE FUNCTION ${s}.ranges_removed() RETURNS trigger LANGUAGE plpgsql AS $body$ BEGIN
      IF EXISTS (SELECT FROM rows) THEN
        ${totalsAndFlags(s, "SELECT block_number, log_index FROM rows", -1).join(";\n")};
        DELETE FROM ${s}.range_listing l USING rows r
        WHERE l.block_number = r.block_number AND l.log_index = r.log_index;
      END IF;
      RETURN NULL;
    END $body$`,
    `CREATE TRIGGER derive_ranges_removed AFTER DELETE ON ${s}.token_range REFERENCING OLD TABLE AS rows
      FOR EACH STATEMENT EXECUTE FUNCTION ${s}.ranges_removed()`,
  ];
}

/**
 * For a trigger of `transfer` whose new `rows` have ranges (batch index -1, the number of tokens in place of the amount):
 * decides about each, and writes the statement's rows again with the listed ranges inserted, so that all
 * reaches the derived state in the chain's order, as if each token had had a log of its own.
 */
export function expandRanges(s: string, allowance: RangeAllowance, planned: (statements: string) => string): string {
  const position = "r.block_number, r.log_index, r.batch_index";
  const total = (kind: string, key: string, day: string) =>
    `LEFT JOIN ${s}.range_total t ON t.kind = '${kind}' AND t.key = ${key} AND t.day = ${day}`;
  // A block's rows can come in several statements.
  const sumsOfBlocks = (sums: string, by: string) => `(SELECT block_number AS at_block, ${sums} FROM ${s}.range_listing
      WHERE block_number IN (SELECT block_number FROM rows WHERE batch_index < 0) GROUP BY block_number${by})`;
  const decide = `
    INSERT INTO ${s}.range_listing (block_number, log_index, block_hash, block_timestamp, tx_hash, tx_from, contract, from_token_id,
      to_token_id, from_address, to_address, tokens, sender_tokens, chain_tokens, listed)
    WITH moved AS (
      SELECT r.*, CASE WHEN batch_index < 0 THEN amount::bigint ELSE 0 END AS tokens,
        block_timestamp / ${secondsPerDay} AS day,
        count(*) FILTER (WHERE standard = 'ERC721') OVER (PARTITION BY contract ${inOrder}) AS logs
      FROM rows r WHERE contract IN (SELECT contract FROM rows WHERE batch_index < 0)
    ), of_contract AS (
      SELECT m.*, sum(m.tokens) OVER (PARTITION BY m.contract ${inOrder}) + coalesce(t.tokens, 0) AS contract_sum,
        -- All logs count, of whatever they are: what decides here must be the same in every index.
        m.logs + coalesce(t.logs - t.listed, 0) + coalesce(c.transfers_721, 0) + coalesce(f.transfers, 0) AS movements,
        sum(m.tokens) OVER (PARTITION BY m.block_number, m.contract ${inOrder}) + coalesce(b.tokens, 0) AS contract_block_sum
      FROM moved m LEFT JOIN ${sumsOfBlocks("contract AS of, sum(tokens) AS tokens", ", contract")} b
        ON b.at_block = m.block_number AND b.of = m.contract
      LEFT JOIN ${s}.contract c ON c.address = m.contract LEFT JOIN ${s}.fungible f ON f.address = m.contract
      ${total("contract", "m.contract", "0")}
      WHERE m.batch_index < 0
    ), of_sender AS (
      SELECT o.*, by_movements, sender_tokens,
        sum(o.tokens - sender_tokens) OVER (PARTITION BY o.block_number ${inOrder}) + coalesce(b.tokens, 0) AS block_sum,
        sum(sender_tokens) OVER (PARTITION BY tx_from, o.day ${inOrder}) + coalesce(t.tokens, 0) AS sender_sum
      FROM of_contract o
      CROSS JOIN LATERAL (SELECT contract_sum <= ${allowance.perMovement} * movements AS by_movements) a
      CROSS JOIN LATERAL (SELECT CASE WHEN by_movements THEN 0 ELSE o.tokens END AS sender_tokens) c
      LEFT JOIN ${sumsOfBlocks("sum(tokens - sender_tokens) AS tokens", "")} b ON b.at_block = o.block_number
      ${total("sender", "o.tx_from", "o.day")}
    ), of_chain AS (
      SELECT o.*, chain_tokens,
        sum(chain_tokens) OVER (PARTITION BY o.day ${inOrder}) + coalesce(t.tokens, 0) AS chain_sum
      FROM of_sender o
      CROSS JOIN LATERAL (SELECT CASE WHEN contract_sum <= ${allowance.contract} AND sender_sum <= ${allowance.sender}
        THEN sender_tokens ELSE 0 END AS chain_tokens) a
      ${total("chain", "''::bytea", "o.day")}
    )
    SELECT block_number, log_index, block_hash, block_timestamp, tx_hash, tx_from, contract, token_id, token_id + tokens - 1,
      from_address, to_address, tokens, sender_tokens, chain_tokens,
      contract_block_sum <= ${allowance.contractBlock} AND CASE WHEN by_movements THEN block_sum <= ${allowance.block}
        ELSE chain_tokens > 0 AND chain_sum <= ${allowance.chain} END
    FROM of_chain`;
  const both = (
    row: string,
    batch: string,
    token: string,
    amount: string,
  ) => `SELECT ${row}.block_number, ${row}.log_index,
      ${batch}, ${row}.block_hash, ${row}.block_timestamp, ${row}.tx_hash, ${row}.tx_from, ${row}.contract, ${token},
      ${row}.from_address, ${row}.to_address, ${row}.operator, ${amount}, ${row}.standard`;
  // The ledger's own trigger passes over what a trigger deletes, see derived-state.ts.
  const remove = `DELETE FROM ${s}.transfer t USING rows r WHERE (t.block_number, t.log_index, t.batch_index) = (${position})`;
  const write = `
    INSERT INTO ${s}.transfer (block_number, log_index, batch_index, block_hash, block_timestamp, tx_hash, tx_from,
      contract, token_id, from_address, to_address, operator, amount, standard)
    ${both("r", "r.batch_index", "r.token_id", "r.amount")} FROM rows r WHERE r.batch_index >= 0
    UNION ALL
    ${both("r", "n", "r.token_id + n", "1")}
    FROM rows r JOIN ${s}.range_listing l ON l.block_number = r.block_number AND l.log_index = r.log_index AND l.listed
    CROSS JOIN LATERAL generate_series(0, r.amount::integer - 1) n WHERE r.batch_index < 0
    ORDER BY 1, 2, 3`;
  const ofRanges = "SELECT block_number, log_index FROM rows WHERE batch_index < 0";
  return planned([decide, ...totalsAndFlags(s, ofRanges, 1), remove, write].join(";\n"));
}

/** Adds the ranges with these keys to the totals and to flag `withheld`, or takes them away. */
export function totalsAndFlags(s: string, keys: string, sign: 1 | -1): string[] {
  const ranges = `SELECT l.* FROM ${s}.range_listing l JOIN (${keys}) p USING (block_number, log_index)`;
  const day = `block_timestamp / ${secondsPerDay}`;
  const sums = (kind: string, key: string, of: string, tokens: string) =>
    `SELECT '${kind}' AS kind, ${key} AS key, ${of} AS day, sum(${tokens}) AS tokens,
      coalesce(sum(tokens) FILTER (WHERE listed), 0) AS listed, count(*) AS logs FROM ranges GROUP BY 2, 3`;
  return [
    `INSERT INTO ${s}.range_total AS t (kind, key, day, tokens, listed, logs)
    WITH ranges AS (${ranges})
    SELECT kind, key, day, ${sign} * tokens, ${sign} * listed, ${sign} * logs FROM (
      ${sums("contract", "contract", "0", "tokens")}
      UNION ALL ${sums("sender", "tx_from", day, "sender_tokens")}
      UNION ALL ${sums("chain", "''::bytea", day, "chain_tokens")}) x
    ON CONFLICT (kind, key, day) DO UPDATE SET tokens = t.tokens + excluded.tokens, listed = t.listed + excluded.listed,
      logs = t.logs + excluded.logs`,
    `INSERT INTO ${s}.contract_flag AS f (contract, flag, count)
    SELECT contract, 'withheld', ${sign} * sum(tokens) FROM (${ranges}) r WHERE NOT listed GROUP BY contract
    ON CONFLICT (contract, flag) DO UPDATE SET count = f.count + excluded.count`,
  ];
}
