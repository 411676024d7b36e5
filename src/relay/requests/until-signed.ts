import { setTimeout as sleep } from "node:timers/promises";
import { backoffMs } from "../../backoff.ts";
import type { Chain } from "../../chains.ts";
import { ServiceError } from "../../errors/errors.ts";
import { readChainPace } from "../chain/block-pace.ts";
import type { RelayContext } from "../chain/context.ts";
import { loggable } from "../chain/node-failure.ts";
import { replacesRecord } from "../chain/operation.ts";
import { getIntent, type Intent, lostRequest } from "../store/intents.ts";
import { broadcast } from "../submit/broadcast.ts";
import type { Preflight } from "../submit/preflight.ts";
import type { Submission } from "../submit/submission.ts";
import { submitIntent } from "../submit/submit-intent.ts";

const signWithinMs = 10_000;
/** An update waits for the one before it to be mined: two blocks, where those are slow. */
const mostTurnMs = 30_000;
const retryAfterMs = 200;
/** A transaction that a node refuses because an earlier nonce has not reached it. Later tries are the worker's. */
const earlyPause = { firstMs: 50, mostMs: 1_600 };
const mostTries = 6;

/**
 * Takes an accepted intent to signed, and starts sending it, as long as a request may last: when this returns, its
 * bytes are on disk and the relay finishes them whatever happens to this process.
 *
 * @returns the intent, in `signed` or any state after it.
 * @throws ServiceError `service_unavailable` when it could not be signed within ten seconds, or two blocks for an update
 *   (it stays queued, and the same request asks for it again); `value_error` when it ended before it was signed.
 */
export async function untilSigned(services: RelayContext, chain: Chain, intent: Intent): Promise<Intent> {
  const signed = await waitForSignature(services, chain, intent);
  if (signed.state === "signed") sendMeanwhile(services, chain, signed);
  return signed;
}

async function waitForSignature(services: RelayContext, chain: Chain, intent: Intent): Promise<Intent> {
  const begun = performance.now();
  let end = begun + signWithinMs;
  let waited = false;
  let ready: Preflight | null = null;
  for (let current = intent; ; current = await getIntent(services.db, intent.id)) {
    const submission = await trySubmit(services, chain, current, ready);
    if ("kind" in submission) {
      if (submission.kind === "signed") return submission.intent;
      if (submission.kind === "over") throw ended(submission.intent);
      if (!waited && replacesRecord(intent.kind)) end = begun + (await readTurnMs(services, chain));
      waited = true;
      if (submission.kind === "held" || performance.now() > end) throw notYet(submission.intent, submission.reason);
      ready = submission.ready;
    } else if (performance.now() > end) {
      throw notYet(current, submission.unavailable.message);
    }
    await sleep(retryAfterMs);
  }
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

async function trySubmit(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  ready: Preflight | null,
): Promise<Submission | { unavailable: ServiceError }> {
  try {
    return await submitIntent(services, chain, intent, ready);
  } catch (error) {
    if (error instanceof ServiceError && error.code === "service_unavailable") return { unavailable: error };
    throw error;
  }
}

function notYet(intent: Intent, reason: string): ServiceError {
  const expires = intent.expires_at.toISOString();
  return new ServiceError(
    "service_unavailable",
    `accepted but not sent yet: ${reason}. It stays queued until ${expires}; repeat the same request to ask for its hash`,
    { retryAfterSeconds: 10, details: { deployment: intent.id, expiresAt: expires, reason } },
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

function ended(intent: Intent): ServiceError {
  return new ServiceError(
    "value_error",
    `this request ended as ${intent.state} before it was sent; use a new Idempotency-Key for a new one`,
    { field: "idempotencyKey", details: { deployment: intent.id } },
  );
}

/** The answer does not wait for the node: the bytes are on disk, and what is lost here the worker sends. */
function sendMeanwhile(services: RelayContext, chain: Chain, intent: Intent): void {
  sendInTurn(services, chain, intent).catch((error: unknown) =>
    services.log.warn({ intent: intent.id, ...loggable(error) }, "sending is left to the worker"),
  );
}

async function sendInTurn(services: RelayContext, chain: Chain, intent: Intent): Promise<void> {
  const { order } = services.relay;
  await order.before(intent.id);
  for (let tries = 1; tries <= mostTries; tries += 1) {
    const sending = broadcast(services, chain, intent);
    order.pass(intent.id);
    const { early } = await sending;
    if (!early) return;
    await sleep(backoffMs(tries, earlyPause));
  }
}
