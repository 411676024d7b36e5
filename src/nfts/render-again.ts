import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import type { Rounds } from "../rounds.ts";
import type { Services } from "../services.ts";
import { contractRendering, type Rendering, tokenRendering } from "./rendered.ts";

const rowsAtOnce = 200;
const pauseMs = 100;
const retryMs = 5_000;

const keysOf = {
  "service.token_metadata": { names: ["chain_id", "contract", "token_id"], types: ["integer", "bytea", "numeric"] },
  "service.contract_metadata": { names: ["chain_id", "address"], types: ["integer", "bytea"] },
} as const;

/** A derivation of a table's rows, done once per version. */
interface Pass {
  /** The pass's name in `service.rendering`: the relation it fills. */
  relation: string;
  version: string;
  table: keyof typeof keysOf;
  /** Statements to run first, by their results' names. They read `batch`, which has the rows' keys and `columns`. */
  first?: Record<string, string>;
  /** The final statement. */
  again: string;
  columns: string;
  /** Locks the rows, so that none changes between being read and written. */
  locked?: boolean;
}

function renderingPass({ table, hash }: Rendering): Pass {
  // An update that names this column makes the trigger render the row.
  const again = `UPDATE ${table} m SET rendered_as = NULL FROM batch b
    WHERE ${keysOf[table].names.map((name) => `m.${name} = b.${name}`).join(" AND ")}
      AND (b.rendered_as IS NULL OR b.rendered_as NOT IN ('${hash}', '${hash}~'))`;
  return { relation: table, version: hash, table, again, columns: "m.rendered_as" };
}

export const contractPass = renderingPass(contractRendering);
export const tokenPass = renderingPass(tokenRendering);
/** Increment the version when a migration changes how texts are split. A trigger handles rows written from then on. */
export const wordsPass: Pass = {
  relation: "service.token_words",
  version: "1",
  table: "service.token_metadata",
  again: `INSERT INTO service.token_words AS w (chain_id, contract, token_id, words)
    SELECT b.chain_id, b.contract, b.token_id, service.search_words(b.name, b.description) FROM batch b
    WHERE b.name IS NOT NULL OR b.description IS NOT NULL
    ON CONFLICT (chain_id, contract, token_id) DO UPDATE SET words = excluded.words
      WHERE w.words IS DISTINCT FROM excluded.words`,
  columns: "m.name, m.description",
  locked: true,
};

/** Increment the version when a migration changes how traits are read. A trigger handles rows written from then on. */
export const traitsPass: Pass = {
  relation: "service.token_trait",
  version: "2",
  table: "service.token_metadata",
  first: {
    found: `SELECT b.chain_id, b.contract, b.token_id, t.name, t.value, t.number, t.warning
      FROM batch b CROSS JOIN LATERAL service.read_traits(b.metadata, b.id_in_metadata) t`,
    gone: `DELETE FROM service.token_trait r USING batch b
      WHERE r.chain_id = b.chain_id AND r.contract = b.contract AND r.token_id = b.token_id
        AND NOT EXISTS (SELECT FROM found f WHERE f.chain_id = r.chain_id AND f.contract = r.contract
          AND f.token_id = r.token_id AND f.name = r.name AND f.value = r.value)`,
    kept: `INSERT INTO service.token_trait AS r (chain_id, contract, name, value, token_id, number)
      SELECT chain_id, contract, name, value, token_id, number FROM found WHERE warning IS NULL
      ON CONFLICT (chain_id, contract, name, value, token_id) DO UPDATE SET number = excluded.number
        WHERE r.number IS DISTINCT FROM excluded.number`,
  },
  again: `UPDATE service.token_metadata m SET trait_warnings = told.warnings
    FROM (SELECT b.chain_id, b.contract, b.token_id,
        array_agg(f.warning ORDER BY f.warning) FILTER (WHERE f.warning IS NOT NULL) AS warnings
      FROM batch b LEFT JOIN found f ON f.chain_id = b.chain_id AND f.contract = b.contract AND f.token_id = b.token_id
      GROUP BY b.chain_id, b.contract, b.token_id) told
    WHERE m.chain_id = told.chain_id AND m.contract = told.contract AND m.token_id = told.token_id
      AND m.trait_warnings IS DISTINCT FROM told.warnings`,
  columns: "m.metadata, m.id_in_metadata",
  locked: true,
};

/**
 * Derives again what an older version derived from stored metadata, or what is missing: in key order, a few rows at a
 * time, once per version. It ends by itself; after a restart it continues where it stopped. Until then readers render
 * those rows themselves, and search finds them by the older version's index.
 */
export async function runRendering({ pool, log }: Pick<Services, "pool" | "log">, { signal }: Rounds): Promise<void> {
  for (const pass of [wordsPass, traitsPass, contractPass, tokenPass]) {
    for (let [done, most] = [false, rowsAtOnce]; !done && !signal.aborted; ) {
      const pause = await passOver(pool, pass, most).then(
        (ended) => {
          done = ended;
          most = Math.min(rowsAtOnce, most * 2);
          return pauseMs;
        },
        (error: unknown) => {
          // The batch took too long, so the next ones are smaller.
          most = Math.max(1, Math.floor(most / 8));
          log.warn(
            { err: error, relation: pass.relation },
            "what is made of metadata could not be made again; it will be tried again",
          );
          return retryMs;
        },
      );
      if (!done) await sleep(pause, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** Processes one batch. @returns whether no row is left. */
export async function passOver(pool: pg.Pool, pass: Pass, most = rowsAtOnce): Promise<boolean> {
  const { relation, version, table, first = {}, again, columns, locked } = pass;
  const { names, types } = keysOf[table];
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    await client.query("INSERT INTO service.rendering (relation, rendered_as) VALUES ($1, $2) ON CONFLICT DO NOTHING", [
      relation,
      version,
    ]);
    const { rows } = await client.query<{ position: string[] | null; done: boolean }>(
      `SELECT position, done_at IS NOT NULL AS done FROM service.rendering
       WHERE relation = $1 AND rendered_as = $2 FOR UPDATE`,
      [relation, version],
    );
    const [at] = rows;
    if (!at) return false;
    if (at.done) return true;
    const after = at.position
      ? `(${names.map((name) => `m.${name}`)}) > (${types.map((type, index) => `($1::text[])[${index + 1}]::${type}`)})`
      : "$1::text[] IS NULL";
    const batch = await client.query<{ last: string[] | null; count: number }>(
      `WITH batch AS (SELECT ${names.map((name) => `m.${name}`)}, ${columns} FROM ${table} m WHERE ${after}
         ORDER BY ${names.map((name) => `m.${name}`)} LIMIT ${most} ${locked ? "FOR NO KEY UPDATE" : ""}),
       ${Object.entries(first)
         .map(([name, statement]) => `${name} AS MATERIALIZED (${statement}),`)
         .join("\n")}
       again AS (${again})
       SELECT (SELECT ARRAY[${names.map((name) => `b.${name}::text`)}] FROM batch b
         ORDER BY ${names.map((name) => `b.${name} DESC`)} LIMIT 1) AS last, (SELECT count(*)::integer FROM batch) AS count`,
      [at.position],
    );
    const { last = null, count = 0 } = batch.rows[0] ?? {};
    const ended = count < most;
    await client.query(
      `UPDATE service.rendering SET position = coalesce($3, position), done_at = CASE WHEN $4 THEN clock_timestamp() END
       WHERE relation = $1 AND rendered_as = $2`,
      [relation, version, last, ended],
    );
    return ended;
  } finally {
    await client.query("COMMIT").catch(() => undefined);
    client.release();
  }
}
