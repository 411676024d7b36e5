import { breakCount, firstFrom } from "./contract-flags.ts";
import { productOwners } from "./product-owners.ts";

const zeroAddress = `'\\x${"00".repeat(20)}'::bytea`;

/**
 * New ledger rows of one standard into table `token`, in one pass over them in key order.
 *
 * Each standard for itself: the row before in a token's order is then the one that says its owner, also when a token has
 * events of both, and the second statement only adds to what the first one wrote.
 *
 * @param rows as a table. `inProducts`: whether some are minted in product contracts, whose owners are then looked up.
 */
export function tokensAdded(
  s: string,
  standard: "ERC721" | "ERC1155",
  { rows, inProducts }: { rows: string; inProducts: boolean },
): string {
  const single = standard === "ERC721";
  const at = (row: string, ...columns: string[]) =>
    columns.map((column) => `max(${column}) FILTER (WHERE ${row})`).join(", ");
  // One row fits the filter; bytea has no max() before PostgreSQL 18.
  const bytesAt = (row: string, column: string) => `string_agg(${column}, ''::bytea) FILTER (WHERE ${row})`;
  const last = ["last_block", "last_log_index", "last_batch_index", "last_to"];
  const mint = ["mint_block", "mint_log_index", "mint_batch_index", "mint_timestamp", "mint_tx", "creator"];
  const own = single ? "transfers_721" : "transfers_1155";
  const position = (row: string, columns: string[]) => `(${columns.slice(0, 3).map((column) => `${row}.${column}`)})`;
  const pick = (columns: string[], sign: "<" | ">") =>
    columns.map(
      (column) => `${column} = CASE WHEN t.${columns[0]} IS NULL
        OR ${position("n", columns)} ${sign} ${position("t", columns)} THEN n.${column} ELSE t.${column} END`,
    );
  const columns = [...mint, ...(single ? [...last, "breaks", "first_from"] : [])];
  const ofOwner = `,
      ${at("after IS NULL", "block_number", "log_index", "batch_index")}, ${bytesAt("after IS NULL", "to_address")},
      ${breakCount}, ${firstFrom}`;
  return `
    MERGE INTO ${s}.token t USING (SELECT contract, token_id, ${single ? "count(*), 0" : "0, count(*)"},
      ${at("mint = 1", "block_number", "log_index", "batch_index", "block_timestamp")},
      ${bytesAt("mint = 1", "tx_hash")}, ${bytesAt("mint = 1", "creator")}${single ? ofOwner : ""}
    FROM (SELECT contract, token_id, block_number, log_index, batch_index, block_timestamp, tx_hash,
        ${inProducts ? "coalesce(product_owner, tx_from)" : "tx_from"} AS creator,
        from_address, to_address, lag(to_address) OVER w AS before, lead(to_address) OVER w AS after,
        CASE WHEN from_address = ${zeroAddress} THEN count(*) FILTER (WHERE from_address = ${zeroAddress}) OVER w END AS mint
      FROM ${rows} m ${inProducts ? `LEFT JOIN ${productOwners(s)} USING (contract)` : ""} WHERE standard = '${standard}'
      WINDOW w AS (PARTITION BY contract, token_id ORDER BY block_number, log_index, batch_index)) moves
    GROUP BY contract, token_id) AS n (contract, token_id, transfers_721, transfers_1155, ${columns.join(", ")})
    ON t.contract = n.contract AND t.token_id = n.token_id
    WHEN MATCHED THEN UPDATE SET
      ${[
        `${own} = t.${own} + n.${own}`,
        ...pick(mint, "<"),
        ...(single
          ? [`breaks = t.breaks + n.breaks + coalesce((n.first_from <> t.last_to)::integer, 0)`, ...pick(last, ">")]
          : []),
      ].join(",\n      ")}
    WHEN NOT MATCHED THEN INSERT (contract, token_id, transfers_721, transfers_1155, ${columns.join(", ")})
      VALUES (n.contract, n.token_id, n.transfers_721, n.transfers_1155, ${columns.map((c) => `n.${c}`).join(", ")});`;
}
