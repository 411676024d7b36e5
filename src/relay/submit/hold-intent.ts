import { sql } from "kysely";
import type { Chain } from "../../chains.ts";
import { type RefusalReason, rolesRefused } from "../../signing/rules.ts";
import { SignerError } from "../../signing/trouble.ts";
import type { RelayContext } from "../chain/context.ts";
import type { Fees } from "../chain/fees.ts";
import { getIntent, type Intent, isUnassigned, moveIntent } from "../store/intents.ts";
import { handsOutRights } from "../store/operation-payload.ts";
import type { Preflight } from "./preflight.ts";
import { raiseGasReservation } from "./raise-reservation.ts";

/** What one step of an intent led to: how far it came, or the intent as it stands now, for the next step. */
export type Step =
  /** Its bytes are on disk: it will be finished whatever happens to this process. */
  | { kind: "signed"; intent: Intent }
  /** Not yet, and trying again in a moment may help. */
  | { kind: "waiting"; intent: Intent; reason: string }
  /** Not until something changes: funds, the wallet, what the simulation says. */
  | { kind: "held"; intent: Intent; reason: string }
  /** It ended without a transaction. */
  | { kind: "over"; intent: Intent }
  | Intent;

/** Later updates of the collection wait behind a refused one, a token id is taken by it, and old clients cannot cancel it. */
const refusedMinutes = 10;

/** Why a request is held that the chain shows as done already: it does not expire. */
export const doneElsewhere = "done_elsewhere";

/**
 * Records why an intent cannot be signed now. Without a nonce it is held; with one it stays assigned, because the wallet
 * waits behind its nonce until the simulation passes.
 *
 * @param code `simulation`, `fee`, `budget`, `balance`, `wallet`, `roles`, `signer_day` or `done_elsewhere`.
 * @param reason the same in words, for the client and the operator.
 */
export async function holdIntent(
  services: RelayContext,
  chain: Chain,
  seen: Intent,
  code: string,
  reason: string,
): Promise<Step> {
  services.log.warn({ intent: seen.id, chain: chain.name, state: seen.state, reason }, "deployment held");
  // With a nonce it is tried again at every turn; the same answer is no news.
  if (seen.state === "assigned" && seen.hold_reason === code && seen.hold_detail === reason)
    return { kind: "held", intent: seen, reason };
  const to = seen.state === "assigned" ? "assigned" : "held";
  const held = await moveIntent(services.db, seen, to, code, reason, whenItExpires(seen, code));
  return held ? { kind: "held", intent: held, reason } : await getIntent(services.db, seen.id);
}

/** What is held for each thing that the rules of signing forbid for now. */
export const refusalHolds = { roles: "roles", day: "signer_day" } as const satisfies Record<RefusalReason, string>;

/** The lists of roles of a request, or the end of the service's rights, where they are not signed. */
export async function holdRoles(services: RelayContext, chain: Chain, intent: Intent): Promise<Step | null> {
  if (chain.relay.signsRoles || !handsOutRights(intent)) return null;
  return await holdIntent(services, chain, intent, refusalHolds.roles, rolesRefused);
}

/** What the signer does not sign now, as it names a reason. @throws the same error where it names none. */
export async function holdUnsigned(
  services: RelayContext,
  chain: Chain,
  { id }: Intent,
  error: unknown,
): Promise<Step> {
  if (!(error instanceof SignerError) || error.reason === null) throw error;
  const now = await getIntent(services.db, id);
  if (!isUnassigned(now) && now.state !== "assigned") return now;
  return await holdIntent(services, chain, now, refusalHolds[error.reason], error.message);
}

/** @param reason what the contract answered to the simulation. */
export async function holdRefused(services: RelayContext, chain: Chain, intent: Intent, reason: string): Promise<Step> {
  return await holdIntent(services, chain, intent, "simulation", `the contract would refuse it: ${reason}`);
}

/** The operator has carried it out by a transaction that is not known here: it ends as that, once that is final. */
export async function holdDone(services: RelayContext, chain: Chain, intent: Intent): Promise<Step> {
  return await holdIntent(
    services,
    chain,
    intent,
    doneElsewhere,
    "another transaction has done it, which is not final yet",
  );
}

/** Once it is held for another reason, it has the time again that it was accepted with. */
function whenItExpires({ kind, state, batch_lead }: Intent, holdReason: string) {
  if (kind === "deploy" || state === "assigned") return {};
  const expires =
    holdReason === "simulation"
      ? sql<Date>`least(expires_at, clock_timestamp() + make_interval(mins => ${refusedMinutes}))`
      : // One that was in a batch has the time that it was given after that.
        batch_lead
        ? sql<Date>`greatest(expires_at, created_at + interval '24 hours')`
        : sql<Date>`created_at + interval '24 hours'`;
  return { expires_at: expires };
}

/**
 * Whether what is reserved for an intent pays for its transaction.
 *
 * @param hasNonce whether others wait behind it: then only the chain's limits must have room for a raised reservation.
 * @returns what was simulated, with its fees; the step to take instead where the reservation pays too little: it was
 *   raised, or the intent is held.
 */
export async function withinReserved(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  ready: Preflight,
  hasNonce: boolean,
): Promise<{ ready: Preflight & { fees: Fees } } | { step: Step }> {
  const { fees, wanted, gas, dataWei } = ready;
  if (fees) return { ready: { ...ready, fees } };
  const hold = async (code: string, reason: string) => ({
    step: await holdIntent(services, chain, intent, code, reason),
  });
  if (!wanted) return await hold("fee", "the network's fees are over what may be paid here");
  const raised = await raiseGasReservation(services, chain, intent, gas * wanted.maxFeePerGas + dataWei, hasNonce);
  return raised
    ? { step: raised.intent }
    : await hold("budget", "the spending limits have no room for it at today's fees");
}
