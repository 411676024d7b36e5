import type { Kysely, Selectable, UpdateObject } from "kysely";
import type { Database } from "../../db/database.ts";
import type { CallKind, IntentKind, IntentState } from "../../db/tables/relay.ts";
import { ServiceError } from "../../errors/errors.ts";
import { unassignedStates } from "../lifecycle.ts";

/** A request that reaches the chain once or not at all: its database row. */
export type Intent = Selectable<Database["service.intent"]>;

/** Requests that the operator of product contracts carries out by deploying or calling a contract. */
export type OperationKind = Exclude<IntentKind, "deploy" | "update">;

/** The kind of call whose signing rules apply to a request's transaction. */
export function callKind(kind: IntentKind): CallKind {
  return kind === "deploy" || kind === "update" ? kind : "operate";
}

export function isOperation(kind: IntentKind): kind is OperationKind {
  return callKind(kind) === "operate";
}

/**
 * Whether a request replaces a whole on-chain record. Its call is built from the chain's record right before signing,
 * and only if that includes the effect of every earlier update.
 */
export function replacesRecord(kind: IntentKind): kind is "update" | "contract_update" {
  return kind === "update" || kind === "contract_update";
}

export function isUnassigned(intent: Pick<Intent, "state">): boolean {
  return (unassignedStates as readonly IntentState[]).includes(intent.state);
}

/** @throws ServiceError `service_unavailable` when the row was lost meanwhile: the client has to repeat the request. */
export async function getIntent(db: Kysely<Database>, id: string): Promise<Intent> {
  const intent = await db.selectFrom("service.intent").selectAll().where("id", "=", id).executeTakeFirst();
  if (!intent) throw lostRequest();
  return intent;
}

/** Rows are never deleted, so the database was restored, or a replica that lacks the newest rows has taken over. */
export function lostRequest(): ServiceError {
  return new ServiceError("service_unavailable", "the database has lost this request; repeat it", {
    retryAfterSeconds: 1,
  });
}

/** A request whose nonce was taken goes on as a retry; answers are always about the newest one. */
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

/** The columns that change when an intent moves: all that a statement for many intents has to return. */
export type Moved = Pick<Intent, "id" | "state" | "version" | "updated_at" | "settled_at">;

/** @param moved the same intent, from a statement that sets no hold reason. */
export function asMoved(seen: Intent, moved: Moved): Intent {
  return { ...seen, ...moved, hold_reason: null, hold_detail: null };
}

/**
 * Moves an intent if it is unchanged since the caller read it (compare-and-set on state and version).
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
