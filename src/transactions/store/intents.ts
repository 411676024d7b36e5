import type { Kysely, Selectable, UpdateObject } from "kysely";
import type { Database } from "../../db/database.ts";
import type { CallKind, IntentKind, IntentState } from "../../db/tables/relay.ts";
import { ServiceError } from "../../errors/errors.ts";
import { unassignedStates } from "../lifecycle.ts";

/** A request that will reach the chain once or not at all, as its row stands. */
export type Intent = Selectable<Database["service.intent"]>;

/** Requests that the operator of product contracts carries out: it deploys a contract or calls one. */
export type OperationKind = Exclude<IntentKind, "deploy" | "update">;

/** The kind of call by which the signer's rules judge the transaction of a request. */
export function callKind(kind: IntentKind): CallKind {
  return kind === "deploy" || kind === "update" ? kind : "operate";
}

export function isOperation(kind: IntentKind): kind is OperationKind {
  return callKind(kind) === "operate";
}

/**
 * Whether a request replaces a whole record of the chain. Its call is made from what the chain has right before it is
 * signed, and only where every update before is part of that.
 */
export function replacesRecord(kind: IntentKind): kind is "update" | "contract_update" {
  return kind === "update" || kind === "contract_update";
}

export function isUnassigned(intent: Pick<Intent, "state">): boolean {
  return (unassignedStates as readonly IntentState[]).includes(intent.state);
}

/** @throws ServiceError `service_unavailable` when its row was lost meanwhile: the client asks again. */
export async function getIntent(db: Kysely<Database>, id: string): Promise<Intent> {
  const intent = await db.selectFrom("service.intent").selectAll().where("id", "=", id).executeTakeFirst();
  if (!intent) throw lostRequest();
  return intent;
}

/** Rows are never deleted: the database was put back, or another one that lacks its end has taken over. */
export function lostRequest(): ServiceError {
  return new ServiceError("service_unavailable", "the database has lost this request; repeat it", {
    retryAfterSeconds: 1,
  });
}

/** A request goes on as a retry when its nonce was taken away; every answer is about the newest one. */
export async function newestRetry(db: Kysely<Database>, intent: Intent): Promise<Intent> {
  if (intent.state !== "retried") return intent;
  return await db
    .selectFrom("service.intent")
    .selectAll()
    .where("root_id", "=", intent.root_id)
    .orderBy("retry_number", "desc")
    .limit(1)
    .executeTakeFirstOrThrow(lostRequest);
}

/** What changes of an intent's row when it moves: all that a statement for many of them has to send back. */
export type Moved = Pick<Intent, "id" | "state" | "version" | "updated_at" | "settled_at">;

/** @param moved of the same intent, by a statement that gives no reason to hold it. */
export function asMoved(seen: Intent, moved: Moved): Intent {
  return { ...seen, ...moved, hold_reason: null, hold_detail: null };
}

/**
 * Moves an intent on if it still is what the caller saw (compare and set on state and version).
 *
 * @param more columns that change with it.
 * @returns the new row; null when another process was faster: read again and decide anew.
 */
export async function moveIntent(
  db: Kysely<Database>,
  seen: Pick<Intent, "id" | "state" | "version">,
  to: IntentState,
  holdReason: string | null = null,
  holdDetail: string | null = null,
  more: UpdateObject<Database, "service.intent"> = {},
): Promise<Intent | null> {
  const row = await db
    .updateTable("service.intent")
    .set({ state: to, version: seen.version + 1, hold_reason: holdReason, hold_detail: holdDetail, ...more })
    .where("id", "=", seen.id)
    .where("state", "=", seen.state)
    .where("version", "=", seen.version)
    .returningAll()
    .executeTakeFirst();
  return row ?? null;
}
