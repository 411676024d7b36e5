import { type Kysely, sql } from "kysely";
import type { Chain } from "../../chains.ts";
import type { Database } from "../../db/database.ts";
import type { RelayContext } from "../chain/context.ts";
import { getIntent, type Intent } from "../store/intents.ts";
import { fullLimit, type Limit, limitsOf } from "./budget.ts";

/**
 * Sets more aside for an intent, since fees or gas are higher than they were when it was accepted. Nothing is ever
 * signed that could cost more than is set aside, so what is spent keeps to the limits whatever the fees do.
 *
 * With a nonce it needs room in the chain's limits alone, of which a part is kept for this: others wait behind its
 * nonce, and must not wait for one account's day.
 *
 * @param hasNonce whether others wait behind it.
 * @returns the intent as it stands then, and whether it was raised: not when another process moved it; null when there is
 *   no room.
 */
export async function raiseGasReservation(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  wei: bigint,
  hasNonce: boolean,
): Promise<{ intent: Intent; raised: boolean } | null> {
  const limits = await limitsToRaise(services, services.db, chain, intent, wei);
  let raised: boolean;
  try {
    raised = await raise(services.db, intent, wei, limits, ({ scope }) => !hasNonce || scope.startsWith("chain"));
  } catch (error) {
    const full = fullLimit(limits, error);
    if (!full) throw error;
    services.log.warn({ intent: intent.id, wei, limit: full.scope }, "a spending limit has no room for today's fees");
    return null;
  }
  return { intent: await getIntent(services.db, intent.id), raised };
}

/**
 * Sets aside what bytes may cost that were found, for the intent that they are of, unless it has as much aside already:
 * a retry has nothing before it is signed. They are signed, so no limit can refuse them. Each limit holds
 * what it has room for, and the chain's count all of it once it is in a block.
 *
 * @param db the transaction that gives the intent their nonce.
 * @returns the intent as it stands then; null when another process moved it.
 */
export async function reserveFound(
  services: RelayContext,
  db: Kysely<Database>,
  chain: Chain,
  intent: Intent,
  wei: bigint,
): Promise<Intent | null> {
  if (BigInt(intent.reserved_wei) >= wei) return intent;
  const limits = await limitsToRaise(services, db, chain, intent, wei);
  return (await raise(db, intent, wei, limits, () => false)) ? await getIntent(db, intent.id) : null;
}

async function limitsToRaise(
  services: RelayContext,
  db: Kysely<Database>,
  chain: Chain,
  intent: Intent,
  wei: bigint,
): Promise<Limit[]> {
  const { tier } = await db
    .selectFrom("service.account")
    .select("tier")
    .where("id", "=", intent.tenant_id)
    .executeTakeFirstOrThrow();
  return limitsOf(services, chain, { tenantId: intent.tenant_id, tier }, wei, "raise");
}

/** @returns false when another process moved the intent. */
async function raise(
  db: Kysely<Database>,
  { id, version }: Intent,
  wei: bigint,
  limits: readonly Limit[],
  isNeeded: (limit: Limit) => boolean,
): Promise<boolean> {
  const column = (name: "scope" | "unit" | "amount" | "allowed") => limits.map((limit) => String(limit[name]));
  const { rows } = await sql<{ raised: boolean }>`SELECT service.raise_reservation(${id}::uuid, ${version}::int,
    ${String(wei)}::numeric, ${column("scope")}::text[], ${column("unit")}::text[], ${column("amount")}::numeric[],
    ${column("allowed")}::numeric[], ${limits.map(isNeeded)}::boolean[]) AS raised`.execute(db);
  return rows[0]?.raised ?? false;
}
