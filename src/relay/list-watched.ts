import { sql } from "kysely";
import type { Chain } from "../chains.ts";
import type { Services } from "../services.ts";
import { type Intent, unassignedStates, watchedStates } from "./intents.ts";
import { type Attempt, listAttemptsOf, type Slot } from "./slots.ts";
import type { WatchedIntent } from "./watch-intent.ts";

const batch = 100;
/** Younger ones are in the hands of the request that made them. */
export const freshMs = 1_000;
const retryHeldMs = 5_000;

/** Intents without signed bytes. Fresh ones are left to the request that made them; a nonce goes first. */
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
    .orderBy("seq")
    .limit(batch)
    .execute();
}

/** Everything that has a nonce and is not final. */
export async function listWatched(services: Services, chain: Chain): Promise<WatchedIntent[]> {
  const rows = await services.db
    .selectFrom("service.intent as i")
    .innerJoin("service.slot as s", "s.intent_id", "i.id")
    .selectAll("i")
    .select([
      "s.addr as slot_addr",
      "s.nonce as slot_nonce",
      "s.kind as slot_kind",
      "s.state as slot_state",
      "s.mined_block",
      "s.mined_block_hash",
      "s.mined_attempt",
      "s.mined_cost_wei",
      "s.created_at as slot_created_at",
    ])
    .select(sql<number>`(extract(epoch FROM clock_timestamp() - i.updated_at) * 1000)::float8`.as("age_ms"))
    .where("i.chain_id", "=", chain.id)
    .where("i.state", "in", [...watchedStates])
    // The longest unseen to change come last: a long queue must not hide the fresh ones.
    .orderBy("i.updated_at", "desc")
    .limit(10 * batch)
    .execute();
  const open = rows.filter((row) => row.slot_state === "open").map((row) => row.id);
  const attempts = Map.groupBy(await listAttemptsOf(services.db, open), (attempt) => attempt.intent_id);
  return rows.map((row) => {
    const slot: Slot = {
      chain_id: row.chain_id,
      addr: row.slot_addr,
      nonce: row.slot_nonce,
      intent_id: row.id,
      kind: row.slot_kind,
      state: row.slot_state,
      mined_block: row.mined_block,
      mined_block_hash: row.mined_block_hash,
      mined_attempt: row.mined_attempt,
      mined_cost_wei: row.mined_cost_wei,
      created_at: row.slot_created_at,
    };
    const own: readonly Attempt[] = attempts.get(row.id) ?? [];
    return {
      intent: row,
      slot,
      attempts: own,
      ageMs: row.age_ms,
    };
  });
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
