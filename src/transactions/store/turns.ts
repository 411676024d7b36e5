import { type Kysely, sql } from "kysely";
import type { Hash } from "viem";
import { toHash } from "../../db/bytes.ts";
import type { Database } from "../../db/database.ts";
import { decidingStates, endedStates, openStates, unassignedStates } from "../lifecycle.ts";
import { type Intent, replacesRecord } from "./intents.ts";
import type { BlockRef, NonceReservation } from "./nonces.ts";
import { type ContractChanges, changesOf, readChanges, tokensOf } from "./payloads.ts";

/** What an update's call was made from: a block, and in it the effect of every update before. */
export interface UpdateBasis {
  block: bigint;
  /** The block of the newest update then; null: there was none. */
  after: Hash | null;
}

const underWay = "an earlier update of this contract is under way";

/**
 * Why an update may not take a nonce now; null when it may, and for what keeps no order.
 *
 * Safe only in the transaction that holds the wallet's row: it locks what is built upon, so that nobody takes its block back
 * and cancels it meanwhile.
 *
 * @param sender null before the wallet is chosen.
 * @param basis null before the call is made.
 */
export async function waitForTurn(
  db: Kysely<Database>,
  intent: Intent,
  sender: Buffer | null,
  basis: UpdateBasis | null,
): Promise<string | null> {
  if (intent.kind === "token_update") return await waitForToken(db, intent, sender);
  return replacesRecord(intent.kind) ? await waitForRecord(db, intent, sender, basis) : null;
}

/**
 * `updateConfig` replaces a whole record, so one made from a state that an earlier one is about to change would take that
 * change back. One that is mined is built upon: if its block goes away, nonces keep the order, and the later record
 * contains what it changed.
 */
async function waitForRecord(
  db: Kysely<Database>,
  intent: Intent,
  sender: Buffer | null,
  basis: UpdateBasis | null,
): Promise<string | null> {
  if (sender) await others(db, intent).select("i.id").where(isBuiltUpon(intent, sender)).forShare(["i"]).execute();
  const before = await others(db, intent)
    .select("i.id")
    .where("i.state", "not in", [...endedStates, "confirmed"])
    .where((eb) => eb.or([eb("i.seq", "<", intent.seq), eb("s.nonce", "is not", null)]))
    .where((eb) => eb.not(isBuiltUpon(intent, sender)))
    .limit(1)
    .executeTakeFirst();
  if (before) return underWay;
  return await lacksNewest(db, intent, basis);
}

/**
 * Whether the update in row `i` may be a later one's basis before it is confirmed: after a reorganisation it is mined ahead
 * of it again, by its lower nonce of the same wallet, and with the same call. One that was to be cancelled may be mined as
 * nothing then, and what was accepted later decides what of an earlier one is wanted.
 */
function isBuiltUpon({ seq }: Intent, sender: Buffer | null) {
  return sql<boolean>`(i.state = 'mined' AND i.seq < ${seq} AND i.cancel_requested_at IS NULL
    AND (${sender}::bytea IS NULL OR s.addr IS NOT DISTINCT FROM ${sender}::bytea))`;
}

/**
 * Why an update that has its nonce may not be signed now; null when it may: a reorganisation may have taken
 * away the update before it, which will be mined again ahead of it, with what it changed.
 *
 * @param basis null before the call is made. Asked again with it, the answer holds for good: what the newest update
 *   changed is in the call then, whatever becomes of its block.
 */
export async function waitForThoseAhead(
  db: Kysely<Database>,
  intent: Intent,
  reservation: NonceReservation,
  basis: UpdateBasis | null,
): Promise<string | null> {
  if (!replacesRecord(intent.kind)) return null;
  const ahead = await others(db, intent)
    .select("i.id")
    .where("i.state", "not in", [...endedStates, "confirmed"])
    .where((eb) => eb.or([eb("s.addr", "<>", reservation.addr), eb("s.nonce", "<", reservation.nonce)]))
    .where((eb) => eb.not(isBuiltUpon(intent, reservation.addr)))
    .limit(1)
    .executeTakeFirst();
  if (ahead) return underWay;
  return await lacksNewest(db, intent, basis);
}

async function lacksNewest(db: Kysely<Database>, intent: Intent, basis: UpdateBasis | null): Promise<string | null> {
  if (basis === null) return null;
  const newest = await newestUpdate(db, intent);
  return (newest?.hash ?? null) === basis.after ? null : "another update of this contract was mined meanwhile";
}

/** Where an update stands on the chain. */
export interface MinedUpdate extends BlockRef {
  transaction: Hash | null;
  /** No reorganisation that is reckoned with takes it away any more. */
  final: boolean;
  /** One endpoint says so: it is not confirmed. */
  unconfirmed: boolean;
}

/**
 * Where the newest mined update of the same collection stands, as far as is known. A call may only be made
 * from a state that has this very block below it: the same number on another branch lacks its effect.
 */
export async function newestUpdate(db: Kysely<Database>, intent: Intent): Promise<MinedUpdate | null> {
  const row = await others(db, intent)
    .select(["s.mined_block", "s.mined_block_hash", "s.mined_attempt", "i.state"])
    .where("s.mined_block", "is not", null)
    .orderBy("s.mined_block", "desc")
    // Of one block, the last in it.
    .orderBy("s.nonce", "desc")
    .limit(1)
    .executeTakeFirst();
  if (!row?.mined_block || !row.mined_block_hash) return null;
  return {
    number: row.mined_block,
    hash: toHash(row.mined_block_hash),
    transaction: row.mined_attempt && toHash(row.mined_attempt),
    final: (endedStates as readonly string[]).includes(row.state),
    unconfirmed: row.state === "mined",
  };
}

/**
 * Members that updates which were accepted later have changed already. What was accepted last holds: an update that a
 * reorganisation or a third party made us repeat must not take them back.
 */
export async function supersededMembers(db: Kysely<Database>, intent: Intent): Promise<ReadonlySet<string>> {
  const rows = await others(db, intent)
    .select("i.payload")
    .where("i.seq", ">", intent.seq)
    .where("i.state", "in", ["confirmed", "finalized"])
    .execute();
  return new Set(rows.flatMap(({ payload }) => membersOf(intent, payload)));
}

function membersOf({ kind }: Intent, payload: unknown): string[] {
  if (kind === "update") return Object.keys(readChanges(payload));
  const { roles = [], ...others } = changesOf({ payload });
  return [...Object.keys(others), ...roles.map(({ role }) => `roles.${role}`)];
}

/** Changes of a product contract without the members that `supersededMembers` names. */
export function changesWithout(changes: ContractChanges, superseded: ReadonlySet<string>): ContractChanges {
  const left = Object.entries(changes).filter(([member]) => !superseded.has(member));
  const roles = changes.roles?.filter(({ role }) => !superseded.has(`roles.${role}`));
  return { ...Object.fromEntries(left), ...(roles ? { roles } : {}) };
}

/** Whether a call that has its nonce contains what this update changes: then it will hold, whatever becomes of its own transaction. */
export async function isInLaterUpdate(db: Kysely<Database>, intent: Intent): Promise<boolean> {
  if (!replacesRecord(intent.kind)) return false;
  const row = await others(db, intent)
    .select("i.id")
    .where("i.seq", ">", intent.seq)
    .where("i.state", "in", ["assigned", "signed", "in_flight", "mined", "mined_reverted", "confirmed", "finalized"])
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

function others(db: Kysely<Database>, intent: Intent) {
  return db
    .selectFrom("service.intent as i")
    .leftJoin("service.nonce_reservation as s", "s.intent_id", "i.id")
    .where("i.chain_id", "=", intent.chain_id)
    .where("i.predicted_addr", "=", intent.predicted_addr)
    .where("i.kind", "=", intent.kind)
    .where("i.id", "<>", intent.id);
}

const tokenUnderWay = "an earlier update of this token is under way";

/**
 * What was accepted last of a token has to hold: an earlier update has its nonce first, of the same wallet if it is not
 * confirmed yet, for nonces of one wallet keep their order on the chain. A retry also waits for later ones that are being
 * mined: they decide whether it is wanted any more.
 */
async function waitForToken(db: Kysely<Database>, intent: Intent, sender: Buffer | null): Promise<string | null> {
  const before = await othersOfToken(db, intent)
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
  return before ? tokenUnderWay : null;
}

/** Whether a later update of the token has given it another URI: a retry of this one would take that back. */
export async function isTokenSuperseded(db: Kysely<Database>, intent: Intent): Promise<boolean> {
  if (intent.kind !== "token_update" || intent.retry_number === 0 || !tokensOf(intent).tokens[0]?.uri) return false;
  const later = await othersOfToken(db, intent)
    .where("i.seq", ">", intent.seq)
    .where("i.state", "in", ["confirmed", "finalized"])
    .where(sql<boolean>`i.payload -> 'tokens' -> 0 ? 'uri'`)
    .limit(1)
    .executeTakeFirst();
  return later !== undefined;
}

function othersOfToken(db: Kysely<Database>, intent: Intent) {
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
