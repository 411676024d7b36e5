import type { Kysely } from "kysely";
import { sql } from "kysely";
import type { Database } from "../../db/database.ts";
import { decidingStates, openStates, unassignedStates } from "../lifecycle.ts";
import type { Intent } from "./intents.ts";
import { tokensOf } from "./operation-payload.ts";

const underWay = "an earlier update of this token is under way";

/**
 * Why an update of a token may not take a nonce now; null when it may. What was accepted last has to hold: an earlier one
 * has its nonce first, of the same wallet if it is not confirmed yet, for nonces of one wallet keep their order on the
 * chain. A retry also waits for later ones that are being mined: they decide whether it is wanted any more.
 *
 * @param sender null before the wallet is chosen.
 */
export async function waitForTokenTurn(
  db: Kysely<Database>,
  intent: Intent,
  sender: Buffer | null,
): Promise<string | null> {
  if (intent.kind !== "token_update") return null;
  const before = await others(db, intent)
    .leftJoin("service.nonce_reservation as s", "s.intent_id", "i.id")
    .where((eb) =>
      eb.or([
        eb.and([eb("i.seq", "<", intent.seq), eb("i.state", "in", [...unassignedStates, "nonce_conflict"])]),
        eb.and([
          eb("i.state", "in", [...openStates, ...decidingStates]),
          eb.or([
            eb.and([eb("i.seq", "<", intent.seq), sql<boolean>`s.addr <> ${sender}`]),
            eb.and([eb("i.seq", ">", intent.seq), eb(eb.val(intent.retry_number), ">", 0)]),
          ]),
        ]),
      ]),
    )
    .limit(1)
    .executeTakeFirst();
  return before ? underWay : null;
}

/** Whether a later update of the token has given it another URI: a retry of this one would take that back. */
export async function isTokenSuperseded(db: Kysely<Database>, intent: Intent): Promise<boolean> {
  if (intent.kind !== "token_update" || intent.retry_number === 0 || !tokensOf(intent).tokens[0]?.uri) return false;
  const later = await others(db, intent)
    .where("i.seq", ">", intent.seq)
    .where("i.state", "in", ["confirmed", "finalized"])
    .where(sql<boolean>`i.payload -> 'tokens' -> 0 ? 'uri'`)
    .limit(1)
    .executeTakeFirst();
  return later !== undefined;
}

function others(db: Kysely<Database>, intent: Intent) {
  const tokenId = tokensOf(intent).tokens[0]?.tokenId ?? "";
  return db
    .selectFrom("service.intent as i")
    .select("i.id")
    .where("i.chain_id", "=", intent.chain_id)
    .where("i.predicted_addr", "=", intent.predicted_addr)
    .where("i.kind", "=", sql.lit("token_update" as const))
    .where(sql<boolean>`i.payload -> 'tokens' -> 0 ->> 'tokenId' = ${tokenId}`)
    .where("i.root_id", "<>", intent.root_id);
}
