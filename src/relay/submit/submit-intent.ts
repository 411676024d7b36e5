import { sql } from "kysely";
import type { Address } from "viem";
import type { Chain } from "../../chains.ts";
import type { RelayContext } from "../chain/context.ts";
import { isFirstNonce } from "../chain/first-nonce.ts";
import { callKind } from "../chain/operation.ts";
import { toAddress } from "../store/bytes.ts";
import { getIntent, type Intent, moveIntent, newestRetry } from "../store/intents.ts";
import { findReservation } from "../store/nonces.ts";
import { waitForThoseAhead, waitForTurn } from "../store/update-order.ts";
import { chooseWallet, sendersOf } from "./choose-wallet.ts";
import { claimFound } from "./claim-found.ts";
import { endAsFound } from "./end-as-found.ts";
import { importDeployment } from "./import-deployment.ts";
import { type Preflight, preflight } from "./preflight.ts";
import { raiseGasReservation } from "./raise-reservation.ts";
import { reserveNonce } from "./reserve-nonce.ts";
import { signAttempt } from "./sign-attempt.ts";
import { lacksBasis, takeBasis } from "./take-basis.ts";

export type Submission =
  /** Its bytes are on disk: it will be finished whatever happens to this process. */
  | { kind: "signed"; intent: Intent }
  /** Not yet, and trying again at once may help; `ready` saves the next try its questions to the node. */
  | { kind: "waiting"; intent: Intent; reason: string; ready: Preflight | null }
  /** Not until something changes: funds, the wallet, what the simulation says. */
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
    case "retried":
      return await newestRetry(services.db, intent);
    case "nonce_conflict":
      return { kind: "waiting", intent, reason: "its nonce was used by somebody else", ready: null };
    default:
      return { kind: "signed", intent };
  }
  const reservation = intent.state === "assigned" ? await findReservation(services.db, intent.id) : undefined;
  // A transaction that does nothing has to fill the nonce; the worker signs it.
  if (reservation && intent.cancel_requested_at) return { kind: "held", intent, reason: "it is being cancelled" };
  const turn = await (reservation
    ? waitForThoseAhead(services.db, intent, reservation, null)
    : waitForTurn(services.db, intent, null));
  if (turn) return { kind: "waiting", intent, reason: turn, ready: null };
  const choice = reservation
    ? ({ kind: "wallet", sender: toAddress(reservation.addr), isNew: false, found: false } as const)
    : await chooseWallet(services, chain, intent);
  if (choice.found && intent.kind === "update") {
    const reason = "a transaction that was found of the paying wallet is under way, and may be an update";
    return { kind: "waiting", intent, reason, ready: null };
  }
  const claimed = choice.found ? await claimFound(services, chain, intent) : null;
  if (claimed) return claimed;
  if (choice.kind === "hold") {
    // The wallet may wait for this very intent: after a restore, for the collection that it made already.
    const imported = choice.reason === "wallet" && intent.kind !== "update" ? await importFromChain() : null;
    return imported ?? (await holdIntent(intent, choice.reason, choice.message));
  }
  // What an update replaces may have changed since an earlier look, and another wallet has another balance.
  const fresh = intent.kind !== "update" && known?.sender === choice.sender ? known : null;
  const ready = fresh ?? (await preflight(services, chain, intent, choice.sender));
  if ("waits" in ready) return { kind: "waiting", intent, reason: ready.waits, ready: null };
  if ("refused" in ready) {
    // Another process may have deployed it since: then the refusal is the second deployment's.
    const now = await again();
    if (now.version !== intent.version) return now;
    const imported = intent.kind === "update" ? null : await importFromChain();
    if (imported) return imported;
    // The wallet may have lost its role since it was chosen: then another one has it, or the request waits for it.
    if (!reservation && intent.kind !== "update" && (await lostRole(choice.sender))) return intent;
    // A node may simulate on top of its mempool, and this very request may wait there, forgotten here.
    if (!reservation && intent.kind !== "update" && (await lacksBasis(services, chain, choice.sender)))
      if ((await takeBasis(services, chain, choice.sender)) === null) return intent;
    return await refuse(ready.refused);
  }
  const { fees, wanted, call, gas, headBlock } = ready;
  if (!fees) {
    if (!wanted) return await holdIntent(intent, "fee", "the network's fees are over what may be paid here");
    const raised = await raiseGasReservation(
      services,
      chain,
      intent,
      gas * wanted.maxFeePerGas,
      reservation !== undefined,
    );
    return raised ?? (await holdIntent(intent, "budget", "the spending limits have no room for it at today's fees"));
  }
  const plan = { kind: callKind(intent.kind), to: call.to, data: call.data, gas, fees, headBlock };
  if (reservation) {
    const late = await waitForThoseAhead(services.db, intent, reservation, call.basis);
    if (late) return { kind: "waiting", intent, reason: late, ready: null };
    return (await signAttempt(services, chain, intent, reservation, plan)) ?? (await again());
  }
  if (choice.isNew && !(await isFirstNonce(services, chain, choice.sender, ready.chainNonce))) {
    const reason = "the endpoints do not agree on how many transactions the paying wallet has sent";
    return { kind: "waiting", intent, reason, ready: null };
  }
  // A nonce that nobody signs for would keep those behind it waiting.
  await services.relay.signing.requireAnswer();
  const queued = intent.state === "held" ? await moveIntent(services.db, intent, "queued") : intent;
  if (!queued) return await again();
  const { genesisHash } = await services.relay.factory(chain);
  const assignment = await reserveNonce(services, chain, queued, { ...ready, fees }, genesisHash);
  switch (assignment.kind) {
    case "assigned":
      return (await signAttempt(services, chain, assignment.intent, assignment.reservation, plan)) ?? (await again());
    case "lost":
      return await again();
    case "unchecked": {
      const unready = await takeBasis(services, chain, choice.sender);
      if (!unready) return queued;
      if (!unready.soon) return await holdIntent(queued, "wallet", unready.reason);
      return { kind: "waiting", intent: queued, reason: unready.reason, ready: null };
    }
    case "wait":
      return { kind: "waiting", intent: queued, reason: assignment.reason, ready };
    case "hold": {
      const other = await chooseWallet(services, chain, queued);
      return other.kind === "wallet" && other.sender !== choice.sender
        ? queued
        : await holdIntent(queued, assignment.reason, assignment.message);
    }
  }

  async function lostRole(sender: Address): Promise<boolean> {
    services.relay.forgetRoles(chain);
    return !(await sendersOf(services, chain, intent)).includes(sender);
  }

  async function importFromChain(): Promise<Intent | null> {
    const imported = intent.kind === "deploy" ? await importDeployment(services, chain, intent) : null;
    return imported ?? (reservation ? null : await endAsFound(services, chain, intent));
  }

  async function refuse(reason: string): Promise<Submission | Intent> {
    // With a nonce there is no way back to held: the wallet waits behind it until the simulation passes.
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
