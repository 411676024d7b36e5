import type { Kysely, Selectable, Transaction } from "kysely";
import { sql } from "kysely";
import type { Hash, Hex } from "viem";
import { toBytes } from "../../db/bytes.ts";
import type { Database } from "../../db/database.ts";
import { batched } from "./batch.ts";
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

/** A step of an intent into a block, or within it. */
export interface BlockStep {
  intent: Intent;
  to: "mined" | "mined_reverted" | "mined_cancellation" | "confirmed" | "finalized";
  /** Which of its attempts is in which block, where that is new. */
  mined?: { hash: Hex; block: BlockRef; costWei: bigint | null };
}

/**
 * Moves intents and notes where they are mined, both or neither, in one statement.
 *
 * @param steps of intents of which none shares a transaction with others (`finalize_members`); of an intent that is there
 *   twice, seen before and after it moved, one step is taken at most.
 * @returns for each the intent as it stands then; null where another process moved it.
 */
export async function takeBlockSteps(
  db: Kysely<Database>,
  steps: readonly BlockStep[],
): Promise<readonly (Intent | null)[]> {
  const column = <T>(read: (step: BlockStep) => T) => steps.map(read);
  const { rows } = await sql<Intent & { locked: bigint }>`
    WITH step AS (
      SELECT * FROM unnest(${column(({ intent }) => intent.id)}::uuid[], ${column(({ intent }) => intent.state)}::text[],
        ${column(({ intent }) => intent.version)}::int[], ${column(({ to }) => to)}::text[],
        ${column(({ mined }) => mined && toBytes(mined.hash))}::bytea[],
        ${column(({ mined }) => mined && String(mined.block.number))}::bigint[],
        ${column(({ mined }) => mined && toBytes(mined.block.hash))}::bytea[],
        ${column(({ mined }) => mined?.costWei?.toString())}::numeric[]
      ) AS s (id, state, version, next, hash, block, block_hash, cost)),
    -- Rows of intents and of limits are locked in the order in which everybody takes them.
    seen AS (
      SELECT i.id FROM service.intent i JOIN step ON step.id = i.id AND step.state = i.state AND step.version = i.version
      ORDER BY i.id FOR NO KEY UPDATE OF i),
    moved AS (
      UPDATE service.intent i SET state = step.next, version = step.version + 1, hold_reason = NULL, hold_detail = NULL
      FROM seen JOIN step ON step.id = seen.id WHERE i.id = seen.id AND i.state = step.state AND i.version = step.version
      RETURNING i.*),
    noted AS (
      UPDATE service.nonce_reservation r SET state = 'mined', mined_block = step.block, mined_block_hash = step.block_hash,
        mined_attempt = step.hash, mined_cost_wei = step.cost
      FROM moved JOIN step ON step.id = moved.id AND step.version + 1 = moved.version
      WHERE r.intent_id = moved.id AND step.hash IS NOT NULL
      RETURNING r.intent_id),
    limits AS (
      SELECT b.scope FROM service.budget b WHERE (b.scope, b.period) IN (
        SELECT e.scope, e.period FROM service.budget_entry e JOIN noted ON noted.intent_id = e.intent_id WHERE NOT e.settled)
      ORDER BY b.scope, b.period FOR NO KEY UPDATE OF b)
    SELECT moved.*, (SELECT count(*) FROM limits) AS locked FROM moved`.execute(db);
  const moved = new Map(rows.map(({ locked: _, ...intent }) => [intent.id, intent] as const));
  return steps.map(({ intent: { id, version }, to }) => {
    const intent = moved.get(id);
    return intent?.version === version + 1 && intent.state === to ? intent : null;
  });
}

/** Steps of one round share a statement, and its commit. */
const stepTogether = batched(takeBlockSteps, { most: 64, retryIndividually: true });

/** @returns the intent as it stands then; null when another process moved it. */
export async function takeBlockStep(db: Kysely<Database>, step: BlockStep): Promise<Intent | null> {
  const { intent } = step;
  // What shares a transaction moves others too, and each step locks what it moves.
  if (intent.batch_call || intent.batch_lead) return (await takeBlockSteps(db, [step]))[0] ?? null;
  return await stepTogether(db, "", step);
}

/** Takes being mined back: the block is no longer on the chain. Of a batch this holds for all members at once. */
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
