import type { Kysely, Selectable, Transaction } from "kysely";
import { sql } from "kysely";
import type { Hash, Hex } from "viem";
import { toBytes } from "../../db/bytes.ts";
import type { Database } from "../../db/database.ts";
import { type Intent, moveIntent } from "./intents.ts";

export type Attempt = Selectable<Database["service.attempt"]>;
/** A nonce; how it was found, if it was, is for those who look for that. */
export type NonceReservation = Omit<Selectable<Database["service.nonce_reservation"]>, "found" | "found_root">;

/** Where a transaction stands on the chain. */
export interface BlockRef {
  number: bigint;
  hash: Hash;
}

/** Every set of bytes that was signed for an intent's nonce, newest first. */
export async function listAttempts(db: Kysely<Database>, intentId: string): Promise<Attempt[]> {
  return await db
    .selectFrom("service.nonce_reservation as s")
    .innerJoin("service.attempt as a", (join) =>
      join.onRef("a.chain_id", "=", "s.chain_id").onRef("a.addr", "=", "s.addr").onRef("a.nonce", "=", "s.nonce"),
    )
    .selectAll("a")
    .where("s.intent_id", "=", intentId)
    .orderBy("a.created_at", "desc")
    .execute();
}

/** The attempts of many intents at once, newest first. */
export async function listAttemptsOf(
  db: Kysely<Database>,
  intentIds: readonly string[],
): Promise<(Attempt & { intent_id: string })[]> {
  if (intentIds.length === 0) return [];
  return await db
    .selectFrom("service.nonce_reservation as s")
    .innerJoin("service.attempt as a", (join) =>
      join.onRef("a.chain_id", "=", "s.chain_id").onRef("a.addr", "=", "s.addr").onRef("a.nonce", "=", "s.nonce"),
    )
    .selectAll("a")
    .select(sql<string>`s.intent_id`.as("intent_id"))
    .where("s.intent_id", "in", intentIds)
    .orderBy("a.created_at", "desc")
    .execute();
}

export async function findReservation(db: Kysely<Database>, intentId: string): Promise<NonceReservation | undefined> {
  return await db
    .selectFrom("service.nonce_reservation")
    .selectAll()
    .where("intent_id", "=", intentId)
    .executeTakeFirst();
}

/** Notes which of an intent's attempts is in which block, and moves the intent; both or neither. */
export async function markMined(
  transaction: Transaction<Database>,
  intent: Intent,
  to: "mined" | "mined_reverted" | "mined_cancellation",
  hash: Hex,
  block: BlockRef,
  costWei: bigint | null,
): Promise<Intent | null> {
  const moved = await moveIntent(transaction, intent, to);
  if (!moved) return null;
  await transaction
    .updateTable("service.nonce_reservation")
    .set({
      state: "mined",
      mined_block: block.number,
      mined_block_hash: toBytes(block.hash),
      mined_attempt: toBytes(hash),
      mined_cost_wei: costWei,
    })
    .where("intent_id", "=", intent.id)
    .execute();
  return moved;
}

/** Takes `markMined` back: the block is no longer on the chain. Of a batch this holds for all members at once. */
export async function markUnmined(transaction: Transaction<Database>, intent: Intent): Promise<Intent | null> {
  const moved = await moveIntent(transaction, intent, "in_flight");
  if (!moved) return null;
  if (intent.batch_call) await takeMembersBack(transaction, intent.id);
  await transaction
    .updateTable("service.nonce_reservation")
    .set({ state: "open", mined_block: null, mined_block_hash: null, mined_attempt: null, mined_cost_wei: null })
    .where("intent_id", "=", intent.id)
    .execute();
  return moved;
}

/** The reservation is locked first: who confirms a member holds it meanwhile (track/apply.ts). */
async function takeMembersBack(transaction: Transaction<Database>, leadId: string): Promise<void> {
  await sql`SELECT FROM service.nonce_reservation WHERE intent_id = ${leadId}::uuid FOR UPDATE`.execute(transaction);
  await sql`
    UPDATE service.intent m SET state = 'batched', version = m.version + 1, found_tx = NULL, found_block = NULL
    FROM service.nonce_reservation s
    WHERE s.intent_id = ${leadId}::uuid AND m.batch_lead = ${leadId}::uuid AND m.state = 'confirmed'
      AND m.found_tx = s.mined_attempt`.execute(transaction);
}

/**
 * The one hash to show of a nonce of alias `s`: what is mined, else what was signed last; null before the signature.
 */
export const shownHash = sql<Buffer | null>`(SELECT t.hash FROM service.attempt t
  WHERE t.chain_id = s.chain_id AND t.addr = s.addr AND t.nonce = s.nonce
  ORDER BY t.hash = s.mined_attempt DESC NULLS LAST, t.created_at DESC LIMIT 1)`;
