import type { Kysely, Selectable, Transaction } from "kysely";
import { sql } from "kysely";
import type { Hash, Hex, TransactionReceipt } from "viem";
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

/** What a mined transaction took from its sender, its value (always 0) aside. */
export function costOf(receipt: Pick<TransactionReceipt, "gasUsed" | "effectiveGasPrice">): bigint {
  return receipt.gasUsed * receipt.effectiveGasPrice;
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

/** Takes `markMined` back: the block is no longer on the chain. */
export async function markUnmined(transaction: Transaction<Database>, intent: Intent): Promise<Intent | null> {
  const moved = await moveIntent(transaction, intent, "in_flight");
  if (!moved) return null;
  await transaction
    .updateTable("service.nonce_reservation")
    .set({ state: "open", mined_block: null, mined_block_hash: null, mined_attempt: null, mined_cost_wei: null })
    .where("intent_id", "=", intent.id)
    .execute();
  return moved;
}
