import { sql } from "kysely";
import type { Chain } from "../../chains.ts";
import type { RelayContext } from "../chain/context.ts";
import { getIntent, type Intent } from "../store/intents.ts";
import { fullLimit, limitsOf } from "./budget.ts";

/**
 * Sets more aside for an intent, since fees or gas are higher than they were when it was accepted. Nothing is ever
 * signed that could cost more than is set aside, so what is spent keeps to the limits whatever the fees do.
 *
 * With a nonce it needs room in the chain's limits alone, of which a part is kept for this: others wait behind its
 * nonce, and must not wait for one account's day.
 *
 * @param hasNonce whether others wait behind it.
 * @returns the intent as it stands then, also when another process moved it; null when there is no room.
 */
export async function raiseReservation(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  wei: bigint,
  hasNonce: boolean,
): Promise<Intent | null> {
  const { tier } = await services.db
    .selectFrom("service.account")
    .select("tier")
    .where("id", "=", intent.tenant_id)
    .executeTakeFirstOrThrow();
  const limits = limitsOf(services, chain, { tenantId: intent.tenant_id, tier }, wei, "raise");
  const needed = limits.map(({ scope }) => !hasNonce || scope.startsWith("chain"));
  const column = (name: "scope" | "unit" | "amount" | "allowed") => limits.map((limit) => String(limit[name]));
  try {
    await sql`SELECT service.raise_reservation(${intent.id}::uuid, ${intent.version}::int, ${String(wei)}::numeric,
      ${column("scope")}::text[], ${column("unit")}::text[], ${column("amount")}::numeric[],
      ${column("allowed")}::numeric[], ${needed}::boolean[])`.execute(services.db);
  } catch (error) {
    const full = fullLimit(limits, error);
    if (!full) throw error;
    services.log.warn({ intent: intent.id, wei, limit: full.scope }, "a spending limit has no room for today's fees");
    return null;
  }
  return await getIntent(services.db, intent.id);
}
