import { type Kysely, sql } from "kysely";
import type { Hash } from "viem";
import { toHash } from "../../db/bytes.ts";
import type { Database } from "../../db/database.ts";
import { decidingStates, endedStates, openStates, unassignedStates } from "../lifecycle.ts";
import { type Intent, replacesRecord } from "./intents.ts";
import type { BlockRef, NonceReservation } from "./nonces.ts";
import { type ContractChanges, changesOf, readChanges, tokensOf } from "./payloads.ts";

/** The state that an update's call was built from: a block, which includes the effect of every earlier update. */
export interface UpdateBasis {
  block: bigint;
  /** The block of the newest update at that time; null: there was none. */
  after: Hash | null;
}

const underWay = "an earlier update of this contract is under way";

/**
 * Why an update may not take a nonce now; null when it may, and for requests whose order does not matter.
 *
 * Only safe in the transaction that has the wallet's row locked: it locks the update that this one builds on, so that
 * nobody takes that one's block back and cancels it meanwhile.
 *
 * @param sender null before the wallet is chosen.
 * @param basis null before the call is built.
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
 * `updateConfig` replaces a whole record, so an update built from a state that an earlier update is about to change
 * would undo that change. A mined update may be built on: if its block goes away, the nonces keep the order, and the
 * later record contains its changes.
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
 * Whether a later update may build on that of row `i` while that is unconfirmed: after a reorganisation it is mined
 * first again, by its lower nonce in the same wallet, and with the same call. If its cancellation was requested, it may
 * be mined empty then, and an update accepted later decides which changes of an earlier one still apply.
 */
function isBuiltUpon({ seq }: Intent, sender: Buffer | null) {
  return sql<boolean>`(i.state = 'mined' AND i.seq < ${seq} AND i.cancel_requested_at IS NULL
    AND (${sender}::bytea IS NULL OR s.addr IS NOT DISTINCT FROM ${sender}::bytea))`;
}

/**
 * Why an update that has its nonce may not be signed now; null when it may. A reorganisation may have removed the
 * update before it, which will be mined again ahead of it, with its changes.
 *
 * @param basis null before the call is built. With it, the answer holds for good: the call then includes the changes of
 *   the newest update, whatever becomes of that one's block.
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

/** An update's block on the chain. */
export interface MinedUpdate extends BlockRef {
  transaction: Hash | null;
  /** Beyond any reorganisation that this service reckons with. */
  final: boolean;
  /** Not confirmed: only one endpoint reports it. */
  unconfirmed: boolean;
}

/**
 * The block of the newest known mined update of the same collection. A call may only be built from a state that
 * descends from this very block: a block of the same number on another branch lacks the update.
 */
export async function newestUpdate(db: Kysely<Database>, intent: Intent): Promise<MinedUpdate | null> {
  const row = await others(db, intent)
    .select(["s.mined_block", "s.mined_block_hash", "s.mined_attempt", "i.state"])
    .where("s.mined_block", "is not", null)
    .orderBy("s.mined_block", "desc")
    // The last update within a block.
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
 * Members that updates accepted later have changed already. The update accepted last wins: one that a reorganisation or
 * a third party made us repeat must not undo its changes.
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

/** The changes of a product contract without the members in `superseded`. */
export function changesWithout(changes: ContractChanges, superseded: ReadonlySet<string>): ContractChanges {
  const left = Object.entries(changes).filter(([member]) => !superseded.has(member));
  const roles = changes.roles?.filter(({ role }) => !superseded.has(`roles.${role}`));
  return { ...Object.fromEntries(left), ...(roles ? { roles } : {}) };
}

/** Whether a later update's call that has its nonce includes this one's changes: they hold whatever becomes of it. */
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
 * The update of a token accepted last has to win. An earlier one gets its nonce first, and in the same wallet if it is
 * not confirmed yet, since the nonces of one wallet keep their order on the chain. A retry also waits for later updates
 * that are being mined: they decide whether it is still wanted.
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

/** Whether a later update has given the token another URI, which a retry of this one would undo. */
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
