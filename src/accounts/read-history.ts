import { sql } from "kysely";
import type { Services } from "../services.ts";
import { samplePeriodSeconds } from "./take-samples.ts";

/** Points per line: a day has that many periods of five minutes. */
const mostPoints = 288;

/** Callers within this time share one answer, so that a crowd costs one statement. */
const keptMs = 10_000;
const kept = new WeakMap<Services, { until: number; text: Promise<string> }>();

/**
 * The last 24 hours of every chain that has an endpoint, for plots: the samples of workers (`takeSamples`) and the cost
 * of mined transactions. At most ten seconds old. It contains nothing of any account.
 *
 * @returns JSON: `now`, and `chains`, each with `chain`, `chainId`, `everySeconds` (between points), `points` (`at`,
 * `lagSeconds`, `lagBlocks`, `waiting`, `oldestSeconds`), `wallets` (`wallet`, and `points` of `at` and `wei`) and
 * `spending` (`hour`, `wei`; hours without any are left out). Times are Unix seconds, amounts decimal text. A point has
 * the highest value since the previous one; the last point is the newest sample.
 */
export async function readHistory(services: Services): Promise<string> {
  const known = kept.get(services);
  const now = performance.now();
  if (known && known.until > now) return await known.text;
  const text = askHistory(services);
  kept.set(services, { until: now + keptMs, text });
  text.catch(() => kept.delete(services));
  return await text;
}

/** One statement. A span with more samples than a plot has points is divided into that many parts. */
async function askHistory({ db, chains }: Services): Promise<string> {
  const shown = chains.filter(({ rpcUrls }) => rpcUrls.length > 0);
  const { rows } = await sql<{ text: string }>`
    WITH chain AS (
      SELECT c.*, s.since, s.newest,
        greatest(c.period, ceil(extract(epoch FROM statement_timestamp() - s.oldest) / ${mostPoints}::integer)::integer) AS every
      FROM unnest(${shown.map(({ id }) => id)}::integer[], ${shown.map(({ name }) => name)}::text[],
        ${shown.map(samplePeriodSeconds)}::integer[]) WITH ORDINALITY AS c (id, name, period, place)
      CROSS JOIN LATERAL (SELECT statement_timestamp() - interval '24 hours' AS since, min(at) AS oldest, max(at) AS newest
        FROM service.chain_sample WHERE chain_id = c.id AND at > statement_timestamp() - interval '24 hours') s)
    SELECT json_build_object('now', extract(epoch FROM statement_timestamp())::bigint, 'chains', coalesce(json_agg(json_build_object(
      'chain', chain.name, 'chainId', chain.id, 'everySeconds', coalesce(chain.every, chain.period),
      'points', (SELECT coalesce(json_agg(json_build_object('at', extract(epoch FROM p.at)::bigint, 'lagSeconds', p.lag_seconds,
          'lagBlocks', p.lag_blocks, 'waiting', p.waiting, 'oldestSeconds', p.oldest_seconds) ORDER BY p.at), '[]')
        FROM (SELECT max(at) AS at, max(lag_seconds) AS lag_seconds, max(lag_blocks) AS lag_blocks, max(waiting) AS waiting,
            max(oldest_seconds) AS oldest_seconds
          FROM service.chain_sample WHERE chain_id = chain.id AND at > chain.since
          GROUP BY date_bin(make_interval(secs => chain.every), at, 'epoch'), at = chain.newest) p),
      'wallets', (SELECT coalesce(json_agg(json_build_object('wallet', '0x' || encode(w.addr, 'hex'), 'points', w.points)
          ORDER BY w.addr), '[]')
        FROM (SELECT p.addr, json_agg(json_build_object('at', extract(epoch FROM p.at)::bigint, 'wei', p.wei::text)
            ORDER BY p.at) AS points
          FROM (SELECT addr, max(at) AS at, max(wei) AS wei FROM service.wallet_sample
            WHERE chain_id = chain.id AND at > chain.since
            GROUP BY addr, date_bin(make_interval(secs => chain.every), at, 'epoch'), at = chain.newest) p
          GROUP BY p.addr) w),
      'spending', (SELECT coalesce(json_agg(json_build_object('hour', extract(epoch FROM s.hour)::bigint, 'wei', s.wei::text)
          ORDER BY s.hour), '[]') FROM service.hourly_spending s WHERE s.chain_id = chain.id)
    ) ORDER BY chain.place), '[]'))::text AS text FROM chain`.execute(db);
  const [row] = rows;
  if (!row) throw new Error("a statement of one row gave none");
  return row.text;
}
