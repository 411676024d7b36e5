import { sql } from "kysely";
import type { Address } from "viem";
import type { Chain } from "../../chains.ts";
import { toAddress } from "../../db/bytes.ts";
import { askNode } from "../../rpc/nodes.ts";
import type { RelayContext } from "../chain/context.ts";
import { endIfDoneElsewhere, isIntentDone, isIntentPending } from "../chain/done-elsewhere.ts";
import { isFirstNonce } from "../chain/pending-nonces.ts";
import { readChainView } from "../chain/view.ts";
import { getIntent, type Intent, moveIntent, newestRetry } from "../store/intents.ts";
import { findReservation, type NonceReservation } from "../store/nonces.ts";
import { isTokenSuperseded, waitForThoseAhead, waitForTurn } from "../store/turns.ts";
import { nameWallet } from "../store/wallets.ts";
import { chooseWallet, sendersOf, type WalletChoice } from "./choose-wallet.ts";
import {
  holdDone,
  holdIntent,
  holdRefused,
  holdRoles,
  holdUnsigned,
  refusalHolds,
  type Step,
  withinReserved,
} from "./hold-intent.ts";
import { mayShare, preflight, shareName } from "./preflight.ts";
import { needsReconcile, reconcileNonces } from "./reconcile-nonces.ts";
import { importDeployment, takeRecovered } from "./recover-request.ts";
import { planAttempt, replaceAttempt, signAttempt } from "./sign-attempt.ts";
import { signNext } from "./sign-next.ts";

/** How far an intent came towards signed bytes. */
type Submission = Exclude<Step, Intent>;

/**
 * Takes an intent from any state to signed and stored. Loops of several workers may call it at the same time; each step
 * is one transaction that only one of them wins.
 *
 * @throws ServiceError `service_unavailable` while the node or the signer does not answer; the intent keeps its state.
 */
export async function submitIntent(services: RelayContext, chain: Chain, intent: Intent): Promise<Submission> {
  let current = intent;
  // Each pass moves on or finds that another process did; a few suffice, more would be a livelock.
  for (let pass = 0; pass < 8; pass += 1) {
    const step = await takeStep(services, chain, current).catch((error: unknown) =>
      holdUnsigned(services, chain, current, error),
    );
    if ("intent" in step) return step;
    current = step;
  }
  return { kind: "waiting", intent: current, reason: "other processes are working on it" };
}

async function takeStep(services: RelayContext, chain: Chain, intent: Intent): Promise<Step> {
  switch (intent.state) {
    case "queued":
    case "held":
      if (!mayShare(intent)) return await startUnsigned(services, chain, intent);
      return await services.relay.wallets.coming(shareName(intent), intent.id, () =>
        startUnsigned(services, chain, intent),
      );
    case "assigned":
      return await takeAssigned(services, chain, intent);
    case "batched":
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
      return { kind: "waiting", intent, reason: "its nonce was used up without its effect" };
    default:
      return intent.state satisfies never;
  }
}

/** The first step of an intent without a nonce, up to the choice of its wallet. */
async function startUnsigned(services: RelayContext, chain: Chain, intent: Intent): Promise<Step> {
  if (await isTokenSuperseded(services.db, intent)) {
    const reason = "a later update of this token was carried out while this one had to be repeated";
    return (
      (await moveIntent(services.db, intent, "cancelled", "superseded", reason)) ??
      (await getIntent(services.db, intent.id))
    );
  }
  const turn = await waitForTurn(services.db, intent, null, null);
  if (turn) return { kind: "waiting", intent, reason: turn };
  const choice = await chooseWallet(services, chain, intent);
  const found = choice.found || choice.recovered ? await takeRecovered(services, chain, intent, choice) : null;
  if (found) return found;
  switch (choice.kind) {
    case "full":
      return await waitForRoom(services, intent, choice.reason);
    case "hold": {
      // The wallet may wait for this very intent: after a restore, for the collection that it has already deployed.
      const done =
        choice.reason === "wallet" && intent.kind !== "update" ? await findOnChain(services, chain, intent) : null;
      return done ?? (await holdIntent(services, chain, intent, choice.reason, choice.message));
    }
    case "wallet": {
      const work = () => simulateAndSign(services, chain, intent, choice);
      // Mints may share one nonce.
      if (mayShare(intent)) return await work();
      return await services.relay.wallets.preparing(nameWallet(chain, choice.sender), work);
    }
    default:
      return choice satisfies never;
  }
}

type Wallet = Extract<WalletChoice, { kind: "wallet" }>;

async function simulateAndSign(services: RelayContext, chain: Chain, intent: Intent, choice: Wallet): Promise<Step> {
  const { sender, isNew } = choice;
  const answer = await preflight(services, chain, intent, sender);
  if ("waits" in answer) return { kind: "waiting", intent, reason: answer.waits };
  if ("refused" in answer) return await takeRefusal(services, chain, intent, sender, answer.refused);
  services.relay.wallets.sawMined(nameWallet(chain, sender), answer.chainNonce);
  const payable = await withinReserved(services, chain, intent, answer, false);
  if ("step" in payable) return payable.step;
  if (isNew && !(await isFirstNonce(services, chain, sender, answer.chainNonce))) {
    const reason = "the endpoints do not agree on how many transactions the paying wallet has sent";
    return { kind: "waiting", intent, reason };
  }
  const forbidden = await holdRoles(services, chain, intent);
  if (forbidden) return forbidden;
  const { genesisHash } = await services.relay.factory(chain);
  const outcome = await signNext(services, chain, { intent, ready: payable.ready }, genesisHash);
  switch (outcome.kind) {
    case "signed":
      return outcome;
    case "again":
      return await getIntent(services.db, intent.id);
    case "wait":
      return await waitForRoom(services, intent, outcome.reason);
    case "hold": {
      const other = await chooseWallet(services, chain, intent);
      if (other.kind === "wallet" && other.sender !== sender) return intent;
      if (other.kind === "full") return await waitForRoom(services, intent, other.reason);
      return await holdIntent(services, chain, intent, outcome.reason, outcome.message);
    }
    default:
      return outcome satisfies never;
  }
}

/** Its former hold reason no longer applies: it only waits for a wallet with capacity. */
async function waitForRoom({ db }: RelayContext, intent: Intent, reason: string): Promise<Step> {
  const queued = intent.state === "held" ? await moveIntent(db, intent, "queued") : intent;
  return { kind: "waiting", intent: queued ?? intent, reason };
}

/** Looks for other causes of a refused simulation than the request itself, before the request is held for it. */
async function takeRefusal(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  sender: Address,
  reason: string,
): Promise<Step> {
  // Another process may have deployed it since: then the simulation refused a second deployment.
  const now = await getIntent(services.db, intent.id);
  if (now.version !== intent.version) return now;
  if (intent.kind === "update") return await holdRefused(services, chain, intent, reason);
  const found = await findOnChain(services, chain, intent);
  if (found) return found;
  if (await askNode(chain, () => isIntentDone(services, chain, intent))) return await holdDone(services, chain, intent);
  // The wallet may have lost its role since it was chosen: another wallet has it, or the request waits for it.
  services.relay.forgetRoles(chain);
  if (!(await sendersOf(services, chain, intent)).includes(sender)) return intent;
  // A node may simulate on top of its mempool, which may contain this very request, forgotten here.
  if ((await needsReconcile(services, chain, sender)) && (await reconcileNonces(services, chain, sender)) === null)
    return intent;
  // Such a node also reports that the operator has done it, though the chain does not show it yet.
  if (await askNode(chain, () => isIntentPending(services, chain, intent)))
    return await holdDone(services, chain, intent);
  return await holdRefused(services, chain, intent, reason);
}

/** Takes over what the chain already has of the request: its collection, or its effect by another transaction. */
async function findOnChain(services: RelayContext, chain: Chain, intent: Intent): Promise<Intent | null> {
  const imported = intent.kind === "deploy" ? await importDeployment(services, chain, intent) : null;
  return imported ?? (await endIfDoneElsewhere(services, chain, intent));
}

/**
 * The step of an intent to which an earlier version gave a nonce without signing it. If it is refused for a minute, an
 * empty transaction takes its nonce: others wait behind it.
 */
async function takeAssigned(services: RelayContext, chain: Chain, intent: Intent): Promise<Step> {
  const reservation = await findReservation(services.db, intent.id);
  // The database was restored meanwhile: the intent has an older row, or was lost with its nonce.
  if (!reservation) return await getIntent(services.db, intent.id);
  const step = await signAssigned(services, chain, intent, reservation).catch((error: unknown) =>
    holdUnsigned(services, chain, intent, error),
  );
  const isRefused = "intent" in step && step.kind === "held" && step.intent.version === intent.version;
  const emptied = isRefused && (await giveNonceUp(services, chain, intent, reservation));
  return emptied ? await getIntent(services.db, intent.id) : step;
}

/** Simulates it for the nonce's wallet, signs it and stores the bytes. */
async function signAssigned(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  reservation: NonceReservation,
): Promise<Step> {
  const again = () => getIntent(services.db, intent.id);
  // An empty transaction has to fill the nonce; the resubmit loop signs it.
  if (intent.cancel_requested_at) return { kind: "held", intent, reason: "it is being cancelled" };
  const turn = await waitForThoseAhead(services.db, intent, reservation, null);
  if (turn) return { kind: "waiting", intent, reason: turn };
  const answer = await preflight(services, chain, intent, toAddress(reservation.addr));
  if ("waits" in answer) return { kind: "waiting", intent, reason: answer.waits };
  if ("refused" in answer) {
    // Another process may have deployed it since: then the simulation refused a second deployment.
    const now = await again();
    if (now.version !== intent.version) return now;
    const imported = intent.kind === "deploy" ? await importDeployment(services, chain, intent) : null;
    return imported ?? (await holdRefused(services, chain, intent, answer.refused));
  }
  const payable = await withinReserved(services, chain, intent, answer, true);
  if ("step" in payable) return payable.step;
  const late = await waitForThoseAhead(services.db, intent, reservation, answer.call.basis);
  if (late) return { kind: "waiting", intent, reason: late };
  const forbidden = await holdRoles(services, chain, intent);
  if (forbidden) return forbidden;
  const plan = planAttempt(intent, payable.ready);
  return (await signAttempt(services, chain, intent, reservation, plan)) ?? (await again());
}

/** @returns whether an empty transaction was signed for the nonce of a request that was also refused a minute ago. */
async function giveNonceUp(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  reservation: NonceReservation,
): Promise<boolean> {
  if (intent.hold_reason !== "simulation" && intent.hold_reason !== refusalHolds.roles) return false;
  const isOld = sql`updated_at < clock_timestamp() - interval '1 minute'`;
  const { rows } = await sql`SELECT FROM service.intent WHERE id = ${intent.id} AND ${isOld}`.execute(services.db);
  if (rows.length === 0) return false;
  const view = await askNode(chain, () => readChainView(services.relay.nodes(chain), chain, []));
  return (await replaceAttempt(services, chain, intent, reservation, [], view))?.state === "signed";
}
