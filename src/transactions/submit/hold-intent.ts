import { type Kysely, sql } from "kysely";
import type { Chain } from "../../chains.ts";
import type { Database } from "../../db/database.ts";
import { type RefusalReason, rolesRefused } from "../../signing/rules.ts";
import { SignerError } from "../../signing/trouble.ts";
import type { RelayContext } from "../chain/context.ts";
import type { Fees } from "../chain/fees.ts";
import { getIntent, type Intent, isUnassigned, moveIntent } from "../store/intents.ts";
import { handsOutRights } from "../store/payloads.ts";
import { fullLimit, type Limit, limitsOf } from "./budget.ts";
import type { Preflight } from "./preflight.ts";

/** The result of one step of an intent: how far it came, or the intent's current row, for the next step. */
export type Step =
  /** Its bytes are on disk: it will be finished whatever happens to this process. */
  | { kind: "signed"; intent: Intent }
  /** Not signed yet; trying again in a moment may help. */
  | { kind: "waiting"; intent: Intent; reason: string }
  /** Not signed until something changes: funds, the wallet, the result of the simulation. */
  | { kind: "held"; intent: Intent; reason: string }
  /** It ended without a transaction. */
  | { kind: "over"; intent: Intent }
  | Intent;

/** Short, as a refused request blocks later updates and its token id, and old clients cannot cancel it. */
const refusedMinutes = 10;

/** Hold reason of a request that the chain already shows as done: it does not expire. */
export const doneElsewhere = "done_elsewhere";

/**
 * Records why an intent cannot be signed now. Without a nonce it becomes `held`; with one it stays `assigned`, because
 * the wallet waits behind its nonce until the simulation passes.
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
  // With a nonce it is tried again in every round; the same answer is no news.
  if (seen.state === "assigned" && seen.hold_reason === code && seen.hold_detail === reason)
    return { kind: "held", intent: seen, reason };
  const to = seen.state === "assigned" ? "assigned" : "held";
  const held = await moveIntent(services.db, seen, to, code, reason, whenItExpires(seen, code));
  return held ? { kind: "held", intent: held, reason } : await getIntent(services.db, seen.id);
}

/** The hold reason for each order that the signing rules refuse for now. */
export const refusalHolds = { roles: "roles", day: "signer_day" } as const satisfies Record<RefusalReason, string>;

/** Holds a request that sets role lists or ends the service's rights, where these are not signed. */
export async function holdRoles(services: RelayContext, chain: Chain, intent: Intent): Promise<Step | null> {
  if (chain.relay.signsRoles || !handsOutRights(intent)) return null;
  return await holdIntent(services, chain, intent, refusalHolds.roles, rolesRefused);
}

/** Holds what the signer refuses for now, under the signer's reason. @throws the same error if it gives none. */
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

/** @param reason the contract's answer to the simulation. */
export async function holdRefused(services: RelayContext, chain: Chain, intent: Intent, reason: string): Promise<Step> {
  return await holdIntent(services, chain, intent, "simulation", `the contract would refuse it: ${reason}`);
}

/** The operator carried it out by a transaction unknown here: the request ends with that one, once it is final. */
export async function holdDone(services: RelayContext, chain: Chain, intent: Intent): Promise<Step> {
  return await holdIntent(
    services,
    chain,
    intent,
    doneElsewhere,
    "another transaction has done it, which is not final yet",
  );
}

/** Held for another reason later, it gets the full time again that it was accepted with. */
function whenItExpires({ kind, state, batch_lead }: Intent, holdReason: string) {
  if (kind === "deploy" || state === "assigned") return {};
  const expires =
    holdReason === "simulation"
      ? sql<Date>`least(expires_at, clock_timestamp() + make_interval(mins => ${refusedMinutes}))`
      : // After it left a batch, it keeps the time that it was given then.
        batch_lead
        ? sql<Date>`greatest(expires_at, created_at + interval '24 hours')`
        : sql<Date>`created_at + interval '24 hours'`;
  return { expires_at: expires };
}

/**
 * Checks whether an intent's reservation pays for its transaction.
 *
 * @param hasNonce whether others wait behind it: then a raised reservation counts against the chain's limits only.
 * @returns the simulated transaction with its fees; or, if the reservation is too small, the step to take instead: it
 *   was raised, or the intent is held.
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

/**
 * Raises an intent's reservation, since fees or gas are higher than when it was accepted. Nothing is ever signed that
 * could cost more than its reservation, so spending stays within the limits whatever fees do.
 *
 * With a nonce it only needs budget in the chain's limits, part of which is kept for this: others wait behind its
 * nonce, and must not wait for one account's day to end.
 *
 * @param hasNonce whether others wait behind it.
 * @returns the intent's current row, and whether it was raised: not when another process moved it; null when a limit is
 *   exhausted.
 */
export async function raiseGasReservation(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  wei: bigint,
  hasNonce: boolean,
): Promise<{ intent: Intent; raised: boolean } | null> {
  const limits = await limitsToRaise(services, services.db, chain, intent, wei);
  let raised: boolean;
  try {
    raised = await raise(services.db, intent, wei, limits, ({ scope }) => !hasNonce || scope.startsWith("chain"));
  } catch (error) {
    const full = fullLimit(limits, error);
    if (!full) throw error;
    services.log.warn({ intent: intent.id, wei, limit: full.scope }, "a spending limit has no room for today's fees");
    return null;
  }
  return { intent: await getIntent(services.db, intent.id), raised };
}

/**
 * Reserves the possible cost of recovered bytes for the intent that they belong to, unless it has reserved as much
 * already: a retry has no reservation before it is signed. The bytes are signed, so no limit can refuse them. Each
 * limit reserves what it has left, and the chain's limits count the whole cost once it is in a block.
 *
 * @param db the transaction that gives the intent its nonce.
 * @returns the intent's new row; null when another process moved it.
 */
export async function reserveFound(
  services: RelayContext,
  db: Kysely<Database>,
  chain: Chain,
  intent: Intent,
  wei: bigint,
): Promise<Intent | null> {
  if (BigInt(intent.reserved_wei) >= wei) return intent;
  const limits = await limitsToRaise(services, db, chain, intent, wei);
  return (await raise(db, intent, wei, limits, () => false)) ? await getIntent(db, intent.id) : null;
}

async function limitsToRaise(
  services: RelayContext,
  db: Kysely<Database>,
  chain: Chain,
  intent: Intent,
  wei: bigint,
): Promise<Limit[]> {
  const { tier } = await db
    .selectFrom("service.account")
    .select("tier")
    .where("id", "=", intent.tenant_id)
    .executeTakeFirstOrThrow();
  return limitsOf(services, chain, { tenantId: intent.tenant_id, tier }, wei, "raise");
}

/** @returns false when another process moved the intent. */
async function raise(
  db: Kysely<Database>,
  { id, version }: Intent,
  wei: bigint,
  limits: readonly Limit[],
  isNeeded: (limit: Limit) => boolean,
): Promise<boolean> {
  const column = (name: "scope" | "unit" | "amount" | "allowed") => limits.map((limit) => String(limit[name]));
  const { rows } = await sql<{ raised: boolean }>`SELECT service.raise_reservation(${id}::uuid, ${version}::int,
    ${String(wei)}::numeric, ${column("scope")}::text[], ${column("unit")}::text[], ${column("amount")}::numeric[],
    ${column("allowed")}::numeric[], ${limits.map(isNeeded)}::boolean[]) AS raised`.execute(db);
  return rows[0]?.raised ?? false;
}
