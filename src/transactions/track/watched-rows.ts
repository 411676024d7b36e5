import { sql } from "kysely";
import type { Chain } from "../../chains.ts";
import { toHash } from "../../db/bytes.ts";
import type { RelayContext } from "../chain/context.ts";
import { decidingStates, endedStates, openStates, type Tx } from "../lifecycle.ts";
import type { Intent } from "../store/intents.ts";
import { type Attempt, listAttemptsOf, type NonceReservation } from "../store/nonces.ts";

/** A request whose outcome the chain decides. */
export interface Watched<Reservation = NonceReservation | null> {
  intent: Intent;
  /** Its own nonce, or its lead's; null: lost with its row, or its lead ended without a transaction. */
  reservation: Reservation;
  /** Every set of bytes signed for it, newest first; only read for requests in no block. */
  attempts: readonly Attempt[];
  /** Since its last change, by the database's clock. */
  ageMs: number;
}

/** A request that has its nonce. */
export type WatchedIntent = Watched<NonceReservation>;

/** The part of a request's rows that decisions depend on. */
export function txOf({ intent, reservation }: Watched): Tx {
  const { kind, state } = intent;
  const { mined_block: block = null, mined_block_hash: blockHash, mined_attempt: hash } = reservation ?? {};
  return {
    kind: kind === "deploy" || kind === "update" || kind === "contract" ? kind : "call",
    state,
    why: intent.hold_reason,
    tries: intent.retry_number,
    cancelling: intent.cancel_requested_at !== null,
    share: state === "batched" || (intent.batch_lead && intent.found_tx) ? "member" : intent.batch_call ? "lead" : null,
    hasNonce: reservation !== null,
    mined: block !== null && blockHash && hash ? { hash: toHash(hash), block, blockHash: toHash(blockHash) } : null,
  };
}

/** Requests, with the nonces of the requests in column `holder`; a nonce may have been lost. */
function selectWatched(services: RelayContext, holder: "i.id" | "i.batch_lead" = "i.id") {
  return services.db
    .selectFrom("service.intent as i")
    .leftJoin("service.nonce_reservation as s", "s.intent_id", holder)
    .selectAll("i")
    .select([
      "s.intent_id as reservation_intent",
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

/** The row without its attempts. */
function asWatched(row: Row): Watched {
  const { reservation_addr: addr, reservation_nonce: nonce, reservation_kind: kind } = row;
  const { reservation_state: state, reservation_created_at: created_at } = row;
  const isThere = addr && nonce !== null && kind && state && created_at;
  const { mined_block, mined_block_hash, mined_attempt, mined_cost_wei } = row;
  const mined = { mined_block, mined_block_hash, mined_attempt, mined_cost_wei };
  const own = isThere
    ? { chain_id: row.chain_id, addr, nonce, intent_id: row.reservation_intent, kind, state, created_at, ...mined }
    : null;
  return { intent: row, reservation: own, attempts: [], ageMs: row.age_ms };
}

/** Requests per page; the rest are left to the next round. */
const page = 500;

const lists = {
  /** Once the lead's state is usable: in a block, or ended without one. Listed first, as many share one block. */
  batched: sql<boolean>`i.state = 'batched' AND (s.state = 'mined' OR EXISTS (
    SELECT FROM service.intent l WHERE l.id = i.batch_lead AND l.state IN (${sql.join(endedStates.map((state) => sql.lit(state)))})))`,
  /** Literals instead of parameters: the indexes are partial. */
  mined: sql<boolean>`i.state IN (${sql.join(decidingStates.map((state) => sql.lit(state)))})`,
  confirmed: sql<boolean>`i.state = 'confirmed' AND s.intent_id IS NOT NULL`,
};

/** The position that the rounds have reached in each list, by order of acceptance. */
export type Pages = Record<keyof typeof lists, bigint>;

export const firstPages: Pages = { mined: -1n, confirmed: -1n, batched: -1n };

/**
 * The requests that a round checks out of all that are mined and not final. There may be more than a round can take
 * (some chains take long to finalize), and no list may crowd out another: each round takes the next page of the
 * requests to be confirmed, of those to be finalized, and of those that share a transaction.
 *
 * @param pages is advanced to the next pages.
 */
export async function listInBlocks(services: RelayContext, chain: Chain, pages: Pages): Promise<Watched[]> {
  const names = Object.keys(lists) as (keyof typeof lists)[];
  return (await Promise.all(names.map((name) => listPage(services, chain, pages, name)))).flat();
}

/** Requests that lost their nonce: older versions left some when two requests met at one nonce. */
export async function listLost(services: RelayContext, chain: Chain): Promise<Watched[]> {
  const rows = await selectWatched(services)
    .where("i.chain_id", "=", chain.id)
    .where("i.state", "in", ["mined", "nonce_conflict"])
    .where("s.intent_id", "is", null)
    .limit(page)
    .execute();
  return rows.map(asWatched);
}

async function listPage(
  services: RelayContext,
  chain: Chain,
  pages: Pages,
  name: keyof typeof lists,
): Promise<Watched[]> {
  const rows = await selectWatched(services, name === "batched" ? "i.batch_lead" : "i.id")
    .where("i.chain_id", "=", chain.id)
    .where(lists[name])
    .where("i.seq", ">", pages[name])
    .orderBy("i.seq")
    .limit(page)
    .execute();
  const last = rows.length < page ? undefined : rows.at(-1);
  pages[name] = last ? last.seq : -1n;
  return rows.map(asWatched);
}

/** Nonces of one wallet per round, from the lowest: a later one cannot be mined before those. */
const lowest = 200;
/** Further nonces of one wallet that need an empty transaction, before the chain reaches them. */
const lowestCancelled = 50;

/** Requests with a nonce and in no block: the lowest nonces of each wallet, with all bytes signed for them. */
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

/** Cancelled, with the empty transaction not signed yet. */
const isToBeEmptied = sql<boolean>`(w.cancel_requested_at IS NOT NULL AND NOT EXISTS (
  SELECT FROM service.attempt a
  WHERE (a.chain_id, a.addr, a.nonce) = (o.chain_id, o.addr, o.nonce) AND a.kind = 'cancellation'))`;
