import { sql } from "kysely";
import type { Chain } from "../../chains.ts";
import type { IntentKind } from "../../db/tables/relay.ts";
import type { RelayContext } from "../chain/context.ts";
import { isIntentDone } from "../chain/intent-done.ts";
import { endedStates, unassignedStates } from "../lifecycle.ts";
import { type Intent, moveIntent } from "../store/intents.ts";
import { doneElsewhere, holdDone } from "../submit/hold-intent.ts";
import { attend } from "./loop-steps.ts";

/** Younger ones are in the hands of the sign loop. */
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
 * A page of the intents without a nonce, in the order of acceptance. Fresh ones are left to the sign loop.
 * Of the updates of one contract only the first that is in no block can be tried; the others would take all places for nothing.
 *
 * @param after the order of acceptance (`seq`) to go on behind.
 * @returns fewer than a page when there are no more.
 */
export async function listUnassigned(
  services: RelayContext,
  chain: Chain,
  after: bigint,
): Promise<{ intents: Intent[]; more: boolean }> {
  const over = sql.join([...endedStates, "confirmed", "mined"].map((state) => sql.lit(state)));
  const isFirst = (kind: IntentKind) => sql<boolean>`(i.kind <> ${sql.lit(kind)} OR NOT EXISTS (
    SELECT FROM service.intent e
    WHERE e.kind = ${sql.lit(kind)} AND e.chain_id = i.chain_id AND e.predicted_addr = i.predicted_addr AND e.seq < i.seq
      AND e.state NOT IN (${over})))`;
  const intents = await services.db
    .selectFrom("service.intent as i")
    .selectAll()
    .where("i.chain_id", "=", chain.id)
    .where("i.state", "in", [...unassignedStates])
    .where("i.seq", ">", after)
    .where(sql<boolean>`i.updated_at < CASE i.state WHEN 'held' THEN ${msAgo(retryHeldMs)} ELSE ${msAgo(freshMs)} END`)
    .where(isFirst("update"))
    .where(isFirst("contract_update"))
    .orderBy("i.seq")
    .limit(page)
    .execute();
  return { intents, more: intents.length === page };
}

function msAgo(ms: number) {
  return sql`clock_timestamp() - ${ms}::float8 * interval '1 millisecond'`;
}

/**
 * Ends what was not sent within its time. Of what the operator carries out the chain is asked first: rows may have been
 * lost, and a client that is told that nothing was done would have it done a second time.
 */
export async function expireIntents(services: RelayContext, chain: Chain): Promise<void> {
  await services.db
    .updateTable("service.intent")
    .set((update) => ({ state: "expired", version: update("version", "+", 1) }))
    .where("chain_id", "=", chain.id)
    .where("state", "in", [...unassignedStates])
    .where("kind", "in", ["deploy", "update"])
    .where("expires_at", "<", sql<Date>`clock_timestamp()`)
    .execute();
  const operations = await services.db
    .selectFrom("service.intent")
    .selectAll()
    .where("chain_id", "=", chain.id)
    .where("state", "in", [...unassignedStates])
    .where("kind", "not in", ["deploy", "update"])
    .where("expires_at", "<", sql<Date>`clock_timestamp()`)
    .orderBy("updated_at")
    .limit(page)
    .execute();
  for (const intent of operations)
    await attend(services, intent, async () => {
      if (!(await isIntentDone(services, chain, intent))) await moveIntent(services.db, intent, "expired");
      else if (intent.hold_reason !== doneElsewhere) await holdDone(services, chain, intent);
    });
}
