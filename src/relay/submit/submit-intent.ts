import { setTimeout as sleep } from "node:timers/promises";
import type { Chain } from "../../chains.ts";
import { toAddress } from "../../db/bytes.ts";
import type { RelayContext } from "../chain/context.ts";
import { replacesRecord } from "../chain/operation.ts";
import { getIntent, type Intent, newestRetry } from "../store/intents.ts";
import { findReservation } from "../store/nonces.ts";
import { waitForThoseAhead } from "../store/update-order.ts";
import { holdRefused, holdRoles, holdUnsigned, payablePlan } from "./hold-intent.ts";
import { importDeployment } from "./import-deployment.ts";
import { type Preflight, preflight } from "./preflight.ts";
import { signAttempt } from "./sign-attempt.ts";
import { startUnassigned } from "./start-unassigned.ts";
import type { Step, Submission } from "./submission.ts";

/**
 * Takes an intent from wherever it stands to signed and stored. Loops of several workers may call it
 * at the same time; each step is one transaction that only one of them wins.
 *
 * @param known what an earlier try a moment ago learned from the node.
 * @throws ServiceError `service_unavailable` while the node does not answer; the intent keeps its state.
 */
export async function submitIntent(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  known: Preflight | null = null,
): Promise<Submission> {
  let current = intent;
  // Each pass moves on or learns that somebody else did; a few suffice, more would be a livelock.
  for (let pass = 0; pass < 8; pass += 1) {
    const step = await takeStep(services, chain, current, known).catch((error: unknown) =>
      holdUnsigned(services, chain, current, error),
    );
    if ("intent" in step) return step;
    current = step;
  }
  return { kind: "waiting", intent: current, reason: "other processes are working on it", ready: null };
}

async function takeStep(services: RelayContext, chain: Chain, intent: Intent, known: Preflight | null): Promise<Step> {
  switch (intent.state) {
    case "queued":
    case "held":
      return await startUnassigned(services, chain, intent, known);
    case "batched":
      return await followLead(services, intent);
    case "assigned":
      return await signAssigned(services, chain, intent, known);
    case "signed":
    case "in_flight":
    case "mined":
    case "mined_reverted":
    case "mined_cancellation":
    case "confirmed":
    case "finalized":
    case "failed_onchain":
      return { kind: "signed", intent };
    case "cancelled":
    case "expired":
      return { kind: "over", intent };
    case "retried":
      return await newestRetry(services.db, intent);
    case "nonce_conflict":
      return { kind: "waiting", intent, reason: "its nonce was used up without its effect", ready: null };
    default:
      return intent.state satisfies never;
  }
}

/** The lead is signed right after the batch was put together, as a rule by the process that did that. */
const pollMs = 20;
const polls = 10;

/** Of a lead: its transaction will not be mined, or did nothing. */
const withoutEffect: ReadonlySet<Intent["state"]> = new Set(["nonce_conflict", "retried", "cancelled"]);

/** The step of a member of a batch: its bytes are its lead's, which others sign, send and follow. */
async function followLead(services: RelayContext, member: Intent): Promise<Step> {
  for (let poll = 0; poll < polls; poll += 1) {
    const lead = await getIntent(services.db, member.batch_lead ?? "");
    if (lead.state !== "assigned") return afterSigning(await getIntent(services.db, member.id), lead);
    await sleep(pollMs);
  }
  return { kind: "waiting", intent: member, reason: "the transaction that it shares is being signed", ready: null };
}

function afterSigning(member: Intent, lead: Intent): Step {
  if (member.state !== "batched") return member;
  if (!withoutEffect.has(lead.state)) return { kind: "signed", intent: member };
  const reason = "the transaction that it shared came to nothing; it goes on alone once that is final";
  return { kind: "waiting", intent: member, reason, ready: null };
}

/**
 * The step of an intent that has a nonce and no bytes: it is simulated for the nonce's wallet, signed and stored.
 *
 * @param known what an earlier try a moment ago learned from the node.
 */
async function signAssigned(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  known: Preflight | null,
): Promise<Step> {
  const again = () => getIntent(services.db, intent.id);
  const reservation = await findReservation(services.db, intent.id);
  // The database was put back meanwhile: the intent is as it says now, or lost with its nonce.
  if (!reservation) return await again();
  // A transaction that does nothing has to fill the nonce; the worker signs it.
  if (intent.cancel_requested_at) return { kind: "held", intent, reason: "it is being cancelled" };
  const turn = await waitForThoseAhead(services.db, intent, reservation, null);
  if (turn) return { kind: "waiting", intent, reason: turn, ready: null };
  const sender = toAddress(reservation.addr);
  // What an update replaces may have changed since an earlier look.
  const fresh = !replacesRecord(intent.kind) && known?.sender === sender ? known : null;
  const answer = fresh ?? (await preflight(services, chain, intent, sender));
  if ("waits" in answer) return { kind: "waiting", intent, reason: answer.waits, ready: null };
  if ("refused" in answer) {
    // Another process may have deployed it since: then the refusal is the second deployment's.
    const now = await again();
    if (now.version !== intent.version) return now;
    const imported = intent.kind === "deploy" ? await importDeployment(services, chain, intent) : null;
    return imported ?? (await holdRefused(services, chain, intent, answer.refused));
  }
  const payable = await payablePlan(services, chain, intent, answer, true);
  if ("step" in payable) return payable.step;
  const late = await waitForThoseAhead(services.db, intent, reservation, payable.ready.call.basis);
  if (late) return { kind: "waiting", intent, reason: late, ready: null };
  const forbidden = await holdRoles(services, chain, intent);
  if (forbidden) return forbidden;
  return (await signAttempt(services, chain, intent, reservation, payable.plan)) ?? (await again());
}
