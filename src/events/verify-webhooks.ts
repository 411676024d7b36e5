import { randomBytes, randomUUID } from "node:crypto";
import type { Poster } from "../outbound/post.ts";
import { signedHeaders } from "../outbox/sign-webhook.ts";
import type { Services } from "../services.ts";
import type { HostRates } from "./host-rates.ts";
import { challengePauses, challengesOfEndpoint, jitter, mostChallenges, untilMorning } from "./retry-schedule.ts";
import { countChallenge } from "./webhook-figures.ts";
import { type ClaimedWebhook, type DeliveryTry, restsUnverified, signingKeysOf } from "./webhook-record.ts";
import { goneStatus, type Hold, slowMs } from "./webhook-results.ts";

/*
 * A new endpoint is asked whether it wants the messages: the account that made it may not own the server in its URL.
 * Only a receiver that reads the message can give the right answer, which has the challenge in another position than
 * the message. A server that echoes requests, or answers everything with success, does not pass.
 */

const challengeBytes = 32;

/** Sends a challenge to one endpoint, and records its answer. It only rejects if the database fails. */
export async function challengeWebhook(
  services: Services,
  poster: Poster,
  row: ClaimedWebhook,
  { rates, signal }: { rates: HostRates; signal: AbortSignal },
): Promise<void> {
  if (!services.config.webhooks.handshake) return await takeUnverified(services);
  if (restsUnverified(row)) return await giveBack(services, row, null);
  const hold = await admit(services, row, rates);
  if (hold) return await giveBack(services, row, hold);
  const { tried, retryAfterSeconds } = await send(services, poster, row, signal);
  if (signal.aborted && tried.status === null) return await giveBack(services, row, { reason: "rate", seconds: 0 });
  await note(services, row, tried, retryAfterSeconds);
  countChallenge(services, tried.fault === null);
}

/** The challenge, as text, as JSON or as a member of an object, proves that the receiver has read the message. */
export function answersChallenge(answer: string, challenge: string): boolean {
  const text = answer.trim();
  if (text === challenge) return true;
  try {
    const value: unknown = JSON.parse(text);
    return value === challenge || (value as { challenge?: unknown } | null)?.challenge === challenge;
  } catch {
    return false;
  }
}

/** Marks all endpoints as verified, where the operator has switched the handshake off. */
export async function takeUnverified({ pool }: Pick<Services, "pool">): Promise<void> {
  await pool.query(
    `UPDATE service.webhook SET verified_at = clock_timestamp(), held = NULL, lease_id = NULL, lease_until = NULL,
       next_due = clock_timestamp() WHERE verified_at IS NULL`,
  );
}

/** @returns the try; its `fault` is null for a correct answer. */
async function send(
  { config: { keyPepper } }: Pick<Services, "config">,
  poster: Poster,
  row: ClaimedWebhook,
  signal: AbortSignal,
): Promise<{ tried: DeliveryTry; retryAfterSeconds: number | null }> {
  const at = new Date();
  const challenge = randomBytes(challengeBytes).toString("base64url");
  const id = `evt_${randomUUID().replaceAll("-", "")}`;
  const data = { id, webhook: row.id, challenge };
  const body = JSON.stringify({ type: "webhook.verification", timestamp: at.toISOString(), data });
  const headers = signedHeaders(signingKeysOf(row, keyPepper), { id, seconds: Math.floor(at.getTime() / 1_000), body });
  const started = performance.now();
  const posted = await poster.post(row.url, headers, body, signal);
  const tried = { attempt: row.challenges + 1, at, milliseconds: Math.round(performance.now() - started) };
  if ("fault" in posted)
    return { tried: { ...tried, status: null, fault: posted.fault, answer: null }, retryAfterSeconds: null };
  const { status, answer, retryAfterSeconds } = posted;
  const isRight = status >= 200 && status < 300 && answersChallenge(answer, challenge);
  return { tried: { ...tried, status, fault: isRight ? null : "no_challenge", answer }, retryAfterSeconds };
}

/** @returns why no challenge may be sent now; null: one was charged, and is to be sent. */
async function admit(
  { config, pool }: Pick<Services, "config" | "pool">,
  { account_id: account, url }: ClaimedWebhook,
  rates: HostRates,
): Promise<Hold | null> {
  if (account === null) return null;
  if (config.rateLimits) {
    const { granted, waitSeconds } = rates.take(url, account, 1);
    if (granted === 0) return { reason: "rate", seconds: waitSeconds };
  }
  const { rows } = await pool.query<{ taken: boolean }>("SELECT service.take_webhook_challenge($1, $2) AS taken", [
    account,
    challengesOfEndpoint,
  ]);
  return rows[0]?.taken ? null : { reason: "tries", seconds: untilMorning() };
}

/** Records a try and releases the endpoint. After a change of URL it ignores the answer and challenges the new one. */
async function note(
  { pool }: Pick<Services, "pool">,
  row: ClaimedWebhook,
  tried: DeliveryTry,
  retryAfterSeconds: number | null,
): Promise<void> {
  const isSlow = tried.fault !== null || tried.milliseconds > slowMs;
  const isGone = tried.status === goneStatus;
  const pauses = isGone
    ? []
    : challengePauses.map((pause) => Math.max(retryAfterSeconds ?? 0, pause * (1 + jitter * Math.random())));
  await pool.query(
    `UPDATE service.webhook w SET lease_id = NULL, lease_until = NULL,
       verified_at = CASE WHEN w.url = $3 AND $4 THEN clock_timestamp() END,
       held = CASE WHEN w.url = $3 AND $4 THEN NULL ELSE 'verification' END,
       challenges = CASE WHEN w.url <> $3 THEN w.challenges WHEN $5 THEN ${mostChallenges} ELSE w.challenges + 1 END,
       challenge_try = CASE WHEN w.url = $3 THEN $6::jsonb ELSE w.challenge_try END,
       slow = $7, proven = NOT $7, failures = 0, failing_since = NULL,
       -- Beyond the last pause there is none.
       next_due = clock_timestamp() + CASE WHEN w.url = $3 AND NOT $4 THEN ($8::double precision[])[w.challenges + 1] ELSE 0 END
         * interval '1 second'
     WHERE w.id = $1 AND w.lease_id = $2 AND w.verified_at IS NULL`,
    [...[row.id, row.lease_id, row.url, tried.fault === null, isGone, JSON.stringify(tried), isSlow], pauses],
  );
}

/** @param hold null: no challenge is sent until its owner asks. */
async function giveBack(
  { pool }: Pick<Services, "pool">,
  { id, lease_id: lease }: ClaimedWebhook,
  hold: Hold | null,
): Promise<void> {
  await pool.query(
    `UPDATE service.webhook SET lease_id = NULL, lease_until = NULL, held = coalesce($3, 'verification'),
       next_due = clock_timestamp() + $4 * interval '1 second' WHERE id = $1 AND lease_id = $2`,
    [id, lease, hold?.reason ?? null, hold?.seconds ?? null],
  );
}
