import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Database } from "../db/database.ts";
import type { Rounds } from "../rounds.ts";
import type { Services } from "../services.ts";

const roundMs = 60_000;
/** Requests of one account that stay. Until the next round there may be more. */
export const mostRequests = 10_000;
const batch = 2_000;

/** Keeps the log of requests within its bounds, every minute until the signal; also where it was switched off since. */
export async function runLogClearing({ db, log }: Services, rounds: Rounds): Promise<void> {
  const round = async () => {
    await clearRequestLog(db);
    return "soon" as const;
  };
  const failing = "the log of requests could not be cleared away; it is tried again";
  await rounds.repeat(round, { periodMs: roundMs }, { log, failing });
}

/** Removes requests of more than a day ago, and of each account all but the newest, in batches. */
export async function clearRequestLog(db: Kysely<Database>): Promise<void> {
  await inBatches(
    db,
    sql`DELETE FROM service.request_log WHERE (account_id, at, id) IN (
      SELECT account_id, at, id FROM service.request_log WHERE at < clock_timestamp() - interval '1 day'
      ORDER BY at LIMIT ${batch})`,
  );
  await inBatches(
    db,
    sql`DELETE FROM service.request_log WHERE (account_id, at, id) IN (
      SELECT o.account_id, o.at, o.id
      FROM (SELECT account_id FROM service.request_log GROUP BY account_id HAVING count(*) > ${mostRequests}) a
      CROSS JOIN LATERAL (SELECT r.account_id, r.at, r.id FROM service.request_log r WHERE r.account_id = a.account_id
        ORDER BY r.at DESC, r.id DESC OFFSET ${mostRequests} LIMIT ${batch}) o
      LIMIT ${batch})`,
  );
}

async function inBatches(db: Kysely<Database>, statement: RawBuilder<unknown>): Promise<void> {
  for (let removed = BigInt(batch); removed >= batch; ) removed = (await statement.execute(db)).numAffectedRows ?? 0n;
}
