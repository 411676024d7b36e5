import type { Kysely, Transaction } from "kysely";
import { sql } from "kysely";
import type { Address, Hex } from "viem";
import type { Database } from "../db/database.ts";
import { ServiceError } from "../errors.ts";
import { type Reservation, reserveBudget } from "./budget.ts";
import { toBytes } from "./bytes.ts";
import { crashPoint, hasDefect } from "./faults.ts";
import { type Intent, newestGeneration } from "./intents.ts";

/** A request that passed every check, with the one place on chain it can end at. */
export interface NewIntent {
  id: string;
  tenantId: string;
  /** The client's own key, valid for ever; null: equal requests within a window are one. */
  idempotencyKey: string | null;
  /** SHA-256 of the request in canonical form. */
  requestHash: Buffer;
  chainId: number;
  kind: "deploy" | "update";
  payload: unknown;
  allowlist: { root: Hex; entries: readonly string[] } | null;
  factory: Address;
  template: Address;
  owner: Address;
  initData: Hex;
  salt: Hex;
  predicted: Address;
  /** See `planReservation`. */
  reservation: Reservation;
}

/**
 * Makes a request durable, once: the same key, or without a key the same request while the earlier
 * one is under way and ten minutes after it ended, gives the earlier intent. Two processes that take
 * the same request at once agree through the unique key, without a lock.
 *
 * @throws ServiceError `value_error` when the key was used for another request.
 */
export async function acceptIntent(db: Kysely<Database>, intent: NewIntent): Promise<Intent> {
  const accepted = await db.transaction().execute(async (transaction) => {
    const key =
      intent.idempotencyKey === null ? await deriveKey(transaction, intent) : storedKey(intent.idempotencyKey);
    if (typeof key !== "string") return key;
    const inserted = await insertIntent(transaction, intent, spoil(key));
    if (inserted) {
      if (!hasDefect("reserved-outside")) await reserveBudget(transaction, inserted.id, intent.reservation);
      crashPoint("accept-before-commit");
      return inserted;
    }
    const earlier = await transaction
      .selectFrom("service.intent")
      .selectAll()
      .where("tenant_id", "=", intent.tenantId)
      .where("idem_key", "=", key)
      .executeTakeFirstOrThrow();
    if (earlier.req_hash.equals(intent.requestHash)) return earlier;
    throw new ServiceError(
      "value_error",
      "this Idempotency-Key was used for another request; use a new key for a new deployment",
      { field: "idempotencyKey" },
    );
  });
  if (accepted.id === intent.id) {
    crashPoint("accept-after-commit");
    if (hasDefect("reserved-outside"))
      await db.transaction().execute((transaction) => reserveBudget(transaction, intent.id, intent.reservation));
  }
  return await newestGeneration(db, accepted);
}

/** For the chaos run: the key looks different each time, as if only a look before the insert held repeats off. */
function spoil(key: string): string {
  return hasDefect("check-then-insert") ? `${key}${Math.random()}` : key;
}

/** A key that we derived and told the client means the same when it comes back. */
function storedKey(given: string): string {
  return /^derived:[0-9a-f]{64}:\d{1,9}$/.test(given) ? given : `client:${given}`;
}

/** The intent that an equal request without a key made lately, or the key for a new one. */
async function deriveKey(transaction: Transaction<Database>, intent: NewIntent): Promise<string | Intent> {
  const rows = await transaction
    .selectFrom("service.intent")
    .selectAll()
    // A clock bucket would make two of one request at its edge: the window starts when the earlier one ends.
    .select(
      sql<boolean>`state NOT IN ('expired', 'cancelled')
        AND (settled_at IS NULL OR settled_at > clock_timestamp() - interval '10 minutes')
        AND (kind <> 'update' OR NOT EXISTS (
          -- After "A, B" a second "A" is a wish of its own.
          SELECT FROM service.intent later WHERE later.kind = 'update' AND later.chain_id = intent.chain_id
            AND later.predicted_addr = intent.predicted_addr AND later.seq > intent.seq))`.as("live"),
    )
    .where("tenant_id", "=", intent.tenantId)
    .where("req_hash", "=", intent.requestHash)
    .where("idem_derived", "=", true)
    .execute();
  const live = rows.find((row) => row.live);
  if (live) {
    const { live: _, ...row } = live;
    return row;
  }
  // Counted from committed rows, so that everybody who sees the same past tries the same key.
  return derivedKey(intent.requestHash, rows.length);
}

/** @param earlier requests like it that had no key of the client's either. */
export function derivedKey(requestHash: Buffer, earlier: number): string {
  return `derived:${requestHash.toString("hex")}:${earlier}`;
}

export async function countDerived(db: Kysely<Database>, tenantId: string, requestHash: Buffer): Promise<number> {
  const { count } = await db
    .selectFrom("service.intent")
    .select(sql<number>`count(*)::int`.as("count"))
    .where("tenant_id", "=", tenantId)
    .where("req_hash", "=", requestHash)
    .where("idem_derived", "=", true)
    .executeTakeFirstOrThrow();
  return count;
}

async function insertIntent(
  transaction: Transaction<Database>,
  intent: NewIntent,
  key: string,
): Promise<Intent | undefined> {
  let allowlistId: string | null = null;
  if (intent.allowlist && intent.allowlist.entries.length > 0) {
    allowlistId = intent.id;
    await transaction
      .insertInto("service.allowlist")
      .values({ id: allowlistId, root: toBytes(intent.allowlist.root), entries: [...intent.allowlist.entries] })
      .execute();
  }
  const row = await transaction
    .insertInto("service.intent")
    .values({
      id: intent.id,
      root_id: intent.id,
      tenant_id: intent.tenantId,
      idem_key: key,
      idem_derived: intent.idempotencyKey === null,
      req_hash: intent.requestHash,
      chain_id: intent.chainId,
      kind: intent.kind,
      payload: JSON.stringify(intent.payload),
      allowlist_id: allowlistId,
      factory: toBytes(intent.factory),
      template: toBytes(intent.template),
      owner: toBytes(intent.owner),
      init_data: toBytes(intent.initData),
      salt: toBytes(intent.salt),
      predicted_addr: toBytes(intent.predicted),
      reserved_wei: intent.reservation.maxCostWei,
    })
    .onConflict((conflict) => conflict.columns(["tenant_id", "idem_key"]).doNothing())
    .returningAll()
    .executeTakeFirst();
  if (!row && allowlistId) await transaction.deleteFrom("service.allowlist").where("id", "=", allowlistId).execute();
  return row;
}
