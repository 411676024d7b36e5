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

/**
 * Renders the metadata again that another version has rendered, or none: in the order of its keys, a few rows at a time,
 * once for each version. It ends by itself; a later start goes on where this one was. Until then readers render those rows.
 */
export async function runRendering({ pool, log }: Pick<Services, "pool" | "log">, { signal }: Rounds): Promise<void> {
  for (const rendering of [contractRendering, tokenRendering]) {
    for (let done = false; !done && !signal.aborted; ) {
      const pause = await renderBatch(pool, rendering).then(
        (ended) => {
          done = ended;
          return pauseMs;
        },
        (error: unknown) => {
          log.warn(
            { err: error, table: rendering.table },
            "metadata could not be rendered again; it will be tried again",
          );
          return retryMs;
        },
      );
      if (!done) await sleep(pause, undefined, { signal }).catch(() => undefined);
    }
  }
}

/** @returns whether no row is left. */
export async function renderBatch(pool: pg.Pool, rendering: Rendering, most = rowsAtOnce): Promise<boolean> {
  const { table, hash } = rendering;
  const { names, types } = keysOf[table];
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    await client.query("INSERT INTO service.rendering (relation, rendered_as) VALUES ($1, $2) ON CONFLICT DO NOTHING", [
      table,
      hash,
    ]);
    const { rows } = await client.query<{ position: string[] | null; done: boolean }>(
      `SELECT position, done_at IS NOT NULL AS done FROM service.rendering
       WHERE relation = $1 AND rendered_as = $2 FOR UPDATE`,
      [table, hash],
    );
    const [at] = rows;
    if (!at) return false;
    if (at.done) return true;
    const after = at.position
      ? `(${names.map((name) => `m.${name}`)}) > (${types.map((type, index) => `($1::text[])[${index + 1}]::${type}`)})`
      : "$1::text[] IS NULL";
    // Naming the column is what has the trigger render the row.
    const batch = await client.query<{ last: string[] | null; count: number }>(
      `WITH batch AS (SELECT ${names.map((name) => `m.${name}`)}, m.rendered_as FROM ${table} m WHERE ${after}
         ORDER BY ${names.map((name) => `m.${name}`)} LIMIT ${most}),
       again AS (UPDATE ${table} m SET rendered_as = NULL FROM batch b
         WHERE ${names.map((name) => `m.${name} = b.${name}`).join(" AND ")}
           AND (b.rendered_as IS NULL OR b.rendered_as NOT IN ($2, $2 || '~')))
       SELECT (SELECT ARRAY[${names.map((name) => `b.${name}::text`)}] FROM batch b
         ORDER BY ${names.map((name) => `b.${name} DESC`)} LIMIT 1) AS last, (SELECT count(*)::integer FROM batch) AS count`,
      [at.position, hash],
    );
    const { last = null, count = 0 } = batch.rows[0] ?? {};
    const ended = count < most;
    await client.query(
      `UPDATE service.rendering SET position = coalesce($3, position), done_at = CASE WHEN $4 THEN clock_timestamp() END
       WHERE relation = $1 AND rendered_as = $2`,
      [table, hash, last, ended],
    );
    return ended;
  } finally {
    await client.query("COMMIT").catch(() => undefined);
    client.release();
  }
}
