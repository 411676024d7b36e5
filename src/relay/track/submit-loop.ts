import type { Chain } from "../../chains.ts";
import type { RelayContext } from "../chain/context.ts";
import { replacesRecord } from "../chain/operation.ts";
import type { Intent } from "../store/intents.ts";
import { mostMints } from "../submit/form-batch.ts";
import { refusalHolds } from "../submit/hold-intent.ts";
import { mayShare } from "../submit/preflight.ts";
import { submitIntent } from "../submit/submit-intent.ts";
import { attend, type RelayMemory, send } from "./loop-steps.ts";
import { expireIntents, listAssigned, listUnassigned } from "./page-waiting.ts";
import { refreshWallets } from "./watch-wallets.ts";

/** Then it is a nonce's turn again that was given out meanwhile and not signed. */
const roundMs = 5_000;

/**
 * One look at what has no signed bytes yet on a chain and is not worked on for a client (sign-loop.ts): what may go now gets its nonce, is signed and sent. What has a
 * nonce already goes first; the rest has its turn from round to round, for simulating all of it may take long. Any
 * number of workers may do this at once.
 *
 * @throws whatever keeps the whole round from being done: the node, the database or the signer is away.
 */
export async function submitRound(
  services: RelayContext,
  chain: Chain,
  memory: RelayMemory,
  signal?: AbortSignal,
): Promise<void> {
  const end = performance.now() + roundMs;
  await expireIntents(services, chain);
  const assigned = await listAssigned(services, chain);
  const { intents, more } = await listUnassigned(services, chain, memory.waiting);
  // At the end of the list: from the first again.
  if (intents.length === 0) memory.waiting = -1n;
  if (assigned.length + intents.length === 0) return;
  await services.relay.signing.requireAnswer();
  await refreshWallets(services, chain, memory);
  for (const intent of assigned) {
    if (signal?.aborted) return;
    if (!memory.signing.working.has(intent.id)) await submit(services, chain, intent, memory);
  }
  let full = false;
  const taken = new Set<Intent>();
  const isTaken = (intent: Intent) => taken.has(intent) || memory.signing.working.has(intent.id);
  for (const [index, intent] of intents.entries()) {
    if (signal?.aborted || performance.now() > end) return;
    memory.waiting = intent.seq;
    // These may wait for one another, and not for room.
    const ordered = replacesRecord(intent.kind) || intent.kind === "token_update";
    if (isTaken(intent) || (full && !ordered)) continue;
    const together = listSharing(intent, intents.slice(index + 1)).filter((other) => !isTaken(other));
    for (const other of together) taken.add(other);
    const outcomes = await Promise.all([intent, ...together].map((one) => submit(services, chain, one, memory)));
    full ||= outcomes.includes("waiting") && !ordered;
  }
  if (!more) memory.waiting = -1n;
}

/** Mints that ask for a nonce at once share a transaction (submit/form-batch.ts). */
function listSharing(intent: Intent, later: readonly Intent[]): readonly Intent[] {
  if (!mayShare(intent)) return [];
  const sharing = later.filter(
    (other) =>
      mayShare(other) && other.tenant_id === intent.tenant_id && other.predicted_addr.equals(intent.predicted_addr),
  );
  return sharing.slice(0, mostMints - 1);
}

async function submit(services: RelayContext, chain: Chain, intent: Intent, memory: RelayMemory): Promise<string> {
  let outcome = "failed";
  await attend(services, intent, async () => {
    const submission = await submitIntent(services, chain, intent);
    outcome = submission.kind;
    recordRefusal(memory, submission.intent);
    if (submission.kind === "signed") await send(services, chain, submission.intent, memory);
  });
  return outcome;
}

function recordRefusal(memory: RelayMemory, { id, state, hold_reason: reason }: Intent): void {
  const now = performance.now();
  if (state !== "assigned" || (reason !== "simulation" && reason !== refusalHolds.roles)) memory.refused.delete(id);
  else memory.refused.set(id, { since: memory.refused.get(id)?.since ?? now, last: now });
}
