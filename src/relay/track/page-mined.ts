import { sql } from "kysely";
import type { Chain } from "../../chains.ts";
import type { IntentState } from "../../db/tables/relay.ts";
import type { RelayContext } from "../chain/context.ts";
import { decidingStates } from "../store/lifecycle.ts";
import type { WatchedIntent } from "./check-intent.ts";
import { asWatched, selectWatched } from "./watched-rows.ts";

/** Intents of one page; those that do not fit are the next round's. */
const page = 500;

const pagedStates = {
  mined: decidingStates,
  confirmed: ["confirmed"],
} as const satisfies Record<string, readonly IntentState[]>;

/** How far the rounds have come, by order of acceptance. */
export type ConfirmingPages = Record<keyof typeof pagedStates, bigint>;

/**
 * What a round looks at of everything that is mined and not final. There may be more of it than a round can take (some
 * chains take long to be final), and none of it may be hidden by the rest: of what waits to be confirmed and of what
 * waits to be final it is the next page, from round to round.
 *
 * @param pages is moved on to the next ones.
 */
export async function listConfirming(
  services: RelayContext,
  chain: Chain,
  pages: ConfirmingPages,
): Promise<WatchedIntent[]> {
  const [mined, confirmed] = await Promise.all([
    listPage(services, chain, pages, "mined"),
    listPage(services, chain, pages, "confirmed"),
  ]);
  return [...mined, ...confirmed];
}

async function listPage(
  services: RelayContext,
  chain: Chain,
  pages: ConfirmingPages,
  kind: keyof typeof pagedStates,
): Promise<WatchedIntent[]> {
  const rows = await selectWatched(services)
    .where("i.chain_id", "=", chain.id)
    // In words and not as a parameter: the index of the confirmed ones is a partial one.
    .where(sql<boolean>`i.state IN (${sql.join(pagedStates[kind].map((state) => sql.lit(state)))})`)
    .where("i.seq", ">", pages[kind])
    .orderBy("i.seq")
    .limit(page)
    .execute();
  const last = rows.length < page ? undefined : rows.at(-1);
  pages[kind] = last ? last.seq : -1n;
  return rows.map((row) => asWatched(row));
}
