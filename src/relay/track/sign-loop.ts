import { setTimeout as sleep } from "node:timers/promises";
import { type Kysely, sql } from "kysely";
import { backoffMs } from "../../backoff.ts";
import type { Chain } from "../../chains.ts";
import type { Database } from "../../db/database.ts";
import { ServiceError } from "../../errors/errors.ts";
import type { Next, Pace, Rounds } from "../../rounds.ts";
import type { RelayContext } from "../chain/context.ts";
import { loggable } from "../chain/node-failure.ts";
import type { Intent } from "../store/intents.ts";
import { broadcast } from "../submit/broadcast.ts";
import type { Preflight } from "../submit/preflight.ts";
import type { Submission } from "../submit/submission.ts";
import { submitIntent } from "../submit/submit-intent.ts";
import { attend, type RelayMemory, type SignMemory, type Tried } from "./loop-steps.ts";
import { refreshWallets } from "./watch-wallets.ts";

/** As long as the most patient client waits that did not ask anew (requests/until-signed.ts). */
const waitSeconds = 35;
/** Requests that are worked on at once. */
const mostAtOnce = 128;
const againMs = 200;
/** Requests of so many milliseconds are read together. */
const gatherMs = 5;
const leaseSeconds = 3;
/** While another worker has the lease, nothing is looked for. */
const leasedElsewhereMs = 500;
/** What a simulation said is good for so long. */
const readyMs = 5_000;
/** A reason that changes with every try is not written as often. */
const sayAgainMs = 1_000;
/** A transaction that a node refuses because an earlier nonce has not reached it. Later tries are the resubmit loop's. */
const earlyPause = { firstMs: 50, mostMs: 1_600 };
const mostTries = 6;

/** Signs what clients wait for on a chain, until the signal. A wake-up ends its pause at once. */
export async function runSigning(
  services: RelayContext,
  chain: Chain,
  memory: RelayMemory,
  rounds: Rounds,
): Promise<void> {
  const pace: Pace = { periodMs: againMs, rests: true, retryMs: 2_000, eager: () => true };
  const log = services.log.child({ chain: chain.name, loop: "sign" });
  const naming = { log, failing: "relay loop failed", fields: loggable };
  await rounds.repeat(() => signRound(services, chain, memory), pace, naming);
  await Promise.all(memory.signing.working.values());
  await leaveLease(services.db, chain, memory.signing);
}

/**
 * Begins to sign whatever clients wait for on a chain now, each request on its own: those of one moment share questions,
 * the wallet's row and, where they may, a transaction (submit/). The submit loop takes what nobody works on here.
 * One worker of several does this; if two do it, the first commit of each step counts.
 */
async function signRound(services: RelayContext, chain: Chain, memory: RelayMemory): Promise<Next> {
  const { working, tried } = memory.signing;
  await sleep(gatherMs);
  if (performance.now() < memory.signing.leasedElsewhere) return "soon";
  forgetOld(tried);
  const asked = await listAsked(services.db, chain, memory.signing);
  if (asked.length + working.size + tried.size === 0) return "rest";
  if (asked.length === 0) return "soon";
  const away = await signerAway(services);
  // Its lease ends, and another worker may have a signer that answers.
  if (away) {
    for (const intent of asked) await remember(services.db, memory, intent, { reason: away });
    return "soon";
  }
  if (!(await holdsLease(services.db, chain, memory.signing))) return "soon";
  for (const intent of asked.slice(0, mostAtOnce - working.size)) {
    const work = sign(services, chain, intent, memory).finally(() => working.delete(intent.id));
    working.set(intent.id, work);
  }
  return "soon";
}

/** The clients that asked for them have stopped waiting. */
function forgetOld(tried: Map<string, Tried>): void {
  const before = performance.now() - waitSeconds * 1_000;
  for (const [id, { askedSince }] of tried) if (askedSince < before) tried.delete(id);
}

/** @returns why nothing can be signed now; null when it can. */
async function signerAway({ relay }: RelayContext): Promise<string | null> {
  try {
    await relay.signing.requireAnswer();
    return null;
  } catch (error) {
    if (error instanceof ServiceError && error.code === "service_unavailable") return error.message;
    throw error;
  }
}

/** Another worker goes on at once. */
async function leaveLease(db: Kysely<Database>, { id }: Chain, { worker }: SignMemory): Promise<void> {
  const leaving = sql`
    UPDATE service.signing_worker SET until = clock_timestamp() WHERE chain_id = ${id} AND worker = ${worker}`;
  await leaving.execute(db).catch(() => undefined);
}

/** With when its client asked last. */
export type Asked = Intent & { asked_at: Date };

/**
 * The first ones that are to be tried now, in the order of acceptance. Those that are worked on, were tried a moment ago, or
 * are held since they were asked for take no places of others.
 */
async function listAsked(db: Kysely<Database>, { id }: Chain, { working, tried }: SignMemory): Promise<Asked[]> {
  const recently = performance.now() - againMs;
  const later = [...tried].filter(([, { held, at }]) => held || at > recently);
  const since = sql`clock_timestamp() - make_interval(secs => ${waitSeconds})`;
  const { rows } = await sql<Asked>`
    SELECT i.*, asked.at AS asked_at
    FROM (SELECT each.id, max(each.at) AS at FROM (
        SELECT n.id, n.created_at AS at FROM service.intent n
        WHERE n.chain_id = ${id} AND n.state IN ('queued', 'held', 'assigned') AND n.created_at > ${since}
        UNION ALL
        SELECT w.intent_id, w.asked_at FROM service.signature_wait w WHERE w.chain_id = ${id} AND w.asked_at > ${since}) each
      GROUP BY each.id) asked
    JOIN service.intent i ON i.id = asked.id
    WHERE i.state IN ('queued', 'held', 'assigned') AND i.id <> ALL (${[...working.keys()]}::uuid[])
      AND NOT EXISTS (
        SELECT FROM unnest(${later.map(([name]) => name)}::uuid[], ${later.map(([, { askedAt }]) => askedAt)}::timestamptz[]) AS t (id, at)
        WHERE t.id = i.id AND t.at = date_trunc('milliseconds', asked.at))
    -- Those that wait for their turn are tried again and again, and must not keep others from being tried at all.
    ORDER BY i.id = ANY (${[...tried.keys()]}::uuid[]), i.seq LIMIT ${mostAtOnce}`.execute(db);
  return rows;
}

async function holdsLease(db: Kysely<Database>, { id }: Chain, signing: SignMemory): Promise<boolean> {
  const now = performance.now();
  if (now < signing.leasedUntil - (leaseSeconds * 1_000) / 2) return true;
  const { rows } = await sql`
    INSERT INTO service.signing_worker AS held (chain_id, worker, until)
    VALUES (${id}, ${signing.worker}, clock_timestamp() + make_interval(secs => ${leaseSeconds}))
    ON CONFLICT (chain_id) DO UPDATE SET worker = excluded.worker, until = excluded.until
      WHERE held.worker = excluded.worker OR held.until < clock_timestamp()
    RETURNING 1`.execute(db);
  if (rows.length === 0) {
    signing.leasedElsewhere = now + leasedElsewhereMs;
    return false;
  }
  // Counted from before the question: the database's lease ends later than this.
  signing.leasedUntil = now + leaseSeconds * 1_000;
  const old = sql`asked_at < clock_timestamp() - interval '1 hour'`;
  await sql`DELETE FROM service.signature_wait WHERE chain_id = ${id} AND ${old}`.execute(db);
  return true;
}

/** One try. What keeps it is remembered, and told to the client; never fails. */
export async function sign(services: RelayContext, chain: Chain, intent: Asked, memory: RelayMemory): Promise<void> {
  const { tried } = memory.signing;
  const last = tried.get(intent.id);
  const known = last?.ready && performance.now() - last.readyAt < readyMs ? last.ready : null;
  await attend(services, intent, async () => {
    // Whatever breaks it, it is not tried again at once.
    await remember(services.db, memory, intent, { reason: last?.reason ?? null, ready: known });
    // Nobody else looks at the wallets while every request of a chain is held, and tried again and again for its client.
    if (intent.state === "held") await refreshWallets(services, chain, memory).catch(() => undefined);
    const submission = await trySubmit(services, chain, intent, known);
    if ("unavailable" in submission)
      return await remember(services.db, memory, intent, { reason: submission.unavailable.message });
    const { kind, intent: now } = submission;
    if (kind === "waiting") return await remember(services.db, memory, intent, submission);
    // Its row has the reason, but of one that is being cancelled.
    if (kind === "held")
      return await remember(services.db, memory, intent, {
        held: true,
        reason: now.hold_reason === null ? submission.reason : null,
      });
    tried.delete(intent.id);
    if (now.state === "signed") sendMeanwhile(services, chain, now, memory);
    else services.relay.order.pass(intent.id);
  });
}

/** @param tried `reason`: why it waits, for its client, who is told so when its time is over. */
async function remember(
  db: Kysely<Database>,
  { signing: { tried } }: RelayMemory,
  { id, chain_id: chainId, asked_at: askedAt }: Asked,
  { held = false, ready = null, reason = null }: Partial<Pick<Tried, "held" | "ready" | "reason">>,
): Promise<void> {
  const last = tried.get(id);
  // What was said of it is gone when its client asks again.
  const before = last?.askedAt.getTime() === askedAt.getTime() ? last : undefined;
  const now = performance.now();
  const readyAt = ready !== null && ready === before?.ready ? before.readyAt : now;
  const next = { askedAt, askedSince: before?.askedSince ?? now, at: now, held, ready, readyAt, reason };
  tried.set(id, { ...next, saidAt: before?.saidAt ?? Number.NEGATIVE_INFINITY });
  if (reason === null || (before?.reason === reason && before.saidAt > 0)) return;
  if (before && now - before.saidAt < sayAgainMs) return;
  await sql`
    INSERT INTO service.signature_wait (intent_id, chain_id, asked_at, reason) VALUES (${id}, ${chainId}, ${askedAt}, ${reason})
    ON CONFLICT (intent_id) DO UPDATE SET reason = excluded.reason`.execute(db);
  tried.set(id, { ...next, saidAt: now });
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

/** Who waits for the signature does not wait for the node: the bytes are on disk, and what is lost here is sent again. */
function sendMeanwhile(services: RelayContext, chain: Chain, intent: Intent, memory: RelayMemory): void {
  memory.sent.set(intent.id, performance.now());
  sendInTurn(services, chain, intent).catch((error: unknown) =>
    services.log.warn({ intent: intent.id, ...loggable(error) }, "sending is left to the resubmit loop"),
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
