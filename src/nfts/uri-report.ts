import { sql } from "kysely";
import type { Services } from "../services.ts";
import { readHeavy } from "./read-for-each.ts";

/** Where URIs point, in the terms of the original service's report. */
export const storageClasses = ["ipfs_cid", "ipfs_gateway", "arweave", "on_chain", "http_centralized", "other"] as const;
type StorageClass = (typeof storageClasses)[number];
export type UriKind = "metadata" | "image" | "animation";

export interface UriCount {
  kind: UriKind;
  storage: StorageClass;
  failed: number;
  successful: number;
}

/** The most tokens examined: a full report over a large index would take minutes. */
const mostTokens = 100_000;
const freshMs = 10 * 60_000;
const known = new WeakMap<Services, { at: number; report: Promise<UriCount[]> }>();

/**
 * How many of the URIs that were tried could be read, by where they point. In a large index up to 100,000 tokens are
 * counted. The report is up to ten minutes old, and the same for everybody.
 *
 * @throws ServiceError what `readHeavy` throws.
 */
export async function reportUris(services: Services): Promise<UriCount[]> {
  const last = known.get(services);
  if (last && performance.now() - last.at < freshMs) return await last.report;
  const report = readReport(services);
  known.set(services, { at: performance.now(), report });
  // Failures are not cached.
  report.catch(() => known.delete(services));
  return await report;
}

async function readReport(services: Services): Promise<UriCount[]> {
  const rows = await readHeavy(
    services,
    sql<{ kind: UriKind; storage: StorageClass; failed: bigint; successful: bigint }>`
      WITH tokens AS (
        SELECT token_uri, status, image, animation_url, file_error FROM service.token_metadata
        WHERE status <> 'pending' LIMIT ${mostTokens}),
      uris AS (
        SELECT 'metadata' AS kind, token_uri AS uri, status = 'fresh' AS ok FROM tokens WHERE token_uri IS NOT NULL
        UNION ALL
        SELECT 'image', image, coalesce(file_error, 'size_unknown') = 'size_unknown' FROM tokens WHERE image IS NOT NULL
        UNION ALL
        SELECT 'animation', animation_url, true FROM tokens WHERE animation_url IS NOT NULL)
      SELECT kind, CASE
          WHEN uri LIKE 'ipfs://%' THEN 'ipfs_cid'
          WHEN uri ~ '^https?://[^/]*/ipfs/' OR uri ~ '^https?://[^/]+\.ipfs\.' THEN 'ipfs_gateway'
          WHEN uri LIKE 'ar://%' OR uri ~ '^https?://([^/]*\.)?arweave\.net/' THEN 'arweave'
          WHEN uri LIKE 'data:%' THEN 'on_chain'
          WHEN uri ~ '^https?://' THEN 'http_centralized'
          ELSE 'other' END AS storage,
        count(*) FILTER (WHERE NOT ok) AS failed, count(*) FILTER (WHERE ok) AS successful
      FROM uris GROUP BY 1, 2`,
    "report",
  );
  return rows.map((row) => ({ ...row, failed: Number(row.failed), successful: Number(row.successful) }));
}
