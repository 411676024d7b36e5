import { setTimeout as sleep } from "node:timers/promises";
import { type Kysely, type Selectable, sql, type Transaction } from "kysely";
import type { Hash, Hex } from "viem";
import { toBytes } from "../../db/bytes.ts";
import type { Database } from "../../db/database.ts";
import { endedStates } from "../lifecycle.ts";
import { batched } from "./batch.ts";
import { type Intent, moveIntent } from "./intents.ts";
import type { WalletKey } from "./wallets.ts";

export type Attempt = Selectable<Database["service.attempt"]>;
/** A nonce, without the columns that say how it was recovered. */
export type NonceReservation = Omit<Selectable<Database["service.nonce_reservation"]>, "found" | "found_root">;

/** A block that a transaction is in. */
export interface BlockRef {
  number: bigint;
  hash: Hash;
}

/** An update of one nonce's row. */
export function updateNonce(db: Kysely<Database>, { chain_id, addr, nonce }: WalletKey & { nonce: bigint }) {
  return db
    .updateTable("service.nonce_reservation")
    .where("chain_id", "=", chain_id)
    .where("addr", "=", addr)
    .where("nonce", "=", nonce);
}

/** Nonces `s`, each with every set of bytes `a` that was signed for it. */
export function selectAttempts(db: Kysely<Database>) {
  return db
    .selectFrom("service.nonce_reservation as s")
    .innerJoin("service.attempt as a", (join) =>
      join.onRef("a.chain_id", "=", "s.chain_id").onRef("a.addr", "=", "s.addr").onRef("a.nonce", "=", "s.nonce"),
    );
}

/** Every set of bytes that was signed for an intent's nonce, newest first. */
export async function listAttempts(db: Kysely<Database>, intentId: string): Promise<Attempt[]> {
  return await listAttemptsOf(db, [intentId]);
}

/** The attempts of many intents at once, newest first. */
export async function listAttemptsOf(
  db: Kysely<Database>,
  intentIds: readonly string[],
): Promise<(Attempt & { intent_id: string })[]> {
  if (intentIds.length === 0) return [];
  return await selectAttempts(db)
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

/** A step of an intent into a block, or from one such state to the next. */
export interface BlockStep {
  intent: Intent;
  to: "mined" | "mined_reverted" | "mined_cancellation" | "confirmed" | "finalized";
  /** The attempt that is in a block, and the block, where that is new. */
  mined?: { hash: Hex; block: BlockRef; costWei: bigint | null };
}

/**
 * Moves intents and records where they are mined, both or neither, in one statement.
 *
 * @param steps must not end the lead of a batch unless that step is the only one (`finalize_members`). If an intent
 *   appears twice, read before and after it moved, at most one step is taken.
 * @returns the new row of each intent; null where another process moved it.
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

/** The steps of one round share a statement and its commit. */
const stepTogether = batched(takeBlockSteps, { most: 64, retryIndividually: true });

/** @returns the intent's new row; null when another process moved it. */
export async function takeBlockStep(db: Kysely<Database>, step: BlockStep): Promise<Intent | null> {
  // Ending a batch's lead moves its members too, and each step locks the rows that it moves.
  const movesOthers = step.intent.batch_call !== null && step.to === "finalized";
  if (movesOthers) return (await takeBlockSteps(db, [step]))[0] ?? null;
  return await stepTogether(db, "", step);
}

/** A member of a batch whose transaction, in a block, was seen to have carried it out. */
interface MemberStep {
  intent: Intent;
  lead: NonceReservation;
}

/**
 * Confirms members of one batch, in one commit. The lead's reservation is locked, so nobody takes the block back
 * meanwhile (`markUnmined`).
 *
 * @param steps all with the same reservation as it was read.
 * @returns the new row of each intent; null where the block was taken back, or another process moved the intent.
 */
const confirmMembers = batched(
  async (db: Kysely<Database>, steps: readonly MemberStep[]): Promise<readonly (Intent | null)[]> => {
    const [first] = steps;
    const leadId = first?.intent.batch_lead;
    if (!first || leadId == null) throw new Error("only members of a batch are confirmed with others");
    const { mined_attempt, mined_block, mined_block_hash } = first.lead;
    return await db.transaction().execute(async (transaction) => {
      const { rows: confirmed } = await sql<Intent>`
        WITH held AS (
          SELECT intent_id FROM service.nonce_reservation WHERE intent_id = ${leadId}::uuid AND state = 'mined'
            AND mined_attempt = ${mined_attempt} AND mined_block_hash = ${mined_block_hash} FOR SHARE),
        seen AS (
          SELECT i.id FROM held CROSS JOIN service.intent i
          JOIN unnest(${steps.map(({ intent }) => intent.id)}::uuid[], ${steps.map(({ intent }) => intent.version)}::int[])
            AS step (id, version) ON step.id = i.id AND step.version = i.version
          WHERE i.state = 'batched' ORDER BY i.id FOR NO KEY UPDATE OF i)
        UPDATE service.intent i SET state = 'confirmed', version = i.version + 1, hold_reason = NULL, hold_detail = NULL,
          found_tx = ${mined_attempt}, found_block = ${mined_block}
        FROM seen WHERE i.id = seen.id RETURNING i.*`.execute(transaction);
      // A separate statement, to see what was committed before the reservation was locked: a lead that has ended since
      // has already looked for confirmed members.
      const { rows: finalized } = await sql<Intent>`
        UPDATE service.intent i SET state = 'finalized', version = i.version + 1
        WHERE i.id = ANY (${confirmed.map(({ id }) => id)}::uuid[]) AND i.state = 'confirmed'
          AND (SELECT l.state FROM service.intent l WHERE l.id = ${leadId}::uuid) = ANY (${endedStates}::text[])
        RETURNING i.*`.execute(transaction);
      const now = new Map([...confirmed, ...finalized].map((intent) => [intent.id, intent] as const));
      return steps.map(({ intent }) => now.get(intent.id) ?? null);
    });
  },
  { most: 64, retryIndividually: true, gather: () => sleep(3) },
);

/** @returns the intent's new row; null where it was not confirmed. */
export async function confirmMember(db: Kysely<Database>, step: MemberStep): Promise<Intent | null> {
  const { intent_id, mined_attempt, mined_block_hash } = step.lead;
  const name = [intent_id, mined_attempt?.toString("hex"), mined_block_hash?.toString("hex")].join(" ");
  return await confirmMembers(db, name, step);
}

/** Records that a transaction is not mined any more, as its block left the chain; of a batch, for all its members. */
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

/** Locks the reservation first, because confirming members locks it too. */
async function takeMembersBack(transaction: Transaction<Database>, leadId: string): Promise<void> {
  await sql`SELECT FROM service.nonce_reservation WHERE intent_id = ${leadId}::uuid FOR UPDATE`.execute(transaction);
  await sql`
    UPDATE service.intent m SET state = 'batched', version = m.version + 1, found_tx = NULL, found_block = NULL
    FROM service.nonce_reservation s
    WHERE s.intent_id = ${leadId}::uuid AND m.batch_lead = ${leadId}::uuid AND m.state = 'confirmed'
      AND m.found_tx = s.mined_attempt`.execute(transaction);
}

/** The hash to show for a nonce with alias `s`: the mined attempt, else the newest; null before the signature. */
export const shownHash = sql<Buffer | null>`(SELECT t.hash FROM service.attempt t
  WHERE t.chain_id = s.chain_id AND t.addr = s.addr AND t.nonce = s.nonce
  ORDER BY t.hash = s.mined_attempt DESC NULLS LAST, t.created_at DESC LIMIT 1)`;
