import type { Chain } from "../../chains.ts";
import type { RelayContext } from "../chain/context.ts";
import { type Intent, newestRetry } from "../store/intents.ts";
import { followLead } from "./follow-lead.ts";
import { holdUnsigned } from "./hold-intent.ts";
import type { Preflight } from "./preflight.ts";
import { signAssigned } from "./sign-assigned.ts";
import { startUnassigned } from "./start-unassigned.ts";
import type { Step, Submission } from "./submission.ts";

/**
 * Takes an intent from wherever it stands to signed and stored. Requests and workers call it alike and
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
