import { sql } from "kysely";
import type { Chain } from "../chains.ts";
import type { IntentState } from "../db/tables/relay.ts";
import type { Services } from "../services.ts";
import { type Attempt, listAttemptsOf, type Slot } from "./slots.ts";
import type { WatchedIntent } from "./watch-intent.ts";

/** Nonces of one wallet looked at in a round, from the lowest: a later one cannot be mined before those. */
const lowest = 200;
/** Nonces of one wallet, beyond those, that are to be filled with nothing: before the chain gets to them. */
const lowestCancelled = 50;
/** Intents of one page; those that do not fit are the next round's. */
const page = 500;

const openStates = ["assigned", "signed", "in_flight"] as const satisfies readonly IntentState[];
const pagedStates = {
  mined: ["mined", "mined_reverted", "mined_noop", "quarantined"],
  confirmed: ["confirmed"],
} as const satisfies Record<string, readonly IntentState[]>;

/** How far the rounds have come in what is mined and not final, by order of acceptance. */
export type Pages = Record<keyof typeof pagedStates, bigint>;

export function firstPages(): Pages {
  return { mined: -1n, confirmed: -1n };
}

/**
 * What a round looks at of everything that has a nonce and is not final. There may be more of it than a round can take
 * (a long finality, a node whose pool was emptied), and none of it may be hidden by the rest: of open nonces it is each
 * wallet's lowest, of what waits to be confirmed and of what waits to be final the next page, from round to round.
 *
 * @param pages is moved on to the next ones.
 */
export async function listWatched(services: Services, chain: Chain, pages: Pages): Promise<WatchedIntent[]> {
  const [open, mined, confirmed] = await Promise.all([
    listOpen(services, chain),
    listPage(services, chain, pages, "mined"),
    listPage(services, chain, pages, "confirmed"),
  ]);
  const ids = open.map(({ intent }) => intent.id);
  const attempts = Map.groupBy(await listAttemptsOf(services.db, ids), (attempt) => attempt.intent_id);
  const withAttempts = open.map((item) => ({ ...item, attempts: attempts.get(item.intent.id) ?? [] }));
  return [...withAttempts, ...mined, ...confirmed];
}

async function listOpen(services: Services, chain: Chain): Promise<WatchedIntent[]> {
  const rows = await selectWatched(services)
    .innerJoin(
      (from) =>
        from
          .selectFrom("service.slot as o")
          .innerJoin("service.intent as w", "w.id", "o.intent_id")
          .select("o.intent_id")
          .select(sql<bigint>`row_number() OVER (PARTITION BY o.addr ORDER BY o.nonce)`.as("place"))
          .select(isToBeEmptied.as("to_be_emptied"))
          .select(
            sql<bigint>`row_number() OVER (PARTITION BY o.addr, ${isToBeEmptied} ORDER BY o.nonce)`.as("place_alike"),
          )
          .where("o.chain_id", "=", chain.id)
          .where("o.state", "=", "open")
          .where("w.state", "in", [...openStates])
          .as("chosen"),
      (join) => join.onRef("chosen.intent_id", "=", "i.id"),
    )
    .where((where) =>
      where.or([
        where("chosen.place", "<=", BigInt(lowest)),
        where.and([
          where("chosen.to_be_emptied", "=", true),
          where("chosen.place_alike", "<=", BigInt(lowestCancelled)),
        ]),
      ]),
    )
    .execute();
  return rows.map((row) => asWatched(row));
}

/** Cancelled, and the empty transaction is not signed yet. */
const isToBeEmptied = sql<boolean>`(w.cancel_requested_at IS NOT NULL AND NOT EXISTS (
  SELECT FROM service.attempt a
  WHERE (a.chain_id, a.addr, a.nonce) = (o.chain_id, o.addr, o.nonce) AND a.kind = 'noop'))`;

async function listPage(
  services: Services,
  chain: Chain,
  pages: Pages,
  kind: keyof typeof pagedStates,
): Promise<WatchedIntent[]> {
  const rows = await selectWatched(services)
    .where("i.chain_id", "=", chain.id)
    .where("i.state", "in", [...pagedStates[kind]])
    .where("i.seq", ">", pages[kind])
    .orderBy("i.seq")
    .limit(page)
    .execute();
  const last = rows.length < page ? undefined : rows.at(-1);
  pages[kind] = last ? last.seq : -1n;
  return rows.map((row) => asWatched(row));
}

function selectWatched(services: Services) {
  return services.db
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
    .select(sql<number>`(extract(epoch FROM clock_timestamp() - i.updated_at) * 1000)::float8`.as("age_ms"));
}

type Row = Awaited<ReturnType<ReturnType<typeof selectWatched>["execute"]>>[number];

function asWatched(row: Row): WatchedIntent {
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
  const none: readonly Attempt[] = [];
  return { intent: row, slot, attempts: none, ageMs: row.age_ms };
}
