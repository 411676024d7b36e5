import { setTimeout as sleep } from "node:timers/promises";
import type { Kysely } from "kysely";
import type { Database } from "../../db/database.ts";
import { fullLimit, type Limit, readLimit, refusalOf } from "../submit/budget.ts";

const withinMs = 2_000;
const pollMs = 250;
/** Requests of one process that wait at a time: a crowd that waits holds connections and looks for nothing. */
const mostWaiting = 64;

let waiting = 0;

/**
 * Does what needs room in spending limits. Where a limit is full of what is being mined, and so gives most of it back
 * in a moment, it is tried again for up to two seconds.
 *
 * @throws ServiceError which limit has no room, and when it will; whatever else `accept` throws.
 */
export async function withRoom<T>(
  db: Kysely<Database>,
  limits: readonly Limit[],
  accept: () => Promise<T>,
): Promise<T> {
  for (const end = performance.now() + withinMs; ; ) {
    try {
      return await accept();
    } catch (error) {
      const limit = fullLimit(limits, error);
      if (!limit) throw error;
      const full = await readLimit(db, limit);
      if (!full.passes || waiting >= mostWaiting || performance.now() > end) throw refusalOf(full);
    }
    waiting += 1;
    try {
      await sleep(pollMs);
    } finally {
      waiting -= 1;
    }
  }
}
