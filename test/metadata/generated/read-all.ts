import type pg from "pg";
import { runMetadata } from "../../../src/metadata/schedule/run-metadata.ts";
import type { MetadataContext } from "../../../src/metadata/schedule/token-reader.ts";
import { Rounds } from "../../../src/rounds.ts";
import { wait } from "../../setup/wait.ts";

/** Lets the worker read until every token, and every picture, has been tried. */
export async function readAll(services: MetadataContext, pool: pg.Pool, tokens: number): Promise<void> {
  const stop = new AbortController();
  const running = runMetadata(services, new Rounds(stop.signal));
  const open = `status = 'pending' OR (status = 'fresh' AND image IS NOT NULL AND file_type IS NULL AND file_error IS NULL)`;
  // What a busy machine alone makes fail is tried again at once.
  const slow = `(error_code IN ('call_timeout', 'rpc_unavailable', 'fetch_timeout') AND token_uri NOT LIKE 'ar:%')
    OR file_error IN ('fetch_timeout', 'host_busy')`;
  try {
    await wait(
      "every document",
      async () => {
        await pool.query(`UPDATE service.token_metadata SET next_attempt_at = clock_timestamp(), attempts = 0
          WHERE (${slow}) AND lease_id IS NULL AND next_attempt_at > clock_timestamp()`);
        const { rows } = await pool.query(
          `SELECT count(*)::int AS known, count(*) FILTER (WHERE ${open} OR ${slow})::int AS open FROM service.token_metadata`,
        );
        return rows[0];
      },
      { until: (seen) => seen.known === tokens && seen.open === 0 },
    );
  } finally {
    stop.abort();
    await running;
  }
}
