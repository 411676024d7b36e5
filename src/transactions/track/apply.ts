import { randomUUID } from "node:crypto";
import { sql, type Transaction } from "kysely";
import type { Chain } from "../../chains.ts";
import { toAddress, toHash } from "../../db/bytes.ts";
import type { Database } from "../../db/database.ts";
import { costOf } from "../../rpc/reads.ts";
import type { RelayContext } from "../chain/context.ts";
import { endElsewhere } from "../chain/done-elsewhere.ts";
import { rootOf } from "../chain/own-content.ts";
import { decide, inBlockStates, type Next, type Outcome } from "../lifecycle.ts";
import { failpoint } from "../store/failpoint.ts";
import { type Intent, moveIntent } from "../store/intents.ts";
import {
  type BlockStep,
  confirmMember,
  markUnmined,
  type NonceReservation,
  takeBlockStep,
  takeBlockSteps,
  updateNonce,
} from "../store/nonces.ts";
import { updateWallet } from "../store/wallets.ts";
import { keepFoundBytes, recordSentElsewhere } from "../submit/reconcile-nonces.ts";
import { takeDeployment } from "../submit/recover-request.ts";
import { Inquiry, type Look, seenOf } from "./evidence.ts";
import { txOf, type Watched } from "./watched-rows.ts";

/**
 * Moves one request by what the chain shows (`decide`). Each step is one commit, of a row unchanged since it was read.
 *
 * @returns the request's row afterwards; null when another process moved it meanwhile.
 * @throws NodeFault, ServiceError while too few endpoints answer what the decision depends on.
 */
export async function watchIntent(
  services: RelayContext,
  chain: Chain,
  item: Watched,
  look: Look,
): Promise<Intent | null> {
  const tx = txOf(item);
  const inquiry = new Inquiry(services, chain, item, tx, look);
  if ((inBlockStates as readonly string[]).includes(tx.state) && tx.hasNonce && !tx.mined)
    throw new Error(`intent ${item.intent.id} is mined nowhere`);
  const decision = decide(tx, seenOf(services, item, tx, look), { confirmations: BigInt(chain.confirmations) });
  let step = decision.next();
  while (!step.done) step = decision.next(await inquiry.answer(step.value));
  const moved = await apply({ services, chain, item, look, inquiry }, step.value);
  if (moved) services.relay.figures.recordStage(chain, item.intent.state, moved);
  return moved;
}

/** A request, and what is known about it. */
interface Case {
  services: RelayContext;
  chain: Chain;
  item: Watched;
  look: Look;
  inquiry: Inquiry;
}

async function apply(subject: Case, next: Next): Promise<Intent | null> {
  const { services, item, inquiry } = subject;
  const { intent } = item;
  switch (next.do) {
    case "wait":
      return intent;
    case "move":
      return await moveOn(subject, next);
    case "takeBack":
      return await takeBack(subject, next.why);
    case "endElsewhere":
      return inquiry.elsewhere && (await endElsewhere(services, intent, inquiry.elsewhere));
    case "retry":
      return await services.db.transaction().execute((db) => startRetry(db, intent));
    default:
      return next satisfies never;
  }
}

async function takeBack({ services, item }: Case, why: "gone" | "denied"): Promise<Intent | null> {
  const { intent, reservation } = item;
  const hash = reservation?.mined_attempt && toHash(reservation.mined_attempt);
  const context = { intent: intent.id, block: reservation?.mined_block, hash, state: intent.state };
  if (why === "denied") services.log.error(context, "endpoints contradict each other about a receipt");
  else if (intent.state === "confirmed")
    services.log.error(context, "incident: a confirmed block is gone; the address is withdrawn");
  else services.log.warn(context, "the block of a request is gone");
  return await services.db.transaction().execute((db) => markUnmined(db, intent));
}

async function moveOn(subject: Case, next: Extract<Next, { do: "move" }>): Promise<Intent | null> {
  const { services, chain, item, inquiry } = subject;
  const { intent } = item;
  const { to, why = null, detail = null } = next;
  if (next.mined && inquiry.used && "deployment" in inquiry.used)
    return await takeDeployment(services, chain, intent, inquiry.used.deployment);
  const moved = await write(subject, next);
  // Logged only once it happened: another process may have found a better explanation meanwhile.
  if (moved) report(subject, { ...next, why, detail });
  return moved;

  async function write({ item: { reservation } }: Case, { mined }: typeof next): Promise<Intent | null> {
    if (intent.state === "batched" && (to === "confirmed" || to === "failed_onchain"))
      return await endMember(subject, next);
    if (mined) return await recordMined(subject, next, mined);
    if (reservation && (why === "nonce_taken" || why === "nonce_passed_on"))
      return await services.db.transaction().execute(async (db) => {
        const one = await moveIntent(db, intent, to, why);
        if (one) await (why === "nonce_taken" ? haltWallet(db, reservation) : passNonceOn(db, subject, reservation));
        return one;
      });
    if (to === "confirmed") failpoint("confirm-before-commit");
    if (to === "finalized") failpoint("finalize-before-commit");
    if (to === "confirmed" || to === "finalized") return await takeBlockStep(services.db, { intent, to });
    // Released from a batch, it gets time to obtain a nonce of its own, however long its batch took.
    const expires = sql<Date>`greatest(expires_at, clock_timestamp() + interval '1 hour')`;
    return await moveIntent(services.db, intent, to, why, detail, to === "queued" ? { expires_at: expires } : {});
  }
}

/** Logs what an operator has to find in the log of a request. */
function report(
  { services, chain, item, inquiry }: Case,
  { to, why, detail, mined }: { to: Intent["state"]; why: string | null; detail: string | null; mined?: Outcome },
): void {
  const { intent, reservation } = item;
  const { log } = services;
  const lost = inquiry.used && "sent" in inquiry.used ? inquiry.used.sent : null;
  const stored = reservation?.mined_attempt ? toHash(reservation.mined_attempt) : undefined;
  const context = {
    intent: intent.id,
    chain: chain.name,
    from: intent.state,
    state: to,
    hash: mined?.hash ?? lost?.hash ?? stored,
    block: mined?.block ?? reservation?.mined_block,
    ...(why === null ? {} : { why, detail }),
    ...(reservation ? { wallet: toAddress(reservation.addr), nonce: reservation.nonce } : {}),
  };
  if (why === "nonce_taken")
    log.error(context, "incident: an external transaction used our nonce; the wallet is halted");
  else if (why === "verification") log.error(context, "what is on the chain is not what was asked for");
  else if (why === "nonce_passed_on")
    log.warn(context, "a transaction of a lost request used the nonce; the request goes on with another one");
  else if (lost) log.warn(context, "lost bytes of a request were mined");
  else if (why !== null) log.warn(context, "a request came to nothing in this transaction");
  else if (to === "queued")
    log.warn({ ...context, lead: intent.batch_lead }, "a batch came to nothing; a mint of it goes on alone");
  else log.info(context, "a request was moved on");
}

async function recordMined(
  { services, item, look, inquiry }: Case,
  { to, why }: Extract<Next, { do: "move" }>,
  { hash, block, blockHash }: Outcome,
): Promise<Intent | null> {
  const { intent, reservation, attempts } = item;
  const lost = inquiry.used && "sent" in inquiry.used ? inquiry.used.sent : null;
  const receipt = lost?.receipt ?? look.receipts.get(hash);
  const price = lost?.maxFeePerGas ?? attempts.find((attempt) => toHash(attempt.hash) === hash)?.max_fee ?? 0n;
  const mined = { hash, block: { number: block, hash: blockHash }, costWei: receipt ? costOf(receipt, price) : null };
  const state = to === "mined_reverted" || to === "mined_cancellation" ? to : "mined";
  const step: BlockStep = { intent, to: state, mined };
  failpoint("mined-before-commit");
  if (!lost && to !== "nonce_conflict") return await takeBlockStep(services.db, step);
  return await services.db.transaction().execute(async (db) => {
    if (reservation && lost?.raw) {
      const { chain_id, addr } = reservation;
      await keepFoundBytes(db, { chain_id, addr }, { ...lost, raw: lost.raw });
    }
    const [moved = null] = await takeBlockSteps(db, [step]);
    return moved && to === "nonce_conflict" ? await moveIntent(db, moved, to, why ?? null) : moved;
  });
}

/** A nonce was used by bytes that we never signed: somebody else has the key, and a person has to decide what to do. */
async function haltWallet(db: Transaction<Database>, { chain_id, addr, nonce }: NonceReservation): Promise<void> {
  await updateNonce(db, { chain_id, addr, nonce }).set({ state: "external" }).execute();
  await updateWallet(db, { chain_id, addr }).set({ state: "halted" }).execute();
}

/** Passes a nonce, used by a transaction of ours whose rows were lost, to its request, with the transaction's bytes. */
async function passNonceOn(
  db: Transaction<Database>,
  { services, chain, inquiry }: Case,
  { chain_id, addr, nonce }: NonceReservation,
): Promise<void> {
  if (!inquiry.used || !("sent" in inquiry.used)) throw new Error("a nonce is passed on to what was found at it");
  const { sent, kind } = inquiry.used;
  if (kind !== "cancellation" && kind !== "external")
    await recordSentElsewhere(services, db, chain, toAddress(addr), { ...sent, kind });
  await updateNonce(db, { chain_id, addr, nonce })
    .set({ state: "external", found: true, found_root: rootOf(sent.data) })
    .execute();
  if (sent.raw) await keepFoundBytes(db, { chain_id, addr }, { ...sent, raw: sent.raw });
}

async function endMember(
  { services, item }: Case,
  { to, why, detail }: Extract<Next, { do: "move" }>,
): Promise<Intent | null> {
  const { intent, reservation } = item;
  if (!reservation) throw new Error(`${intent.id} is mined nowhere`);
  if (to === "confirmed") return await confirmMember(services.db, { intent, lead: reservation });
  const place = { found_tx: reservation.mined_attempt, found_block: reservation.mined_block };
  return await moveIntent(services.db, intent, to, why, detail, place);
}

/**
 * Retries a request that lost its nonce, as a new intent of the same root and so for the same address, which can have
 * only one collection on the chain. The first attempt's gas is spent, or its reservation released; the retry makes its
 * own reservation before it is signed, within the limits at that time. A request cancelled meanwhile is not retried.
 */
export async function startRetry(db: Transaction<Database>, intent: Intent): Promise<Intent | null> {
  const inserted = await sql<Pick<Intent, "id" | "state" | "version">>`
    INSERT INTO service.intent (id, root_id, retry_number, tenant_id, req_hash, chain_id, kind, payload, allowlist_id, factory,
      template, owner, init_data, salt, predicted_addr, gas_ceiling, seq)
    SELECT ${randomUUID()}::uuid, root_id, retry_number + 1, tenant_id, req_hash, chain_id, kind, payload, allowlist_id, factory,
      template, owner, init_data, salt, predicted_addr, gas_ceiling, seq
    FROM service.intent WHERE id = ${intent.id}
    ON CONFLICT DO NOTHING RETURNING id, state, version`.execute(db);
  const [repeated] = inserted.rows;
  if (repeated && intent.cancel_requested_at) await moveIntent(db, repeated, "cancelled");
  return await moveIntent(db, intent, "retried");
}
