import { sql } from "kysely";
import type { Chain } from "../../chains.ts";
import type { RelayContext } from "../chain/context.ts";
import type { Intent } from "../store/intents.ts";
import { endedStates, unassignedStates } from "../store/lifecycle.ts";

/** Younger ones are in the hands of the request that made them. */
export const freshMs = 1_000;
const retryHeldMs = 5_000;
/** Intents of one page; those that do not fit are the next round's. */
const page = 100;
/** Unsigned nonces of one wallet in a round, from the lowest: those behind them wait anyway. */
const lowest = 20;

/** Intents that have a nonce and no signed bytes, each wallet's lowest first: others wait behind them. */
export async function listAssigned(services: RelayContext, chain: Chain): Promise<Intent[]> {
  return await services.db
    .selectFrom("service.intent as i")
    .innerJoin(
      (from) =>
        from
          .selectFrom("service.nonce_reservation as s")
          .innerJoin("service.intent as w", "w.id", "s.intent_id")
          .select("s.intent_id")
          .select(sql<bigint>`row_number() OVER (PARTITION BY s.addr ORDER BY s.nonce)`.as("position"))
          .where("s.chain_id", "=", chain.id)
          .where("s.state", "=", "open")
          .where("w.state", "=", "assigned")
          .where(sql<boolean>`w.updated_at < ${msAgo(freshMs)}`)
          .as("chosen"),
      (join) => join.onRef("chosen.intent_id", "=", "i.id"),
    )
    .selectAll("i")
    .where("chosen.position", "<=", BigInt(lowest))
    .orderBy("chosen.position")
    .limit(page)
    .execute();
}

/**
 * A page of the intents without a nonce, in the order of acceptance. Fresh ones are left to the request that made them.
 * Of the updates of one collection only the first can be tried; the others would take all places for nothing.
 *
 * @param after the order of acceptance (`seq`) to go on behind.
 * @returns fewer than a page when there are no more.
 */
export async function listUnassigned(
  services: RelayContext,
  chain: Chain,
  after: bigint,
): Promise<{ intents: Intent[]; more: boolean }> {
  const over = sql.join([...endedStates, "confirmed"].map((state) => sql.lit(state)));
  const intents = await services.db
    .selectFrom("service.intent as i")
    .selectAll()
    .where("i.chain_id", "=", chain.id)
    .where("i.state", "in", [...unassignedStates])
    .where("i.seq", ">", after)
    .where(sql<boolean>`i.updated_at < CASE i.state WHEN 'held' THEN ${msAgo(retryHeldMs)} ELSE ${msAgo(freshMs)} END`)
    .where(
      sql<boolean>`(i.kind <> 'update' OR NOT EXISTS (
        SELECT FROM service.intent e
        WHERE e.kind = 'update' AND e.chain_id = i.chain_id AND e.predicted_addr = i.predicted_addr AND e.seq < i.seq
          AND e.state NOT IN (${over})))`,
    )
    .orderBy("i.seq")
    .limit(page)
    .execute();
  return { intents, more: intents.length === page };
}

function msAgo(ms: number) {
  return sql`clock_timestamp() - ${ms}::float8 * interval '1 millisecond'`;
}

export async function expireIntents(services: RelayContext, chain: Chain): Promise<void> {
  await services.db
    .updateTable("service.intent")
    .set((update) => ({ state: "expired", version: update("version", "+", 1) }))
    .where("chain_id", "=", chain.id)
    .where("state", "in", [...unassignedStates])
    .where("expires_at", "<", sql<Date>`clock_timestamp()`)
    .execute();
}
