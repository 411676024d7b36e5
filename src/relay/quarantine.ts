import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import type { Address } from "viem";
import type { Chain } from "../chains.ts";
import type { Services } from "../services.ts";
import { toAddress } from "./bytes.ts";
import { calls, parseHex } from "./chain-reads.ts";
import type { ChainView } from "./chain-view.ts";
import { type Intent, moveIntent } from "./intents.ts";
import type { Slot } from "./slots.ts";

interface Lost {
  intent: Intent;
  slot: Slot;
}

/**
 * Takes an intent out of a nonce that was used by bytes we never signed, and halts the wallet's lane:
 * somebody else has its key, and only a person can decide what to do about that.
 *
 * @returns null when another process moved it.
 */
export async function quarantine(
  services: Services,
  chain: Chain,
  { intent, slot }: Lost,
  view: ChainView,
): Promise<Intent | null> {
  if (intent.kind === "deploy" && (await standsThere(services, chain, intent, view.finalized))) {
    services.log.error({ intent: intent.id }, "a collection stands there, but not by a transaction that can be read");
    return intent;
  }
  const facts = { intent: intent.id, chain: chain.name, wallet: toAddress(slot.addr), nonce: slot.nonce };
  services.log.error(facts, "incident: a foreign transaction used our nonce; the lane is halted");
  return await services.db.transaction().execute(async (transaction) => {
    const moved = await moveIntent(transaction, intent, "quarantined", "nonce_taken");
    if (!moved) return null;
    await transaction
      .updateTable("service.slot")
      .set({ state: "foreign" })
      .where("intent_id", "=", intent.id)
      .execute();
    await transaction
      .updateTable("service.lane")
      .set({ state: "halted" })
      .where("chain_id", "=", slot.chain_id)
      .where("addr", "=", slot.addr)
      .execute();
    return moved;
  });
}

/**
 * Gives a quarantined wish another try: a new intent of the same root, so of the same address, which the
 * chain can hold one collection at. What was reserved goes over to it. A wish that was cancelled meanwhile ends there.
 */
export async function startNextGeneration(
  services: Services,
  chain: Chain,
  { intent }: Lost,
  view: ChainView,
): Promise<Intent | null> {
  if (intent.kind === "deploy" && (await standsThere(services, chain, intent, view.finalized))) return intent;
  const next = randomUUID();
  return await services.db.transaction().execute(async (transaction) => {
    const inserted = await sql<Pick<Intent, "id" | "state" | "version">>`
      INSERT INTO service.intent (id, root_id, gen, tenant_id, req_hash, chain_id, kind, payload, allowlist_id, factory,
        template, owner, init_data, salt, predicted_addr, reserved_wei, seq)
      SELECT ${next}::uuid, root_id, gen + 1, tenant_id, req_hash, chain_id, kind, payload, allowlist_id, factory,
        template, owner, init_data, salt, predicted_addr, reserved_wei, seq
      FROM service.intent WHERE id = ${intent.id}
      ON CONFLICT DO NOTHING RETURNING id, state, version`.execute(transaction);
    // Limits are for what is really spent: the first try's gas is gone, and its reservation goes on.
    await sql`
      UPDATE service.budget b SET spent = b.spent + v.used, allowed = greatest(b.allowed, b.reserved + b.spent + v.used)
      FROM service.budget_entry e
        JOIN service.slot s ON s.intent_id = e.intent_id AND s.state = 'mined'
        CROSS JOIN LATERAL (
          SELECT CASE WHEN e.scope = 'global' THEN 1 ELSE coalesce(s.mined_cost_wei, 0) END AS used) v
      WHERE e.intent_id = ${intent.id} AND NOT e.settled AND (b.scope, b.period) = (e.scope, e.period)`.execute(
      transaction,
    );
    await transaction
      .updateTable("service.budget_entry")
      .set({ intent_id: next })
      .where("intent_id", "=", intent.id)
      .execute();
    const [repeated] = inserted.rows;
    if (repeated && intent.cancel_requested_at) await moveIntent(transaction, repeated, "cancelled");
    return await moveIntent(transaction, intent, "superseded");
  });
}

async function standsThere(services: Services, chain: Chain, intent: Intent, at: bigint): Promise<boolean> {
  const address: Address = toAddress(intent.predicted_addr);
  const [code] = await services.relay.nodes(chain).first((node) => node.ask([calls.code(address, at)]));
  return parseHex(code, "a contract's code") !== "0x";
}
