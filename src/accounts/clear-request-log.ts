import { type Kysely, sql } from "kysely";
import type { Database } from "../db/database.ts";
import type { Rounds } from "../rounds.ts";
import type { Services } from "../services.ts";

const roundMs = 60_000;
/** Requests of one account that are kept. Until the next round there may be more. */
export const mostRequests = 10_000;
const batch = 2_000;

/** Keeps the request log within its bounds, every minute until the signal; also when logging has been switched off. */
export async function runLogClearing({ db, log }: Services, rounds: Rounds): Promise<void> {
  // The first round covers all accounts: no worker may have run for a while.
  let sinceMs: number | undefined;
  const round = async () => {
    await clearRequestLog(db, sinceMs);
    sinceMs = 2 * roundMs;
    return "soon" as const;
  };
  const failing = "the log of requests could not be cleared away; it is tried again";
  await rounds.repeat(round, { periodMs: roundMs }, { log, failing });
}

/**
 * Removes requests older than a day, and all but the newest of each account.
 *
 * @param sinceMs only accounts with requests within this time can be over the bound. Default: a day.
 */
export async function clearRequestLog(db: Kysely<Database>, sinceMs = 86_400_000): Promise<void> {
  const old = sql`DELETE FROM service.request_log WHERE (account_id, at, id) IN (
    SELECT account_id, at, id FROM service.request_log WHERE at < statement_timestamp() - interval '1 day'
    ORDER BY at LIMIT ${batch} FOR UPDATE SKIP LOCKED)`;
  for (let removed = BigInt(batch); removed >= batch; ) removed = (await old.execute(db)).numAffectedRows ?? 0n;
  const { rows } = await sql<{ account_id: string }>`SELECT DISTINCT account_id FROM service.request_log
    WHERE at > statement_timestamp() - ${`${sinceMs} milliseconds`}::interval`.execute(db);
  // A process adds at most 20 a second, so one statement removes what has come over the bound since the last round.
  for (const { account_id } of rows)
    await sql`DELETE FROM service.request_log WHERE account_id = ${account_id} AND (at, id) <= (
      SELECT at, id FROM service.request_log WHERE account_id = ${account_id}
      ORDER BY at DESC, id DESC OFFSET ${mostRequests} LIMIT 1)`.execute(db);
}
