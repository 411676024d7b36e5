const zeroAddress = `'\\x${"00".repeat(20)}'::bytea`;
const inOrder = "PARTITION BY contract, token_id ORDER BY block_number, log_index, batch_index";

/**
 * Table contract_flag: warnings about a contract, each with how often.
 *
 * - `inconsistent`: an ERC-721 movement from an account that was not the owner (mint of what exists,
 *   transfer after a burn, and the like), or an ERC-1155 balance below zero.
 * - `undecodable`: a log of a known event that could not become ledger rows.
 * - `suspended`: a block in which it moved so much that its movements were left out.
 * - `withheld`: a token of a range (ERC-2309) that got no rows, see range-allowance.ts.
 *
 * Reorgs take flags back like everything else.
 */
export function flagStatements(s: string): string[] {
  const kind = "CASE WHEN reason LIKE 'suspended%' THEN 'suspended' ELSE 'undecodable' END";
  const counted = (sign: string) => `
    INSERT INTO ${s}.contract_flag AS f (contract, flag, count)
    SELECT contract, ${kind}, ${sign}count(*) FROM rows GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (contract, flag) DO UPDATE SET count = f.count + excluded.count;`;
  const trigger = (name: string, operation: string, rows: string, sign: string) => [
    `CREATE FUNCTION ${s}.${name}() RETURNS trigger LANGUAGE plpgsql AS $body$ BEGIN ${counted(sign)} RETURN NULL; END $body$`,
    `CREATE TRIGGER derive_${name} AFTER ${operation} ON ${s}.rejected_log REFERENCING ${rows} TABLE AS rows
      FOR EACH STATEMENT EXECUTE FUNCTION ${s}.${name}()`,
  ];
  return [
    `CREATE TABLE ${s}.contract_flag (
      contract bytea NOT NULL, flag text NOT NULL, count bigint NOT NULL, PRIMARY KEY (contract, flag))`,
    ...trigger("log_rejected", "INSERT", "NEW", ""),
    ...trigger("log_restored", "DELETE", "OLD", "-"),
  ];
}

/** Adds `delta` of each contract to its count of inconsistencies; the text may read \`changes\`. */
export function flagDeltas(s: string, deltas: string, changes: string): string {
  return `
    WITH changes AS (${changes}), deltas AS (${deltas})
    INSERT INTO ${s}.contract_flag AS f (contract, flag, count)
    SELECT contract, 'inconsistent', delta FROM deltas WHERE delta <> 0 ORDER BY contract
    ON CONFLICT (contract, flag) DO UPDATE SET count = f.count + excluded.count;`;
}

/** A movement that is inconsistent by itself: from the zero address to the zero address. */
const fromZeroToZero = `(from_address = ${zeroAddress} AND to_address = ${zeroAddress})`;
/**
 * Aggregates over one token's ERC-721 movements, each with the receiver of the one `before`: how many are inconsistent as
 * far as these rows tell, and where the first one starts, for a comparison with the row before them. Null when the first
 * one is counted already: no movement counts twice, however the rows come in batches.
 */
export const breakCount = `count(*) FILTER (WHERE from_address <> before OR ${fromZeroToZero})`;
// One row fits the filter, so this is its value: bytea has no min() before PostgreSQL 18.
export const firstFrom = `string_agg(from_address, ''::bytea) FILTER (WHERE before IS NULL AND NOT ${fromZeroToZero})`;

/** Of each token of these rows: those two. Rows come and go at the ledger's end only. */
export const ledgerBreaks = (
  rows: string,
) => `SELECT contract, token_id, ${firstFrom} AS first_from, ${breakCount} AS breaks
    FROM (SELECT contract, token_id, from_address, to_address, lag(to_address) OVER (${inOrder}) AS before
      FROM ${rows} m WHERE standard = 'ERC721') moves
    GROUP BY contract, token_id`;
