import type { Kysely } from "kysely";
import type { Database } from "../db/database.ts";
import { endedStates, type Intent } from "./intents.ts";

/**
 * Why an update may not take a nonce now; null when it may. `updateConfig` replaces a whole record, so
 * one made from a state that an earlier one is about to change would take that change back.
 *
 * Safe only in the transaction that holds the lane of the service's admin wallet: all updates go there.
 *
 * @param readAt the block that the call was made from.
 */
export async function waitForTurn(db: Kysely<Database>, intent: Intent, readAt: bigint | null): Promise<string | null> {
  if (intent.kind !== "update") return null;
  const others = db
    .selectFrom("service.intent as i")
    .leftJoin("service.slot as s", "s.intent_id", "i.id")
    .where("i.chain_id", "=", intent.chain_id)
    .where("i.predicted_addr", "=", intent.predicted_addr)
    .where("i.id", "<>", intent.id);
  const before = await others
    .select("i.id")
    .where("i.kind", "=", "update")
    .where("i.state", "not in", [...endedStates, "confirmed"])
    .where((eb) => eb.or([eb("i.seq", "<", intent.seq), eb("s.nonce", "is not", null)]))
    .limit(1)
    .executeTakeFirst();
  if (before) return "an earlier update of this collection is under way";
  if (readAt === null) return null;
  const newer = await others
    .select("i.id")
    .where("s.mined_block", ">", readAt)
    .where("i.kind", "=", "update")
    .limit(1)
    .executeTakeFirst();
  return newer ? "the node is behind the last update of this collection" : null;
}
