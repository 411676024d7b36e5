import { type Kysely, sql } from "kysely";
import type { Hex } from "viem";
import { toBytes } from "../../db/bytes.ts";
import type { Database } from "../../db/database.ts";
import { type Fees, intrinsicGas, least, most } from "../chain/fees.ts";
import { encodeBatch } from "../chain/request-call.ts";
import { asMoved, type Intent, type Moved } from "../store/intents.ts";
import { mayShare, type Preflight } from "./preflight.ts";

/** What asks for a nonce, after its own simulation. */
export interface Simulated {
  intent: Intent;
  ready: Preflight & { fees: Fees };
}

/** What one nonce is for: a request alone, or the lead of a batch and its members. */
export interface Batch {
  lead: Simulated;
  members: Simulated[];
}

/** Mints of one transaction. */
export const mostMints = 16;

/** What the operator gives each call of a batch (its CALL_GAS): a mint that may need more goes alone. */
const callGas = 500_000n;

/**
 * What the operator wants to be left before each call (its NEEDED_GAS), and what it does right before that. It pays for the
 * last call too.
 */
const headroom = 600_000n;

/** What the operator does before and after a call, at most: it marks the request, and logs the outcome. */
const outcomeGas = 60_000n;

/**
 * Whether a request may be put into a batch: the same account and contract, room for it in calls and gas, and nobody's code but the
 * contract's. A receiver with code may do something else in a block than when it was simulated, and a batch gives it
 * more gas to burn than a transaction of its own; once the gas is gone the operator takes the whole batch back.
 */
export function hasRoomFor({ lead, members }: Batch, item: Simulated): boolean {
  if (!mayShare(lead.intent) || !mayShare(item.intent)) return false;
  if (lead.ready.callsReceiver || item.ready.callsReceiver) return false;
  if (members.length + 1 >= mostMints) return false;
  if (lead.intent.tenant_id !== item.intent.tenant_id) return false;
  if (!lead.intent.factory.equals(item.intent.factory)) return false;
  if (!lead.intent.predicted_addr.equals(item.intent.predicted_addr)) return false;
  const all = [lead, ...members, item];
  return all.every(({ ready }) => ready.gas <= callGas) && gasOfBatch(all) <= lead.ready.gasCeiling;
}

/**
 * Whether what its requests have set aside pays for all of them in one transaction, at its lead's fee. A few may have too
 * little for what the operator wants to be left: alone each needs less.
 */
export function isPaid({ lead, members }: Batch): boolean {
  const items = [lead, ...members];
  return reservedFor(items) >= gasOfBatch(items) * feeOf(items) + dataOf(items);
}

/**
 * The gas that a batch needs: each mint alone needs more, by what a transaction costs anyway. No node is asked: the
 * wallet's row is locked meanwhile.
 */
function gasOfBatch(items: readonly Simulated[]): bigint {
  const last = items.at(-1);
  const data = last ? intrinsicGas(last.ready.call.data) - intrinsicGas("0x") : 0n;
  return items.slice(0, -1).reduce((sum, { ready }) => sum + ready.gas, headroom + data);
}

/**
 * The gas limit of a batch. A receiver may get code between its simulation and the block, by a delegation of its account
 * (EIP-7702) or by a deployment at its address: there is room for one call that takes all that the operator gives it, as
 * far as what the requests have set aside pays for that.
 */
function gasLimitOf(items: readonly Simulated[]): bigint {
  const needed = gasOfBatch(items);
  const surplus = callGas + outcomeGas - items.map(({ ready }) => ready.gas).reduce(least);
  const fee = feeOf(items);
  const paid = fee > 0n ? most(0n, reservedFor(items) - dataOf(items)) / fee : needed;
  const wanted = [needed + surplus, paid, ...items.map(({ ready }) => ready.gasCeiling)].reduce(least);
  return most(wanted, needed);
}

function feeOf(items: readonly Simulated[]): bigint {
  return items[0]?.ready.fees.maxFeePerGas ?? 0n;
}

/** More than the data of one transaction takes: each request's own is counted with an envelope. */
function dataOf(items: readonly Simulated[]): bigint {
  return items.reduce((sum, { ready }) => sum + ready.dataWei, 0n);
}

function reservedFor(items: readonly Simulated[]): bigint {
  return items.reduce((sum, { intent }) => sum + BigInt(intent.reserved_wei), 0n);
}

/** What a nonce may cost at worst. */
export function worstCase({ lead, members }: Batch): bigint {
  const items = [lead, ...members];
  return (members.length === 0 ? lead.ready.gas : gasLimitOf(items)) * feeOf(items) + dataOf(items);
}

/** The operator's call for all requests of a batch, to be signed instead of the lead's own. */
interface BatchCall {
  data: Hex;
  gas: bigint;
  dataWei: bigint;
}

export function callOfBatch({ lead, members }: Batch): BatchCall {
  const items = [lead, ...members];
  return { data: encodeBatch(items.map(({ intent }) => intent)), gas: gasLimitOf(items), dataWei: dataOf(items) };
}

/**
 * Puts requests together for good: each member's transaction is its lead's from now on, and what it had set aside too.
 *
 * @param db the transaction that signs for the lead, with the rows of all locked as they were seen.
 * @returns the lead and the members as they stand then.
 */
export async function joinMembers(
  db: Kysely<Database>,
  { lead, members }: Batch,
  { data }: BatchCall,
): Promise<{ lead: Intent; members: Intent[] }> {
  const ids = members.map(({ intent }) => intent.id);
  await sql`SELECT service.join_entries(${lead.intent.id}::uuid, ${ids}::uuid[])`.execute(db);
  const { rows } = await sql<Moved>`
    UPDATE service.intent SET state = 'batched', version = version + 1, hold_reason = NULL, hold_detail = NULL,
      batch_lead = ${lead.intent.id}::uuid, reserved_wei = 0
    WHERE id = ANY (${ids}::uuid[]) RETURNING id, state, version, updated_at, settled_at`.execute(db);
  const changed = await db
    .updateTable("service.intent")
    .set({
      batch_call: toBytes(data),
      reserved_wei: reservedFor([lead, ...members]),
      version: lead.intent.version + 1,
    })
    .where("id", "=", lead.intent.id)
    .returningAll()
    .executeTakeFirstOrThrow();
  const moved = new Map(rows.map((row) => [row.id, row] as const));
  return {
    lead: changed,
    members: members.flatMap(({ intent }) => {
      const row = moved.get(intent.id);
      return row ? [{ ...asMoved(intent, row), batch_lead: lead.intent.id, reserved_wei: "0" }] : [];
    }),
  };
}

/** Locks the rows of those that still are as they were seen: all at once, in one order, before anything of their limits. */
export async function lockUnmoved(db: Kysely<Database>, items: readonly Simulated[]): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ id: string }>`
    SELECT i.id FROM service.intent i
    JOIN unnest(${items.map(({ intent }) => intent.id)}::uuid[], ${items.map(({ intent }) => intent.version)}::int[])
      AS seen (id, version) ON seen.id = i.id AND seen.version = i.version
    ORDER BY i.id FOR NO KEY UPDATE OF i`.execute(db);
  return new Set(rows.map(({ id }) => id));
}
