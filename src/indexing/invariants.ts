import type pg from "pg";
import { ledgerDigest } from "../../schema/ledger-digest.ts";
import { tableExists } from "./nft-views.ts";

export interface Finding {
  id: string;
  title: string;
  /** Null: nothing to check here. */
  faults: number | null;
  samples: unknown[];
  fix: string;
}

interface Invariant {
  id: string;
  title: string;
  /** How to repair it; by default by indexing the chain again. */
  fix?: string;
  /**
   * A query that returns the faults of one chain as rows. `$1` is the chain's id.
   *
   * @param movements table with those rows of the ledger that move tokens.
   */
  sql(schema: string, movements: string): string;
}

const zero = `'\\x${"00".repeat(20)}'::bytea`;
const rebuild = "index this chain anew: npm run -s mintyard -- reindex --chain NAME, and restart its indexer";

/** Rows that only one of `expected` and `shown` has. */
const differences = `(SELECT 'missing' AS fault, * FROM (SELECT * FROM expected EXCEPT ALL SELECT * FROM shown) a)
  UNION ALL (SELECT 'not in the ledger', * FROM (SELECT * FROM shown EXCEPT ALL SELECT * FROM expected) b)`;

/**
 * The invariants of every chain's index, each as a query for its violations. They recompute from the ledger with SQL of
 * their own, without any counter or trigger.
 */
const invariants: readonly Invariant[] = [
  {
    id: "I1",
    title: "the journal is one chain of blocks without gaps",
    fix: "DELETE FROM service.chain_block WHERE chain_id = …; the indexer begins it anew. If it comes back, a node serves two chains",
    sql: () => `SELECT number, parent_hash, before FROM (SELECT number, parent_hash, lag(hash) OVER w AS before,
        lag(number) OVER w AS below FROM service.chain_block WHERE chain_id = $1 WINDOW w AS (ORDER BY number)) b
      WHERE below IS NOT NULL AND (below <> number - 1 OR before <> parent_hash)`,
  },
  {
    id: "I2",
    title: "each block of the ledger has one hash, the journal's",
    sql: (
      s,
    ) => `SELECT l.block_number, array_agg(DISTINCT encode(l.block_hash, 'hex')) AS hashes, min(j.hash) AS journal
      FROM (SELECT DISTINCT block_number, block_hash FROM ${s}.transfer) l
      LEFT JOIN service.chain_block j ON j.chain_id = $1 AND j.number = l.block_number
      GROUP BY l.block_number
      HAVING count(*) > 1 OR bool_or(j.hash IS NOT NULL AND j.hash <> '0x' || encode(l.block_hash, 'hex'))`,
  },
  {
    id: "I3",
    title: "owners and balances are what the ledger's movements add up to",
    sql: (_s, moved) => `WITH expected AS (${holdings(moved)}), shown AS (
        SELECT contract, token_id, owner, amount FROM nft.holdings WHERE chain_id = $1)
      ${differences}`,
  },
  {
    id: "I4",
    title: "counters are the number of what they count",
    sql: (_s, moved) => `WITH expected AS (${holdings(moved)}),
        live AS (SELECT contract, count(DISTINCT token_id) AS tokens FROM expected GROUP BY 1),
        held AS (SELECT owner, count(*) AS holdings FROM expected GROUP BY 1)
      SELECT 'contract' AS counter, c.address AS of, c.token_count::text AS shown, coalesce(l.tokens, 0)::text AS counted
        FROM nft.contracts c LEFT JOIN live l ON l.contract = c.address
        WHERE c.chain_id = $1 AND c.token_count <> coalesce(l.tokens, 0)
      UNION ALL SELECT 'account', coalesce(a.owner, h.owner), a.n::text, h.holdings::text
        FROM (SELECT owner, sum(holding_count) AS n FROM nft.account_totals WHERE chain_id = $1 GROUP BY 1) a
        FULL JOIN held h USING (owner) WHERE a.n IS DISTINCT FROM h.holdings`,
  },
  {
    id: "I6",
    title: "nothing of what is final was replaced",
    fix: `the chain was rolled back beyond finality: ${rebuild}`,
    sql: () => `SELECT r.fork_block, r.depth, d.final_block FROM service.chain_reorg r
      JOIN nft.index_version d ON d.chain_id = r.chain_id AND d.live
      WHERE r.chain_id = $1 AND r.fork_block < d.final_block AND r.seen_at > d.created_at`,
  },
  {
    id: "I6",
    title: "ledger rows of final blocks are those that became final",
    sql: (s) => `SELECT r.from_block, r.to_block, r.row_count AS then, d.row_count AS now, r.sealed_at
      FROM service.final_range r, LATERAL (${ledgerDigest(s, "r.from_block", "r.to_block")}) d
      WHERE r.chain_id = $1 AND r.schema_name = '${s.replaceAll('"', "")}' AND (d.row_count, d.digest) <> (r.row_count, r.digest)`,
  },
  {
    id: "I7",
    title: "the block that answers name is in the journal, and the index keeps up",
    fix: "look at the indexer's log and its RPC endpoints; restart it when its process is gone",
    sql: () => `SELECT chain_name, indexed_block, node_head, checked_at FROM service.chain_freshness
      WHERE chain_id = $1 AND (checked_at < clock_timestamp() - interval '2 minutes'
        OR node_head - indexed_block > 50 OR providers_agree = false)`,
  },
  {
    id: "I8",
    title: "tokens, contracts and first mints are those of the ledger",
    sql: (_s, moved) => `WITH expected AS (SELECT contract, token_id, count(*) AS moves,
          min(block_number) FILTER (WHERE from_address = ${zero}) AS minted FROM ${moved} m GROUP BY 1, 2),
        shown AS (SELECT contract, token_id, transfer_count AS moves, mint_block AS minted FROM nft.tokens WHERE chain_id = $1)
      ${differences}`,
  },
  {
    id: "I8",
    title: "creators are the owners that product contracts were deployed for, else the senders of first mints",
    sql: (_s, moved) => `WITH expected AS (SELECT m.contract, m.token_id, coalesce(p.owner, m.tx_from) AS creator
          FROM (SELECT DISTINCT ON (contract, token_id) contract, token_id, tx_from FROM ${moved} r
            WHERE from_address = ${zero} ORDER BY contract, token_id, block_number, log_index, batch_index) m
          LEFT JOIN nft.products p ON p.chain_id = $1 AND p.address = m.contract),
        shown AS (SELECT contract, token_id, creator FROM nft.tokens WHERE chain_id = $1 AND creator IS NOT NULL)
      ${differences}`,
  },
  {
    id: "I9",
    title: "each collection of the factory belongs to one deployment, and the other way round",
    fix: "a collection without deployment: the database was restored without it, or somebody else used the relayer key. A deployment without collection: the index is behind, or the factory's address changed",
    sql: () => `SELECT 'collection twice' AS fault, encode(intent_id, 'hex') AS intent FROM nft.collections
        WHERE chain_id = $1 GROUP BY intent_id HAVING count(*) > 1
      UNION ALL SELECT 'collection without deployment', encode(c.intent_id, 'hex') FROM nft.collections c
        WHERE c.chain_id = $1 AND NOT EXISTS (SELECT 1 FROM service.intent i
          WHERE c.intent_id = decode(lpad(replace(i.root_id::text, '-', ''), 64, '0'), 'hex'))
      UNION ALL SELECT 'deployment without collection', i.id::text FROM service.intent i
        WHERE i.chain_id = $1 AND i.kind = 'deploy' AND i.state = 'finalized' AND NOT EXISTS (SELECT 1 FROM nft.collections c
          WHERE c.chain_id = $1 AND c.intent_id = decode(lpad(replace(i.root_id::text, '-', ''), 64, '0'), 'hex'))`,
  },
];

/** Present owners and balances, computed from the movements. */
function holdings(moved: string): string {
  const kinds = `SELECT contract, token_id, bool_or(standard = 'ERC1155') AS many FROM ${moved} a GROUP BY 1, 2`;
  return `SELECT contract, token_id, to_address AS owner, 1::numeric AS amount FROM (
      SELECT DISTINCT ON (contract, token_id) contract, token_id, to_address FROM ${moved} b WHERE standard = 'ERC721'
      ORDER BY contract, token_id, block_number DESC, log_index DESC, batch_index DESC) l
      JOIN (${kinds}) k USING (contract, token_id) WHERE NOT many AND to_address <> ${zero}
    UNION ALL SELECT contract, token_id, owner, sum(amount) FROM (
      SELECT contract, token_id, to_address AS owner, amount FROM ${moved} c WHERE standard = 'ERC1155'
      UNION ALL SELECT contract, token_id, from_address, -amount FROM ${moved} d WHERE standard = 'ERC1155') m
      WHERE owner <> ${zero} GROUP BY 1, 2, 3 HAVING sum(amount) > 0`;
}

/** Checks one chain's live schema, each invariant in one snapshot of the database. */
export async function checkInvariants(client: pg.ClientBase, chainId: number, schema: string): Promise<Finding[]> {
  const findings: Finding[] = [];
  const moved = await movements(client, schema);
  for (const { id, title, fix = rebuild, sql } of invariants) {
    const text = sql(`"${schema}"`, moved);
    // A query that does not use the chain's id must not get it: Postgres refuses a surplus parameter.
    const { rows } = await client.query<Record<string, unknown>>(text, [chainId]);
    findings.push({ id, title, fix, faults: rows.length, samples: rows.slice(0, 3) });
  }
  return findings;
}

/** An ERC-20 whose logs look like ERC-721's moves no tokens. An older version's index has no table of them. */
async function movements(client: pg.ClientBase, schema: string): Promise<string> {
  if (!(await tableExists(client, schema, "fungible"))) return `"${schema}".transfer`;
  return `(SELECT l.* FROM "${schema}".transfer l LEFT JOIN "${schema}".fungible e ON e.address = l.contract
    WHERE l.standard = 'ERC1155' OR l.token_id >= coalesce(e.below, 0))`;
}
