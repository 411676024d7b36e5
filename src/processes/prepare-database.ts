import { ensureAnalystRole } from "../db/admin/analyst-role.ts";
import { migrate } from "../db/admin/migrate.ts";
import { warnOfClock } from "../db/pool/clock.ts";
import { requireSynchronous } from "../db/replicas/replication.ts";
import { ensureNftViews } from "../indexing/nft-views.ts";
import { ensureRendering } from "../nfts/rendered.ts";
import type { Logger } from "../telemetry/log.ts";

/**
 * What every process needs before it reads: a current service schema, the index's views, and rendering of new metadata.
 *
 * @param failover `DATABASE_FAILOVER`.
 */
export async function prepareDatabase(databaseUrl: string, log: Logger, failover = false): Promise<void> {
  await migrate(databaseUrl, {
    onNewer: (migrations) =>
      log.warn(
        { migrations },
        "the database is of a newer version, which this one can work with: upgrade this process too",
      ),
  });
  const open = await ensureAnalystRole(databaseUrl);
  // The service works without it, so it starts all the same; but an operator who gives an analyst a login has to know.
  if (open.length > 0)
    log.warn({ open }, "the role of analysts is not closed off; see `mintyard analyst sql` and docs/analysts.md");
  await ensureNftViews(databaseUrl);
  await ensureRendering(databaseUrl);
  await warnOfClock(databaseUrl, log);
  await requireSynchronous(databaseUrl, failover, log);
}
