import { sql } from "kysely";
import type { Chain } from "../../chains.ts";
import type { IntentKind } from "../../db/tables/relay.ts";
import type { RelayContext } from "../chain/context.ts";
import { isIntentDone } from "../chain/intent-done.ts";
import { endedStates, unassignedStates } from "../lifecycle.ts";
import { type Intent, moveIntent } from "../store/intents.ts";
import { doneElsewhere, holdDone } from "../submit/hold-intent.ts";
import { attend } from "./loop-steps.ts";

/** Younger ones are in the hands of those who sign for waiting clients. */
export const freshMs = 1_000;
const retryHeldMs = 5_000;
/** Intents of one page; those that do not fit are the next round's. */
const page = 100;
/** As long as the most patient client waits that did not ask anew (requests/until-signed.ts). */
export const askedSeconds = 35;

const unsigned = sql.join([...unassignedStates, "assigned"].map((state) => sql.lit(state)));

/** A request, with when its client asked last, by the database's clock. */
export type Asked = Intent & { asked_at: Date };

/**
 * The first ones whose clients wait for the signature and that are to be tried now, in the order of acceptance.
 *
 * @param working requests that are worked on.
 * @param tried requests that were tried, in an order that does not matter.
 * @param later those of them that are not to be tried yet, unless they were asked for again since `askedAt`.
 */
export async function listAsked(
  { db }: RelayContext,
  { id }: Chain,
  limit: number,
  { working, tried, later }: { working: string[]; tried: string[]; later: { id: string; askedAt: Date }[] },
): Promise<Asked[]> {
  const since = sql`clock_timestamp() - make_interval(secs => ${askedSeconds})`;
  const { rows } = await sql<Asked>`
    SELECT i.*, asked.at AS asked_at
    FROM (SELECT each.id, max(each.at) AS at FROM (
        SELECT n.id, n.created_at AS at FROM service.intent n
        WHERE n.chain_id = ${id} AND n.state IN (${unsigned}) AND n.created_at > ${since}
        UNION ALL
        SELECT w.intent_id, w.asked_at FROM service.signature_wait w WHERE w.chain_id = ${id} AND w.asked_at > ${since}) each
      GROUP BY each.id) asked
    JOIN service.intent i ON i.id = asked.id
    WHERE i.state IN (${unsigned}) AND i.id <> ALL (${working}::uuid[])
      AND NOT EXISTS (
        SELECT FROM unnest(${later.map((each) => each.id)}::uuid[], ${later.map(({ askedAt }) => askedAt)}::timestamptz[]) AS t (id, at)
        WHERE t.id = i.id AND t.at = date_trunc('milliseconds', asked.at))
    -- Those that wait for their turn are tried again and again, and must not keep others from being tried at all.
    ORDER BY i.id = ANY (${tried}::uuid[]), i.seq LIMIT ${limit}`.execute(db);
  return rows;
}

/**
 * A page of the intents without signed bytes, in the order of acceptance, asked for or not. Fresh ones are left out.
 * Of the updates of one contract only the first that is in no block can be tried; the others would take all places for nothing.
 *
 * @param after the order of acceptance (`seq`) to go on behind.
 * @returns fewer than a page when there are no more.
 */
export async function listUnsigned(
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
    .where(sql<boolean>`i.state IN (${unsigned})`)
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
