import { type Kysely, sql } from "kysely";
import type { Hex } from "viem";
import { toBytes } from "../../db/bytes.ts";
import type { Database } from "../../db/database.ts";
import { type Fees, intrinsicGas, least, most } from "../chain/fees.ts";
import { encodeBatch } from "../chain/request-call.ts";
import { asMoved, type Intent, type Moved } from "../store/intents.ts";
import { mayShare, type Preflight } from "./preflight.ts";

/** A request that asks for a nonce, after its own simulation. */
export interface Simulated {
  intent: Intent;
  ready: Preflight & { fees: Fees };
}

/** The requests that use one nonce: one alone, or the lead of a batch and its members. */
export interface Batch {
  lead: Simulated;
  members: Simulated[];
}

/** Maximum mints per transaction. */
export const mostMints = 16;

/** The gas that the operator gives each call of a batch (its CALL_GAS): a mint that may need more is sent alone. */
const callGas = 500_000n;

/**
 * The gas that the operator requires before each call (its NEEDED_GAS), and what it uses right before that. It also
 * pays for the last call.
 */
const headroom = 600_000n;

/** The most that the operator uses before and after a call: it marks the request, and logs the outcome. */
const outcomeGas = 60_000n;

/**
 * Whether a request may join a batch: same account and contract, enough calls and gas left, and no code runs but the
 * contract's. A receiver's code may behave differently than in its simulation, and a batch gives it more gas to burn
 * than a transaction of its own; once the gas is used up, the operator reverts the whole batch.
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
 * Whether the requests' reservations pay for all of them in one transaction, at the lead's fee. A few requests may not
 * cover the gas that the operator requires in reserve: alone, each needs less.
 */
export function isPaid({ lead, members }: Batch): boolean {
  const items = [lead, ...members];
  return reservedFor(items) >= gasOfBatch(items) * feeOf(items) + dataOf(items);
}

/**
 * The gas that a batch needs. A mint sent alone needs more, by a transaction's intrinsic gas. No node is asked, because
 * the wallet's row is locked meanwhile.
 */
function gasOfBatch(items: readonly Simulated[]): bigint {
  const last = items.at(-1);
  const data = last ? intrinsicGas(last.ready.call.data) - intrinsicGas("0x") : 0n;
  return items.slice(0, -1).reduce((sum, { ready }) => sum + ready.gas, headroom + data);
}

/**
 * The gas limit of a batch. A receiver may get code between its simulation and the block, by a delegation of its
 * account (EIP-7702) or by a deployment at its address. So the limit covers one call that uses all the gas that the
 * operator gives it, as far as the requests' reservations pay for that.
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

/** More than the data of one transaction costs: each request's own data is counted with an envelope. */
function dataOf(items: readonly Simulated[]): bigint {
  return items.reduce((sum, { ready }) => sum + ready.dataWei, 0n);
}

function reservedFor(items: readonly Simulated[]): bigint {
  return items.reduce((sum, { intent }) => sum + BigInt(intent.reserved_wei), 0n);
}

/** The most that a nonce may cost. */
export function worstCase({ lead, members }: Batch): bigint {
  const items = [lead, ...members];
  return (members.length === 0 ? lead.ready.gas : gasLimitOf(items)) * feeOf(items) + dataOf(items);
}

/** The operator's call for all requests of a batch, signed instead of the lead's own call. */
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
 * Joins requests for good: each member's transaction is its lead's from now on, and the lead gets its reservation.
 *
 * @param db the transaction that signs for the lead, with all rows locked and unchanged since they were read.
 * @returns the lead's and the members' new rows.
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

/** Locks the rows that are unchanged since the read: all at once, in one order, before any row of their limits. */
export async function lockUnmoved(db: Kysely<Database>, items: readonly Simulated[]): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ id: string }>`
    SELECT i.id FROM service.intent i
    JOIN unnest(${items.map(({ intent }) => intent.id)}::uuid[], ${items.map(({ intent }) => intent.version)}::int[])
      AS seen (id, version) ON seen.id = i.id AND seen.version = i.version
    ORDER BY i.id FOR NO KEY UPDATE OF i`.execute(db);
  return new Set(rows.map(({ id }) => id));
}
