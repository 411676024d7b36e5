import { contractsAdded } from "./derived-state.ts";
import { isMovement } from "./fungible.ts";
import { productOwners } from "./product-owners.ts";
import { tokensAdded } from "./tokens-added.ts";

/** A statement with its parameters. */
export interface Statement {
  text: string;
  values: readonly unknown[];
}

/** Token ids from `low` to below `high`, as PostgreSQL writes numeric: of one contract. */
interface TokenIds {
  contract: Buffer;
  low: string;
  high: string;
}

const zeroAddress = `'\\x${"00".repeat(20)}'::bytea`;

/**
 * The next contract of a chain's schema whose rows of table `fungible` are not as the worker knows it: `wanted` is whether it is
 * of ERC-20, `below` how far its tokens are left out. In no order, so that no contract keeps the others waiting. $1 is the
 * chain's id.
 */
export function nextFungible(schema: string): string {
  return `SELECT coalesce(w.address, f.address) AS contract, w.address IS NOT NULL AS wanted, coalesce(f.below, 0)::text AS below
    FROM (SELECT address FROM service.contract_metadata WHERE chain_id = $1 AND fungible) w
    FULL JOIN "${schema}".fungible f ON f.address = w.address
    WHERE CASE WHEN w.address IS NULL THEN f.below > 0 ELSE f.below IS DISTINCT FROM 'Infinity' END
    ORDER BY random() LIMIT 1`;
}

/** Where a portion of so many tokens ends that are to be left out. */
export function endOfTokens(schema: string, contract: Buffer, from: string, portion: number): Statement {
  return {
    text: `SELECT coalesce((SELECT token_id FROM "${schema}".token WHERE contract = $1 AND token_id >= $2 AND transfers_721 > 0
      ORDER BY token_id OFFSET ${portion} LIMIT 1)::text, 'Infinity') AS end`,
    values: [contract, from],
  };
}

/** Where a portion of about so many ledger rows begins that are to be tokens again: all rows of a token are in one. */
export function beginOfRows(schema: string, contract: Buffer, to: string, portion: number): Statement {
  return {
    text: `SELECT coalesce((SELECT CASE WHEN token_id + 1 < $2 THEN token_id + 1 ELSE token_id END FROM "${schema}".transfer
      WHERE contract = $1 AND token_id < $2 AND standard = 'ERC721'
      ORDER BY contract DESC, token_id DESC OFFSET ${portion} LIMIT 1), 0)::text AS begin`,
    values: [contract, to],
  };
}

/**
 * Takes a contract's tokens with these ids out of the derived state, as if their ERC-721 rows had never come: the table
 * `fungible` says that they are left out up to `high`. To be run in one transaction behind `lockLedger`.
 */
export function leaveOut(schema: string, { contract, low, high }: TokenIds): Statement[] {
  const s = `"${schema}"`;
  const isOne = "t.contract = $1 AND t.token_id >= $2 AND t.token_id < $3 AND t.transfers_721 > 0";
  const mint = ["block_number", "log_index", "batch_index", "block_timestamp", "tx_hash"];
  const columns = ["mint_block", "mint_log_index", "mint_batch_index", "mint_timestamp", "mint_tx"];
  const values = [contract, low, high];
  return [
    {
      text: `INSERT INTO ${s}.fungible AS f (address, below, transfers)
        SELECT $1::bytea, $3::numeric, coalesce(sum(t.transfers_721), 0) FROM ${s}.token t WHERE ${isOne}
        ON CONFLICT (address) DO UPDATE SET below = excluded.below, transfers = f.transfers + excluded.transfers`,
      values,
    },
    {
      text: `UPDATE ${s}.contract c SET transfers_721 = c.transfers_721 - n.count
        FROM (SELECT coalesce(sum(t.transfers_721), 0) AS count FROM ${s}.token t WHERE ${isOne}) n WHERE c.address = $1`,
      values,
    },
    { text: `DELETE FROM ${s}.token t WHERE ${isOne} AND t.transfers_1155 = 0`, values },
    {
      // What has events of both standards stays, as its ERC-1155 events have it.
      text: `UPDATE ${s}.token t SET transfers_721 = 0, last_block = NULL, last_log_index = NULL, last_batch_index = NULL,
          last_to = NULL, breaks = 0, first_from = NULL, ${columns.map((column, at) => `${column} = m.${mint[at]}`).join(", ")},
          creator = CASE WHEN m.tx_from IS NOT NULL THEN coalesce(p.product_owner, m.tx_from) END
        FROM ${s}.token k LEFT JOIN LATERAL (SELECT x.* FROM ${s}.transfer x WHERE x.contract = k.contract AND x.token_id = k.token_id
          AND x.standard = 'ERC1155' AND x.from_address = ${zeroAddress}
          ORDER BY x.block_number, x.log_index, x.batch_index LIMIT 1) m ON true
        LEFT JOIN ${productOwners(s)} ON p.contract = k.contract
        WHERE ${isOne} AND k.contract = t.contract AND k.token_id = t.token_id`,
      values,
    },
    {
      text: `DELETE FROM ${s}.contract WHERE address = $1 AND transfers_721 = 0 AND transfers_1155 = 0`,
      values: [contract],
    },
    {
      // Of a contract that goes in portions, each begins where the one before ended.
      text: `UPDATE ${s}.contract c SET first_block = (SELECT x.block_number FROM ${s}.transfer x
          WHERE x.contract = $1 AND x.block_number >= c.first_block AND ${isMovement(s, "x")} ORDER BY x.block_number LIMIT 1)
        WHERE c.address = $1`,
      values: [contract],
    },
  ];
}

/** Makes a contract's rows with these token ids movements again; the opposite of `leaveOut`, under the same conditions. */
export function takeIn(schema: string, { contract, low, high }: TokenIds): Statement[] {
  const s = `"${schema}"`;
  const rows = `(SELECT x.* FROM ${s}.transfer x
    WHERE x.contract = $1 AND x.token_id >= $2 AND x.token_id < $3 AND x.standard = 'ERC721')`;
  const values = [contract, low, high];
  return [
    {
      text: `UPDATE ${s}.fungible SET below = $2, transfers = transfers - (SELECT count(*) FROM ${rows} r) WHERE address = $1`,
      values,
    },
    { text: contractsAdded(s, rows), values },
    { text: tokensAdded(s, "ERC721", { rows, inProducts: true }), values },
  ];
}
