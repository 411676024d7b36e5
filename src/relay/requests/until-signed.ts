import { type Kysely, sql } from "kysely";
import type { Chain } from "../../chains.ts";
import type { Database } from "../../db/database.ts";
import type { IntentState } from "../../db/tables/relay.ts";
import { ServiceError } from "../../errors/errors.ts";
import { readChainPace } from "../chain/block-pace.ts";
import type { RelayContext } from "../chain/context.ts";
import { replacesRecord } from "../chain/operation.ts";
import { type Intent, lostRequest } from "../store/intents.ts";
import type { SignatureLooks, Signing } from "./signature-looks.ts";

const signWithinMs = 10_000;
/** An update waits for the one before it to be mined: two blocks, where those are slow. */
const mostTurnMs = 30_000;
/** A worker tries again and again what was asked for lately (submit-loop.ts). What was not, or is held, is asked for anew. */
const askedSeconds = 5;
/** If a request with a nonce is held again for the same reason, its row does not change; after this time it counts as tried. */
const triedSeconds = 1;

/**
 * Waits as long as a request may last until a worker has signed an accepted request: then its bytes are on disk, and the
 * relay finishes them whatever happens to this process, which signs nothing itself.
 *
 * @throws ServiceError `service_unavailable` when it was not signed within ten seconds, or two blocks for an update (it
 *   stays queued, and the same request asks for it again); `value_error` when it ended before it was signed.
 */
export async function untilSigned(
  services: RelayContext & { signatures: SignatureLooks },
  chain: Chain,
  intent: Intent,
): Promise<void> {
  const { id } = intent;
  if (isSigned({ state: intent.state, lead_state: null })) return;
  const look = async (ends: (seen: Signing) => boolean, ms: number) => {
    const seen = await services.signatures.until(id, ends, ms);
    if (!seen) throw lostRequest();
    return seen;
  };
  const before = await look(() => true, 0);
  if (isSigned(before)) return;
  const asksAgain = !isOver(before) && (before.hold_reason !== null || before.asked_seconds > askedSeconds);
  if (asksAgain) await askSignature(services.db, id);
  const ms = replacesRecord(intent.kind) ? await readTurnMs(services, chain) : signWithinMs;
  // What was held before this request asked is tried once more.
  const isHeld = (seen: Signing) =>
    seen.hold_reason !== null &&
    (!asksAgain || seen.version !== before.version || (seen.state === "assigned" && seen.asked_seconds > triedSeconds));
  const seen = await look((now) => isSigned(now) || isOver(now) || isHeld(now), ms);
  if (isSigned(seen)) return;
  // Nothing has been committed since it was accepted: this brings that to the disk (accept-intent.ts).
  if (seen.version === 0 && seen.reason === null) await askSignature(services.db, id);
  throw isOver(seen) ? ended(seen) : notYet(seen);
}

async function askSignature(db: Kysely<Database>, id: string): Promise<void> {
  await sql`SELECT service.ask_signature(${id})`.execute(db);
}

/** A development chain makes its blocks at once, or when it is told to. */
async function readTurnMs(services: RelayContext, chain: Chain): Promise<number> {
  return chain.local
    ? signWithinMs
    : turnMs((await readChainPace(services.relay.nodes(chain), chain))?.blockMs ?? null);
}

/** How long an update waits for its turn, in milliseconds. @param blockMs the chain's block time; null: not known. */
export function turnMs(blockMs: bigint | null): number {
  return Math.min(Math.max(signWithinMs, 2 * Number(blockMs ?? 0n)), mostTurnMs);
}

const unsigned: ReadonlySet<IntentState> = new Set(["queued", "held", "assigned", "nonce_conflict", "retried"]);
const over: ReadonlySet<IntentState> = new Set(["cancelled", "expired"]);
/** Of the lead of a batch: its transaction is not signed yet, will not be mined, or did nothing. */
const leadWithout: ReadonlySet<IntentState> = new Set([...unsigned, "cancelled"]);

function isSigned({ state, lead_state }: Pick<Signing, "state" | "lead_state">): boolean {
  if (state === "batched") return lead_state !== null && !leadWithout.has(lead_state);
  return !unsigned.has(state) && !over.has(state);
}

function isOver({ state }: Signing): boolean {
  return over.has(state);
}

function whyNot({ state, lead_state, hold_reason, hold_detail, reason }: Signing): string {
  if (hold_reason !== null) return hold_detail ?? hold_reason;
  if (state === "nonce_conflict") return "its nonce was used up without its effect";
  if (state === "batched")
    return lead_state === "assigned"
      ? "the transaction that it shares is being signed"
      : "the transaction that it shared came to nothing; it goes on alone once that is final";
  return reason ?? "no worker has signed it yet";
}

function notYet(seen: Signing): ServiceError {
  const expires = seen.expires_at.toISOString();
  const reason = whyNot(seen);
  return new ServiceError(
    "service_unavailable",
    `accepted but not sent yet: ${reason}. It stays queued until ${expires}; repeat the same request to ask for its hash`,
    { retryAfterSeconds: 10, details: { deployment: seen.id, expiresAt: expires, reason } },
  );
}

/** For a request whose nonce was lost with its rows: the worker ends it or gives it another one (lifecycle.ts). */
export function withoutHash({ id }: Intent, state: Intent["state"]): ServiceError {
  return new ServiceError(
    "service_unavailable",
    `accepted, and its transaction is being looked for (${state}); repeat the same request to ask for its hash`,
    { retryAfterSeconds: 10, details: { deployment: id } },
  );
}

/** For a read of what was accepted a moment ago: it cannot be unknown, unless its row was lost since. */
export function asLost(error: unknown): never {
  throw error instanceof ServiceError && error.code === "not_found" ? lostRequest() : error;
}

function ended({ id, state }: Signing): ServiceError {
  return new ServiceError(
    "value_error",
    `this request ended as ${state} before it was sent; use a new Idempotency-Key for a new one`,
    { field: "idempotencyKey", details: { deployment: id } },
  );
}
