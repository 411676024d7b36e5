/**
 * Table fungible: contracts whose `Transfer` logs look like ERC-721's and are of ERC-20, because they index the value
 * (docs/indexing.md). Logs do not tell that; the launcher writes what was found out otherwise (`move-fungible.ts`).
 *
 * The ledger keeps their rows, and every index of a chain has the same ones. They are no movements of tokens: the derived
 * state and what readers see are those of a ledger without them.
 *
 * - `below`: rows with a smaller token id are left out. A large contract goes in portions, so it is somewhere in between
 *   until it is Infinity, and again when the contract turns out to be a collection. Then it is 0 in the end; the row stays,
 *   so that a contract that answers now this and now that does not change the views each time.
 * - `transfers`: rows of the ledger that are left out.
 */
export function fungibleStatements(s: string): string[] {
  return [
    `CREATE TABLE ${s}.fungible (
      address bytea PRIMARY KEY,
      below numeric NOT NULL DEFAULT 0,
      transfers bigint NOT NULL DEFAULT 0
    )`,
  ];
}

/** The rule: whether a ledger row is a movement of a token. @param row alias of the row. */
export function isMovement(s: string, row: string): string {
  return `NOT EXISTS (SELECT FROM ${s}.fungible f WHERE ${isLeftOut(row, "f")})`;
}

/** Rows of the ledger, or of a statement of it, that are movements; to be read as a table. */
export function movements(s: string, rows: string): string {
  return `(SELECT r.* FROM ${rows} r WHERE ${isMovement(s, "r")})`;
}

/** A ledger row is left out because of this row of `fungible`. What else a contract has, as ERC-1155, are tokens. */
function isLeftOut(row: string, mark: string): string {
  return `${mark}.address = ${row}.contract AND ${row}.token_id < ${mark}.below AND ${row}.standard = 'ERC721'`;
}

/** Counts rows that come to the ledger, or go, and are left out. */
export function countLeftOut(s: string, sign: 1 | -1): string {
  return `UPDATE ${s}.fungible m SET transfers = m.transfers + ${sign} * n.count
    FROM (SELECT r.contract, count(*) FROM rows r JOIN ${s}.fungible f ON ${isLeftOut("r", "f")} GROUP BY r.contract) n
    WHERE m.address = n.contract;`;
}
