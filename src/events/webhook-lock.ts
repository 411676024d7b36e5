import { type Kysely, sql } from "kysely";
import type { Database } from "../db/database.ts";

/** Any constant does; `service.hold_matching` has the same. Exclusive: one worker makes deliveries of events. Shared: an endpoint is made or changed. */
export const webhookLock = 7_241_903_160;

/**
 * Keeps events from being matched until the transaction has ended. So what is committed after it is matched with the
 * endpoints as the transaction leaves them.
 */
export async function holdMatching(transaction: Kysely<Database>): Promise<void> {
  await sql`SELECT service.hold_matching()`.execute(transaction);
}
