import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import type { Address, Hex } from "viem";
import type { Chain } from "../../chains.ts";
import { toAddress } from "../../db/bytes.ts";
import type { CallKind } from "../../db/tables/relay.ts";
import type { RelayContext } from "../chain/context.ts";
import type { SentTransaction } from "../chain/find-nonces.ts";
import { findOperationLog } from "../chain/find-operation-log.ts";
import { isOperation } from "../chain/operation.ts";
import { rootOf } from "../chain/own-content.ts";
import { calls, parseHex } from "../chain/reads.ts";
import type { ChainView } from "../chain/view.ts";
import { type Intent, moveIntent } from "../store/intents.ts";
import type { NonceReservation } from "../store/nonces.ts";
import { endAsFound } from "../submit/end-as-found.ts";
import { recordSentElsewhere } from "../submit/external-transactions.ts";
import { keepFoundBytes } from "../submit/take-basis.ts";

interface Lost {
  intent: Intent;
  reservation: NonceReservation;
}

/**
 * Takes an intent out of a nonce that was used by bytes we never signed, and halts the wallet:
 * somebody else has its key, and only a person can decide what to do about that.
 *
 * @returns null when another process moved it.
 */
export async function markNonceConflict(
  services: RelayContext,
  chain: Chain,
  { intent, reservation }: Lost,
): Promise<Intent | null> {
  const context = {
    intent: intent.id,
    chain: chain.name,
    wallet: toAddress(reservation.addr),
    nonce: reservation.nonce,
  };
  const halted = await services.db.transaction().execute(async (transaction) => {
    const moved = await moveIntent(transaction, intent, "nonce_conflict", "nonce_taken");
    if (!moved) return null;
    await transaction
      .updateTable("service.nonce_reservation")
      .set({ state: "external" })
      .where("intent_id", "=", intent.id)
      .execute();
    await transaction
      .updateTable("service.relayer_wallet")
      .set({ state: "halted" })
      .where("chain_id", "=", reservation.chain_id)
      .where("addr", "=", reservation.addr)
      .execute();
    return moved;
  });
  // Only of what happened: another process may have found a better explanation meanwhile.
  if (halted) services.log.error(context, "incident: an external transaction used our nonce; the wallet is halted");
  return halted;
}

/**
 * Takes an intent out of a nonce that another transaction of ours has used: one whose rows were lost. The bytes are
 * kept with the intent id that they deployed; the wallet goes on, and so does the request, with another nonce.
 *
 * @returns null when another process moved it.
 */
export async function passNonceOn(
  services: RelayContext,
  chain: Chain,
  { intent, reservation }: Lost,
  sent: SentTransaction & { raw: Hex; kind: CallKind | "cancellation" },
): Promise<Intent | null> {
  const context = {
    intent: intent.id,
    chain: chain.name,
    wallet: toAddress(reservation.addr),
    nonce: reservation.nonce,
    hash: sent.hash,
  };
  const passed = await services.db.transaction().execute(async (transaction) => {
    const moved = await moveIntent(transaction, intent, "nonce_conflict", "nonce_passed_on");
    if (!moved) return null;
    const { kind } = sent;
    if (kind !== "cancellation")
      await recordSentElsewhere(services, transaction, chain, toAddress(reservation.addr), { ...sent, kind });
    await transaction
      .updateTable("service.nonce_reservation")
      .set({ state: "external", found: true, found_root: rootOf(sent.data) })
      .where("intent_id", "=", intent.id)
      .execute();
    await keepFoundBytes(transaction, { chain_id: reservation.chain_id, addr: reservation.addr }, sent);
    return moved;
  });
  if (passed)
    services.log.warn(context, "a transaction of a lost request used the nonce; the request goes on with another one");
  return passed;
}

/**
 * Retries a request that lost its nonce: a new intent of the same root, so of the same address, which the
 * chain can hold one collection at. The first try's gas is spent, or its reservation given back; the next one reserves
 * for itself before it is signed, within the limits of then. A request that was cancelled meanwhile ends there.
 */
export async function startRetry(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  view: Pick<ChainView, "finalized">,
): Promise<Intent | null> {
  // It stands by another transaction: then that one is its deployment, and there is nothing to be tried.
  if (intent.kind === "deploy" && (await standsThere(services, chain, intent, view.finalized)))
    return (await endAsFound(services, chain, intent)) ?? intent;
  // Carried out by another transaction, maybe not for good yet: a further try would only be refused.
  if (isOperation(intent.kind) && (await findOperationLog(services, chain, intent)))
    return (await endAsFound(services, chain, intent)) ?? intent;
  const next = randomUUID();
  return await services.db.transaction().execute(async (transaction) => {
    const inserted = await sql<Pick<Intent, "id" | "state" | "version">>`
      INSERT INTO service.intent (id, root_id, retry_number, tenant_id, req_hash, chain_id, kind, payload, allowlist_id, factory,
        template, owner, init_data, salt, predicted_addr, gas_ceiling, seq)
      SELECT ${next}::uuid, root_id, retry_number + 1, tenant_id, req_hash, chain_id, kind, payload, allowlist_id, factory,
        template, owner, init_data, salt, predicted_addr, gas_ceiling, seq
      FROM service.intent WHERE id = ${intent.id}
      ON CONFLICT DO NOTHING RETURNING id, state, version`.execute(transaction);
    const [repeated] = inserted.rows;
    if (repeated && intent.cancel_requested_at) await moveIntent(transaction, repeated, "cancelled");
    return await moveIntent(transaction, intent, "retried");
  });
}

export async function standsThere(services: RelayContext, chain: Chain, intent: Intent, at: bigint): Promise<boolean> {
  const address: Address = toAddress(intent.predicted_addr);
  const [code] = await services.relay.nodes(chain).first((node) => node.ask([calls.code(address, at)]));
  return parseHex(code, "a contract's code") !== "0x";
}
