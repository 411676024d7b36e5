import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Database } from "../db/database.ts";
import type { Rounds } from "../rounds.ts";
import type { Services } from "../services.ts";

const roundMs = 600_000;
const batch = 200;

/** Deletes expired requests and lists, in batches, every ten minutes until the signal. */
export async function runClearing({ db, log }: Services, rounds: Rounds): Promise<void> {
  const round = async () => {
    const { requests, lists } = await clearExpired(db);
    if (requests + lists > 0)
      log.info({ requests, lists }, "cleared away prepared deployments and presale lists that expired");
    return "soon" as const;
  };
  const failing = "what expired could not be cleared away; it is tried again";
  await rounds.repeat(round, { periodMs: roundMs }, { log, failing });
}

/**
 * Deletes requests of mode SIGN that expired thirty days ago without a transaction (sixty days after they were
 * prepared), lists that no request refers to, and the entries of lists whose requests all ended thirty days ago without
 * a collection. The row of such a list stays, because the ended request refers to it.
 *
 * @returns how many of each.
 */
export async function clearExpired(db: Kysely<Database>): Promise<{ requests: number; lists: number }> {
  const requests = await inBatches(
    db,
    sql`DELETE FROM service.self_deployment WHERE id IN (
      SELECT id FROM service.self_deployment
      WHERE address IS NULL AND expires_at < clock_timestamp() - interval '30 days'
      LIMIT ${batch} FOR UPDATE SKIP LOCKED)`,
  );
  const unreferenced = await inBatches(
    db,
    sql`DELETE FROM service.allowlist WHERE id IN (
      SELECT a.id FROM service.allowlist a
      -- A list and its request are stored in one transaction, so a list that is seen alone stays alone.
      WHERE NOT EXISTS (SELECT FROM service.intent i WHERE i.allowlist_id = a.id)
        AND NOT EXISTS (SELECT FROM service.self_deployment d WHERE d.allowlist_id = a.id)
      LIMIT ${batch} FOR UPDATE SKIP LOCKED)`,
  );
  const ended = await inBatches(
    db,
    sql`UPDATE service.allowlist SET entries = '{}' WHERE id IN (
      SELECT a.id FROM service.allowlist a
      WHERE a.bytes > 0
        AND NOT EXISTS (SELECT FROM service.self_deployment d WHERE d.allowlist_id = a.id)
        AND NOT EXISTS (SELECT FROM service.intent i WHERE i.allowlist_id = a.id
          AND (i.state NOT IN ('expired', 'cancelled', 'failed_onchain', 'retried')
            OR i.settled_at IS NULL OR i.settled_at > clock_timestamp() - interval '30 days'))
      LIMIT ${batch} FOR UPDATE SKIP LOCKED)`,
  );
  return { requests, lists: unreferenced + ended };
}

async function inBatches(db: Kysely<Database>, statement: RawBuilder<unknown>): Promise<number> {
  for (let total = 0; ; ) {
    const { numAffectedRows = 0n } = await statement.execute(db);
    total += Number(numAffectedRows);
    if (numAffectedRows < batch) return total;
  }
}
