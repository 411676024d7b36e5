import { sql } from "kysely";
import type { Address } from "viem";
import type { Chain } from "../../chains.ts";
import type { RelayContext } from "../chain/context.ts";
import { isFirstNonce } from "../chain/first-nonce.ts";
import { callKind } from "../chain/operation.ts";
import { toAddress } from "../store/bytes.ts";
import { getIntent, type Intent, moveIntent, newestGeneration } from "../store/intents.ts";
import { findSlot } from "../store/nonces.ts";
import { waitForThoseAhead, waitForTurn } from "../store/update-order.ts";
import { chooseLane, sendersOf } from "./choose-wallet.ts";
import { claimFound } from "./claim-found.ts";
import { endAsFound } from "./end-as-found.ts";
import { adoptDeployment } from "./import-deployment.ts";
import { type Preflight, preflight } from "./preflight.ts";
import { raiseReservation } from "./raise-reservation.ts";
import { assignSlot } from "./reserve-nonce.ts";
import { signAttempt } from "./sign-attempt.ts";
import { lacksBasis, takeBasis } from "./take-basis.ts";

export type Submission =
  /** Its bytes are on disk: it will be driven to an end whatever happens to this process. */
  | { kind: "signed"; intent: Intent }
  /** Not yet, and trying again at once may help; `ready` saves the next try its questions to the node. */
  | { kind: "waiting"; intent: Intent; reason: string; ready: Preflight | null }
  /** Not until something changes: funds, the lane, what the simulation says. */
  | { kind: "held"; intent: Intent; reason: string }
  /** It ended without a transaction. */
  | { kind: "over"; intent: Intent };

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
    const step = await takeStep(services, chain, current, known);
    if ("intent" in step) return step;
    current = step;
  }
  return { kind: "waiting", intent: current, reason: "other processes are working on it", ready: null };
}

/** Later updates of the collection wait behind a refused one, a token id is taken by it, and old clients cannot cancel it. */
const refusedMinutes = 10;

/** Once it is held for another reason, it has the time again that it was accepted with. */
function whenItExpires({ kind, state }: Intent, holdReason: string) {
  if (kind === "deploy" || state === "assigned") return {};
  const expires =
    holdReason === "simulation"
      ? sql<Date>`least(expires_at, clock_timestamp() + make_interval(mins => ${refusedMinutes}))`
      : sql<Date>`created_at + interval '24 hours'`;
  return { expires_at: expires };
}

async function takeStep(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  known: Preflight | null,
): Promise<Submission | Intent> {
  const again = () => getIntent(services.db, intent.id);
  switch (intent.state) {
    case "queued":
    case "held":
    case "assigned":
      break;
    case "cancelled":
    case "expired":
      return { kind: "over", intent };
    case "superseded":
      return await newestGeneration(services.db, intent);
    case "quarantined":
      return { kind: "waiting", intent, reason: "its nonce was used by somebody else", ready: null };
    default:
      return { kind: "signed", intent };
  }
  const slot = intent.state === "assigned" ? await findSlot(services.db, intent.id) : undefined;
  // A transaction that does nothing has to fill the nonce; the worker signs it.
  if (slot && intent.cancel_requested_at) return { kind: "held", intent, reason: "it is being cancelled" };
  const turn = await (slot
    ? waitForThoseAhead(services.db, intent, slot, null)
    : waitForTurn(services.db, intent, null));
  if (turn) return { kind: "waiting", intent, reason: turn, ready: null };
  const lane = slot
    ? ({ kind: "lane", sender: toAddress(slot.addr), isNew: false, found: false } as const)
    : await chooseLane(services, chain, intent);
  if (lane.found && intent.kind === "update") {
    const reason = "a transaction that was found of the paying wallet is under way, and may be an update";
    return { kind: "waiting", intent, reason, ready: null };
  }
  const claimed = lane.found ? await claimFound(services, chain, intent) : null;
  if (claimed) return claimed;
  if (lane.kind === "hold") {
    // The lane may wait for this very intent: after a restore, for the collection that it made already.
    const adopted = lane.reason === "lane" && intent.kind !== "update" ? await adopt() : null;
    return adopted ?? (await holdIntent(intent, lane.reason, lane.message));
  }
  // What an update replaces may have changed since an earlier look, and another wallet has another balance.
  const fresh = intent.kind !== "update" && known?.sender === lane.sender ? known : null;
  const ready = fresh ?? (await preflight(services, chain, intent, lane.sender));
  if ("waits" in ready) return { kind: "waiting", intent, reason: ready.waits, ready: null };
  if ("refused" in ready) {
    // Another process may have deployed it since: then the refusal is the second deployment's.
    const now = await again();
    if (now.version !== intent.version) return now;
    const adopted = intent.kind === "update" ? null : await adopt();
    if (adopted) return adopted;
    // The wallet may have lost its role since it was chosen: then another one has it, or the request waits for it.
    if (!slot && intent.kind !== "update" && (await lostRole(lane.sender))) return intent;
    // A node may simulate on top of its mempool, and this very deployment may wait there, forgotten here.
    if (!slot && intent.kind !== "update" && (await lacksBasis(services, chain, lane.sender)))
      if ((await takeBasis(services, chain, lane.sender)) === null) return intent;
    return await refuse(ready.refused);
  }
  const { fees, wanted, call, gas, headBlock } = ready;
  if (!fees) {
    if (!wanted) return await holdIntent(intent, "fee", "the network's fees are over what may be paid here");
    const raised = await raiseReservation(services, chain, intent, gas * wanted.maxFeePerGas, slot !== undefined);
    return raised ?? (await holdIntent(intent, "budget", "the spending limits have no room for it at today's fees"));
  }
  const plan = { kind: callKind(intent.kind), to: call.to, data: call.data, gas, fees, headBlock };
  if (slot) {
    const late = await waitForThoseAhead(services.db, intent, slot, call.basis);
    if (late) return { kind: "waiting", intent, reason: late, ready: null };
    return (await signAttempt(services, chain, intent, slot, plan)) ?? (await again());
  }
  if (lane.isNew && !(await isFirstNonce(services, chain, lane.sender, ready.chainNonce))) {
    const reason = "the endpoints do not agree on how many transactions the paying wallet has sent";
    return { kind: "waiting", intent, reason, ready: null };
  }
  // A nonce that nobody signs for would keep those behind it waiting.
  await services.relay.signing.requireAnswer();
  const queued = intent.state === "held" ? await moveIntent(services.db, intent, "queued") : intent;
  if (!queued) return await again();
  const { genesisHash } = await services.relay.factory(chain);
  const assignment = await assignSlot(services, chain, queued, { ...ready, fees }, genesisHash);
  switch (assignment.kind) {
    case "assigned":
      return (await signAttempt(services, chain, assignment.intent, assignment.slot, plan)) ?? (await again());
    case "lost":
      return await again();
    case "unchecked": {
      const unready = await takeBasis(services, chain, lane.sender);
      if (!unready) return queued;
      if (!unready.soon) return await holdIntent(queued, "lane", unready.reason);
      return { kind: "waiting", intent: queued, reason: unready.reason, ready: null };
    }
    case "wait":
      return { kind: "waiting", intent: queued, reason: assignment.reason, ready };
    case "hold": {
      const other = await chooseLane(services, chain, queued);
      return other.kind === "lane" && other.sender !== lane.sender
        ? queued
        : await holdIntent(queued, assignment.reason, assignment.message);
    }
  }

  async function lostRole(sender: Address): Promise<boolean> {
    services.relay.forgetRoles(chain);
    return !(await sendersOf(services, chain, intent)).includes(sender);
  }

  async function adopt(): Promise<Intent | null> {
    const adopted = intent.kind === "deploy" ? await adoptDeployment(services, chain, intent) : null;
    return adopted ?? (slot ? null : await endAsFound(services, chain, intent));
  }

  async function refuse(reason: string): Promise<Submission | Intent> {
    // With a nonce there is no way back to held: the lane waits behind it until the simulation passes.
    return await holdIntent(intent, "simulation", `the contract would refuse it: ${reason}`);
  }

  async function holdIntent(seen: Intent, code: string, reason: string): Promise<Submission | Intent> {
    services.log.warn({ intent: intent.id, chain: chain.name, state: seen.state, reason }, "deployment held");
    // With a nonce it is tried again at every turn; the same answer is no news.
    if (seen.state === "assigned" && seen.hold_reason === code && seen.hold_detail === reason)
      return { kind: "held", intent: seen, reason };
    const to = seen.state === "assigned" ? "assigned" : "held";
    const held = await moveIntent(services.db, seen, to, code, reason, whenItExpires(seen, code));
    return held ? { kind: "held", intent: held, reason } : await again();
  }
}
