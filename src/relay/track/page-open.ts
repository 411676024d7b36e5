import { sql } from "kysely";
import type { Chain } from "../../chains.ts";
import type { RelayContext } from "../chain/context.ts";
import { openStates } from "../lifecycle.ts";
import { listAttemptsOf } from "../store/nonces.ts";
import { asWatched, selectWatched, type WatchedIntent } from "./watched-rows.ts";

/** Nonces of one wallet looked at in a round, from the lowest: a later one cannot be mined before those. */
const lowest = 200;
/** Nonces of one wallet, beyond those, that are to be filled with nothing: before the chain gets to them. */
const lowestCancelled = 50;

/** Of what has a nonce and is in no block: the lowest nonces of each wallet, with all bytes that were signed for them. */
export async function listOpen(services: RelayContext, chain: Chain): Promise<WatchedIntent[]> {
  const rows = await selectWatched(services)
    .innerJoin(
      (from) =>
        from
          .selectFrom("service.nonce_reservation as o")
          .innerJoin("service.intent as w", "w.id", "o.intent_id")
          .select("o.intent_id")
          .select(sql<bigint>`row_number() OVER (PARTITION BY o.addr ORDER BY o.nonce)`.as("position"))
          .select(isToBeEmptied.as("to_be_emptied"))
          .select(
            sql<bigint>`row_number() OVER (PARTITION BY o.addr, ${isToBeEmptied} ORDER BY o.nonce)`.as(
              "position_alike",
            ),
          )
          .where("o.chain_id", "=", chain.id)
          .where("o.state", "=", "open")
          .where("w.state", "in", [...openStates])
          .as("chosen"),
      (join) => join.onRef("chosen.intent_id", "=", "i.id"),
    )
    .where((where) =>
      where.or([
        where("chosen.position", "<=", BigInt(lowest)),
        where.and([
          where("chosen.to_be_emptied", "=", true),
          where("chosen.position_alike", "<=", BigInt(lowestCancelled)),
        ]),
      ]),
    )
    .execute();
  const ids = rows.map(({ id }) => id);
  const attempts = Map.groupBy(await listAttemptsOf(services.db, ids), (attempt) => attempt.intent_id);
  return rows.flatMap((row) => {
    const { reservation, ...watched } = asWatched(row);
    return reservation ? [{ ...watched, reservation, attempts: attempts.get(row.id) ?? [] }] : [];
  });
}

/** Cancelled, and the empty transaction is not signed yet. */
const isToBeEmptied = sql<boolean>`(w.cancel_requested_at IS NOT NULL AND NOT EXISTS (
  SELECT FROM service.attempt a
  WHERE (a.chain_id, a.addr, a.nonce) = (o.chain_id, o.addr, o.nonce) AND a.kind = 'cancellation'))`;
