import { sql } from "kysely";
import type { RelayContext } from "../chain/context.ts";
import type { Attempt, NonceReservation } from "../store/nonces.ts";
import type { WatchedIntent } from "./check-intent.ts";

/** Intents with their reservations, for whoever adds what is wanted of them. */
export function selectWatched(services: RelayContext) {
  return services.db
    .selectFrom("service.intent as i")
    .innerJoin("service.nonce_reservation as s", "s.intent_id", "i.id")
    .selectAll("i")
    .select([
      "s.addr as reservation_addr",
      "s.nonce as reservation_nonce",
      "s.kind as reservation_kind",
      "s.state as reservation_state",
      "s.mined_block",
      "s.mined_block_hash",
      "s.mined_attempt",
      "s.mined_cost_wei",
      "s.created_at as reservation_created_at",
    ])
    .select(sql<number>`(extract(epoch FROM clock_timestamp() - i.updated_at) * 1000)::float8`.as("age_ms"));
}

type Row = Awaited<ReturnType<ReturnType<typeof selectWatched>["execute"]>>[number];

/** Without its attempts. */
export function asWatched(row: Row): WatchedIntent {
  const reservation: NonceReservation = {
    chain_id: row.chain_id,
    addr: row.reservation_addr,
    nonce: row.reservation_nonce,
    intent_id: row.id,
    kind: row.reservation_kind,
    state: row.reservation_state,
    mined_block: row.mined_block,
    mined_block_hash: row.mined_block_hash,
    mined_attempt: row.mined_attempt,
    mined_cost_wei: row.mined_cost_wei,
    created_at: row.reservation_created_at,
  };
  const none: readonly Attempt[] = [];
  return { intent: row, reservation, attempts: none, ageMs: row.age_ms };
}
