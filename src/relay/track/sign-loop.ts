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

/** As long as the most patient client waits (requests/until-signed.ts). */
const waitSeconds = 30;
/** Requests that are worked on at once. */
const mostAtOnce = 128;
const againMs = 200;
/** While requests come, those of so many milliseconds are read together. */
const gatherMs = 5;
const leaseSeconds = 3;
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
 * the wallet's row and, where they may, a transaction (submit/). What is not signed in time is left to the submit loop.
 * One worker of several does this; should two do it, each step is taken by whoever commits it first.
 */
async function signRound(services: RelayContext, chain: Chain, memory: RelayMemory): Promise<Next> {
  const { working, tried } = memory.signing;
  if (working.size > 0) await sleep(gatherMs);
  const asked = await listAsked(services.db, chain, [...working.keys()]);
  const ids = new Set(asked.map(({ id }) => id));
  for (const id of tried.keys()) if (!ids.has(id) && !working.has(id)) tried.delete(id);
  if (asked.length + working.size === 0) return "rest";
  const away = await signerAway(services);
  // Its lease ends, and another worker may have a signer that answers.
  if (away) {
    for (const intent of asked)
      if (isDue(intent, tried.get(intent.id))) await remember(services.db, memory, intent, { reason: away });
    return "soon";
  }
  if (!(await holdsLease(services.db, chain, memory.signing))) return "soon";
  for (const intent of asked) {
    if (working.size >= mostAtOnce) break;
    if (!isDue(intent, tried.get(intent.id))) continue;
    const work = sign(services, chain, intent, memory).finally(() => working.delete(intent.id));
    working.set(intent.id, work);
  }
  return "soon";
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

/** @param besides those that are worked on. @returns the first ones in the order of acceptance. */
async function listAsked(db: Kysely<Database>, { id }: Chain, besides: readonly string[]): Promise<Asked[]> {
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
    WHERE i.state IN ('queued', 'held', 'assigned') AND i.id <> ALL (${besides}::uuid[])
    ORDER BY i.seq LIMIT ${2 * mostAtOnce}`.execute(db);
  return rows;
}

function isDue({ asked_at: askedAt }: Asked, last: Tried | undefined): boolean {
  if (!last || last.askedAt !== askedAt.getTime()) return true;
  return !last.held && performance.now() - last.at >= againMs;
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
  // Counted from before the question: the database's lease ends later than this.
  if (rows.length > 0) signing.leasedUntil = now + leaseSeconds * 1_000;
  await sql`DELETE FROM service.signature_wait WHERE chain_id = ${id} AND asked_at < clock_timestamp() - interval '1 hour'`.execute(
    db,
  );
  return rows.length > 0;
}

/** One try. What keeps it is remembered, and told to the client; never fails. */
export async function sign(services: RelayContext, chain: Chain, intent: Asked, memory: RelayMemory): Promise<void> {
  const before = memory.signing.tried.get(intent.id);
  await attend(services, intent, async () => {
    const submission = await trySubmit(services, chain, intent, before?.ready ?? null);
    if ("unavailable" in submission)
      return await remember(services.db, memory, intent, { reason: submission.unavailable.message });
    const { kind, intent: now } = submission;
    if (kind === "signed" && now.state === "signed") sendMeanwhile(services, chain, now, memory);
    if (kind === "waiting") await remember(services.db, memory, intent, submission);
    if (kind === "held") await remember(services.db, memory, intent, { held: true });
  });
  // Whatever broke it, it is not tried again at once.
  if (memory.signing.tried.get(intent.id) === before) await remember(services.db, memory, intent, {});
}

/** @param tried `reason`: why it waits, for its client, who is told so when its time is over. */
async function remember(
  db: Kysely<Database>,
  { signing: { tried } }: RelayMemory,
  { id, chain_id: chainId, asked_at: askedAt }: Asked,
  { held = false, ready = null, reason = null }: Partial<Pick<Tried, "held" | "ready" | "reason">>,
): Promise<void> {
  const before = tried.get(id);
  tried.set(id, { askedAt: askedAt.getTime(), at: performance.now(), held, ready, reason });
  if (reason === null || reason === before?.reason) return;
  await sql`
    INSERT INTO service.signature_wait (intent_id, chain_id, asked_at, reason) VALUES (${id}, ${chainId}, ${askedAt}, ${reason})
    ON CONFLICT (intent_id) DO UPDATE SET reason = excluded.reason`.execute(db);
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
