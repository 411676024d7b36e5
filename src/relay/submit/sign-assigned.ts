import type { Chain } from "../../chains.ts";
import { toAddress } from "../../db/bytes.ts";
import type { RelayContext } from "../chain/context.ts";
import { replacesRecord } from "../chain/operation.ts";
import { getIntent, type Intent } from "../store/intents.ts";
import { findReservation } from "../store/nonces.ts";
import { waitForThoseAhead } from "../store/update-order.ts";
import { holdRefused, holdRoles } from "./hold-intent.ts";
import { importDeployment } from "./import-deployment.ts";
import { type Preflight, payablePlan, preflight } from "./preflight.ts";
import { signAttempt } from "./sign-attempt.ts";
import type { Step } from "./submission.ts";

/**
 * The step of an intent that has a nonce and no bytes: it is simulated for the nonce's wallet, signed and stored.
 *
 * @param known what an earlier try a moment ago learned from the node.
 */
export async function signAssigned(
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
