import { sql } from "kysely";
import type { Chain } from "../chains.ts";
import type { Services } from "../services.ts";
import { type Intent, unassignedStates } from "./intents.ts";

const batch = 100;
/** Younger ones are in the hands of the request that made them. */
export const freshMs = 1_000;
const retryHeldMs = 5_000;

/**
 * Intents without signed bytes. Fresh ones are left to the request that made them. Those with a nonce go first, in the
 * order of acceptance, for others wait behind them; of the rest those that were not tried for longest, so that a hundred
 * held ones cannot keep everybody else from having a turn.
 */
export async function listWaiting(services: Services, chain: Chain): Promise<Intent[]> {
  return await services.db
    .selectFrom("service.intent")
    .selectAll()
    .where("chain_id", "=", chain.id)
    .where("state", "in", [...unassignedStates, "assigned"])
    .where(
      sql<boolean>`updated_at < clock_timestamp()
        - CASE state WHEN 'held' THEN ${retryHeldMs}::float8 ELSE ${freshMs}::float8 END * interval '1 millisecond'`,
    )
    .orderBy(sql`state = 'assigned'`, "desc")
    .orderBy(sql`CASE WHEN state = 'assigned' THEN seq END`)
    .orderBy("updated_at")
    .orderBy("seq")
    .limit(batch)
    .execute();
}

export async function expireIntents(services: Services, chain: Chain): Promise<void> {
  await services.db
    .updateTable("service.intent")
    .set((update) => ({ state: "expired", version: update("version", "+", 1) }))
    .where("chain_id", "=", chain.id)
    .where("state", "in", [...unassignedStates])
    .where("expires_at", "<", sql<Date>`clock_timestamp()`)
    .execute();
}
