/** A rule that must hold in a chain's schema, and the query that lists what breaks it. */
export interface Invariant {
  /** I3, I4 and I8 of the operator's list. */
  id: "I3" | "I4" | "I8";
  name: string;
  /** One row per broken thing, with a column `what` in words; no rows: the rule holds. */
  sql: string;
}

const zeroAddress = `'\\x${"00".repeat(20)}'::bytea`;

/**
 * Compares the derived state of one chain's schema with the ledger by plain SQL that shares nothing with
 * the triggers. Reads whole tables: run it in one REPEATABLE READ transaction, so that all see one block,
 * and without the time-out of a request. Each query stops at 100 findings.
 *
 * @param schema a chain's schema, `c<chainId>_<hash8>`.
 */
export function invariants(schema: string): Invariant[] {
  const s = `"${schema}"`;
  // What is of ERC-20 although its logs are ERC-721's moves no tokens.
  const moved = `(SELECT l.* FROM ${s}.transfer l LEFT JOIN ${s}.fungible e ON e.address = l.contract
    WHERE l.standard = 'ERC1155' OR l.token_id >= coalesce(e.below, 0))`;
  const token = (alias: string) => `'0x' || encode(${alias}.contract, 'hex') || ' ' || ${alias}.token_id`;
  // Both standards by token: with a single ERC-1155 row the token counts as ERC-1155.
  const standards = `SELECT contract, token_id, bool_or(standard = 'ERC1155') AS multi FROM ${moved} r GROUP BY 1, 2`;
  const lastRows = `SELECT DISTINCT ON (contract, token_id) contract, token_id, to_address FROM ${moved} r
    WHERE standard = 'ERC721' ORDER BY contract, token_id, block_number DESC, log_index DESC, batch_index DESC`;
  const sums = `SELECT contract, token_id, owner, sum(delta) AS amount FROM (
      SELECT contract, token_id, to_address AS owner, amount AS delta FROM ${moved} r WHERE standard = 'ERC1155'
      UNION ALL
      SELECT contract, token_id, from_address, -amount FROM ${moved} r WHERE standard = 'ERC1155') m
    WHERE owner <> ${zeroAddress} GROUP BY 1, 2, 3 HAVING sum(delta) <> 0`;
  const differing = (columns: string, expected: string, found: string) => `(
      (SELECT ${columns}, 'missing' AS side FROM (${expected}) e EXCEPT SELECT ${columns}, 'missing' FROM (${found}) f)
      UNION ALL
      (SELECT ${columns}, 'unfounded' AS side FROM (${found}) f EXCEPT SELECT ${columns}, 'unfounded' FROM (${expected}) e)) d`;
  const list: Invariant[] = [
    {
      id: "I3",
      name: "per token, balances add up to what was minted less what was burned",
      // Negative balances of hostile contracts included: a sum over all holders conserves.
      sql: `SELECT ${token("l")} || ': minted less burned ' || l.net || ', held ' || coalesce(h.held, 0) AS what
        FROM (SELECT contract, token_id, sum(CASE WHEN from_address = ${zeroAddress} THEN amount ELSE 0 END
            - CASE WHEN to_address = ${zeroAddress} THEN amount ELSE 0 END) AS net
          FROM ${moved} r WHERE standard = 'ERC1155' GROUP BY 1, 2) l
        LEFT JOIN (SELECT contract, token_id, sum(amount) AS held FROM ${s}.holding GROUP BY 1, 2) h USING (contract, token_id)
        WHERE l.net <> coalesce(h.held, 0)`,
    },
    {
      id: "I4",
      name: "a contract's counters are its live tokens, its tokens ever and its ledger rows",
      sql: `SELECT '0x' || encode(address, 'hex') || ': live, ever, rows are ' || concat_ws(', ', e.live, e.ever, e.moved)
          || ', counted ' || concat_ws(', ', c.token_count, c.token_count_ever, c.transfers_721 + c.transfers_1155) AS what
        FROM ${s}.contract c FULL JOIN (
          SELECT contract AS address, count(*) FILTER (WHERE supply > 0) AS live, count(*) AS ever, sum(moved) AS moved
          FROM ${s}.token JOIN (SELECT contract, token_id, count(*) AS moved FROM ${moved} r GROUP BY 1, 2) l
            USING (contract, token_id) GROUP BY 1) e USING (address)
        WHERE (e.live, e.ever, e.moved) IS DISTINCT FROM (c.token_count, c.token_count_ever, (c.transfers_721 + c.transfers_1155)::numeric)`,
    },
    {
      id: "I4",
      name: "an account's totals are its holdings",
      sql: `SELECT '0x' || encode(owner, 'hex') || ' ' || standard || ': holds ' || coalesce(e.held, 0) || ', counted ' || coalesce(a.holding_count, 0) AS what
        FROM ${s}.account_total a FULL JOIN (
          SELECT owner, 'ERC721' AS standard, count(*) AS held FROM ${s}.token WHERE owner IS NOT NULL GROUP BY 1
          UNION ALL
          SELECT owner, 'ERC1155', count(*) FROM ${s}.holding WHERE amount > 0 GROUP BY 1) e USING (owner, standard)
        WHERE coalesce(e.held, 0) <> coalesce(a.holding_count, 0)`,
    },
    {
      id: "I8",
      name: "the owner of an ERC-721 token is the receiver of its last ledger row",
      sql: `SELECT side || ': ' || ${token("d")} || ' owned by 0x' || encode(d.owner, 'hex') AS what FROM ${differing(
        "contract, token_id, owner",
        `SELECT l.contract, l.token_id, l.to_address AS owner FROM (${lastRows}) l JOIN (${standards}) t USING (contract, token_id)
          WHERE NOT t.multi AND l.to_address <> ${zeroAddress}`,
        `SELECT contract, token_id, owner FROM ${s}.token WHERE owner IS NOT NULL`,
      )}`,
    },
    {
      id: "I8",
      name: "an ERC-1155 balance is the sum of what came less what went",
      sql: `SELECT side || ': ' || ${token("d")} || ' holder 0x' || encode(d.owner, 'hex') || ' amount ' || d.amount AS what FROM ${differing(
        "contract, token_id, owner, amount",
        sums,
        `SELECT contract, token_id, owner, amount FROM ${s}.holding WHERE amount <> 0`,
      )}`,
    },
    {
      id: "I8",
      name: "tokens, their supply and first mint are those of the ledger",
      sql: `SELECT side || ': ' || ${token("d")} || ' supply ' || d.supply || ', minted in block ' || coalesce(d.mint_block::text, '?') AS what FROM ${differing(
        "contract, token_id, supply, mint_block",
        `SELECT t.contract, t.token_id, CASE WHEN t.multi THEN coalesce(h.held, 0) WHEN l.to_address <> ${zeroAddress} THEN 1 ELSE 0 END AS supply,
            m.mint_block
          FROM (${standards}) t
          LEFT JOIN (${lastRows}) l USING (contract, token_id)
          LEFT JOIN (SELECT contract, token_id, sum(amount) AS held FROM (${sums}) b WHERE amount > 0 GROUP BY 1, 2) h USING (contract, token_id)
          LEFT JOIN (SELECT contract, token_id, min(block_number) AS mint_block FROM ${moved} r
            WHERE from_address = ${zeroAddress} GROUP BY 1, 2) m USING (contract, token_id)`,
        `SELECT contract, token_id, supply, mint_block FROM ${s}.token`,
      )}`,
    },
    {
      id: "I8",
      name: "a token's creator is the owner that its product contract was deployed for, else the sender of its first mint",
      sql: `SELECT side || ': ' || ${token("d")} || ' created by 0x' || encode(d.creator, 'hex') AS what FROM ${differing(
        "contract, token_id, creator",
        `SELECT m.contract, m.token_id, coalesce(p.owner, m.tx_from) AS creator
          FROM (SELECT DISTINCT ON (contract, token_id) contract, token_id, tx_from FROM ${moved} r
            WHERE from_address = ${zeroAddress} ORDER BY contract, token_id, block_number, log_index, batch_index) m
          LEFT JOIN ${s}.product p ON p.address = m.contract`,
        `SELECT contract, token_id, creator FROM ${s}.token WHERE creator IS NOT NULL`,
      )}`,
    },
  ];
  return list.map((invariant) => ({ ...invariant, sql: `${invariant.sql} LIMIT 100` }));
}
