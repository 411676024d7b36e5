import { type AnalyticsView, analyticsViews } from "./analytics-views.ts";

/** A view or function of schema `analytics`, with what makes it. */
export interface AnalyticsObject {
  name: string;
  kind: "VIEW" | "FUNCTION";
  /** As PostgreSQL's DROP, GRANT and COMMENT name it. */
  signature: string;
  create: string;
  comments: readonly string[];
}

/** All of schema `analytics`, in an order in which it can be made. */
export function analyticsObjects(hasService: boolean): AnalyticsObject[] {
  return [...analyticsViews(hasService).map(viewObject), holdingsAt];
}

function viewObject({ name, comment, barrier, columns, from }: AnalyticsView): AnalyticsObject {
  const list = columns.map(([column, sql]) => `${sql} AS ${column}`).join(",\n  ");
  const options = barrier ? " WITH (security_barrier = true)" : "";
  const signature = `analytics.${name}`;
  return {
    name,
    kind: "VIEW",
    signature,
    create: `CREATE OR REPLACE VIEW ${signature}${options} AS SELECT\n  ${list}\n${from}`,
    comments: [
      `COMMENT ON VIEW ${signature} IS ${quote(comment)}`,
      ...columns.map(([column, , text]) => `COMMENT ON COLUMN ${signature}.${column} IS ${quote(text)}`),
    ],
  };
}

const zeroAddress = `'\\x${"00".repeat(20)}'::bytea`;
const address = (bytes: string) => `'0x' || encode(${bytes}, 'hex')`;
const holdingsAtSignature = "analytics.holdings_at(integer, bigint)";

/**
 * Holdings after a past block, by the rules of derived-state.ts over the rows up to it: a token with an
 * ERC-1155 event so far counts as ERC-1155 (its last row sorts first then, and is not taken); else the
 * receiver of its last row holds it.
 *
 * Plain SQL, STABLE and with the caller's own rights, so that PostgreSQL puts the body into the query:
 * a condition on contract_bytes or token_id outside then reaches the ledger's index. An owner's
 * condition cannot, because who held a token is known only from everything that happened to it.
 */
const holdingsAt: AnalyticsObject = {
  name: "holdings_at",
  kind: "FUNCTION",
  signature: holdingsAtSignature,
  create: `CREATE OR REPLACE FUNCTION analytics.holdings_at(at_chain integer, at_block bigint)
RETURNS TABLE (contract text, contract_bytes bytea, token_id numeric, owner text, owner_bytes bytea, amount numeric, standard text)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 10000 AS $body$
  SELECT ${address("h.contract_bytes")}, h.contract_bytes, h.token_id, ${address("h.owner_bytes")}, h.owner_bytes, h.amount, h.standard
  FROM (
    SELECT l.contract_bytes, l.token_id::numeric AS token_id, l.to_address_bytes AS owner_bytes, 1::numeric AS amount, 'ERC721'::text AS standard
    FROM (
      SELECT DISTINCT ON (t.contract_bytes, t.token_id) t.contract_bytes, t.token_id, t.to_address_bytes, t.standard
      FROM analytics.transfers t
      WHERE t.chain_id = at_chain AND t.block_number <= at_block
      ORDER BY t.contract_bytes, t.token_id, t.standard = 'ERC1155' DESC,
        t.block_number DESC, t.log_index DESC, t.batch_index DESC) l
    WHERE l.standard = 'ERC721' AND l.to_address_bytes <> ${zeroAddress}
    UNION ALL
    SELECT m.contract_bytes, m.token_id::numeric, m.owner_bytes, sum(m.delta), 'ERC1155'::text
    FROM (
      SELECT t.contract_bytes, t.token_id, t.to_address_bytes AS owner_bytes, t.amount AS delta FROM analytics.transfers t
      WHERE t.chain_id = at_chain AND t.block_number <= at_block AND t.standard = 'ERC1155'
      UNION ALL
      SELECT t.contract_bytes, t.token_id, t.from_address_bytes, -t.amount FROM analytics.transfers t
      WHERE t.chain_id = at_chain AND t.block_number <= at_block AND t.standard = 'ERC1155') m
    WHERE m.owner_bytes <> ${zeroAddress}
    GROUP BY m.contract_bytes, m.token_id, m.owner_bytes HAVING sum(m.delta) > 0) h
  WHERE at_block <= (SELECT c.block_number FROM analytics.chains c WHERE c.chain_id = at_chain)
$body$`,
  comments: [
    `COMMENT ON FUNCTION ${holdingsAtSignature} IS ${quote(
      "Holdings of one chain after a block: (chain id, block number). No rows for a block that is not indexed yet. Condition contract_bytes to use the index.",
    )}`,
  ],
};

function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
