import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import type { Chain } from "../../chains.ts";
import type { IntentKind } from "../../db/tables/relay.ts";
import { ServiceError } from "../../errors/errors.ts";
import type { Next, Pace, Rounds } from "../../rounds.ts";
import { loggable } from "../../rpc/nodes.ts";
import type { RelayContext } from "../chain/context.ts";
import { isIntentDone } from "../chain/done-elsewhere.ts";
import { endedStates, unassignedStates } from "../lifecycle.ts";
import { type Intent, moveIntent } from "../store/intents.ts";
import { broadcast } from "../submit/broadcast.ts";
import { mostMints } from "../submit/form-batch.ts";
import { doneElsewhere, holdDone } from "../submit/hold-intent.ts";
import { mayShare, shareName } from "../submit/preflight.ts";
import { submitIntent } from "../submit/submit-intent.ts";
import { attend, inParallel, type RelayMemory, type Tried } from "./loop-steps.ts";
import { refreshWallets } from "./watch-wallets.ts";

/** Younger requests are left to the loop that signs for waiting clients. */
export const freshMs = 1_000;
const retryHeldMs = 5_000;
/** Intents per page; the rest are left to the next round. */
const page = 100;
/** As long as the most patient client waits without asking again (accept/until-signed.ts). */
const patientSeconds = 35;

const unsigned = sql.join([...unassignedStates, "assigned"].map((state) => sql.lit(state)));

/** A request, and when its client last asked, by the database's clock. */
type AskedIntent = Intent & { asked_at: Date };

/**
 * The first requests whose clients wait for a signature and that are to be tried now, in the order of acceptance.
 *
 * @param working requests that are being worked on.
 * @param tried requests that were tried before, in any order.
 * @param later tried requests that must wait, unless their client has asked again since `askedAt`.
 */
async function listAsked(
  { db }: RelayContext,
  { id }: Chain,
  limit: number,
  { working, tried, later }: { working: string[]; tried: string[]; later: { id: string; askedAt: Date }[] },
): Promise<AskedIntent[]> {
  const since = sql`clock_timestamp() - make_interval(secs => ${patientSeconds})`;
  const { rows } = await sql<AskedIntent>`
    SELECT i.*, asked.at AS asked_at
    FROM (SELECT each.id, max(each.at) AS at FROM (
        SELECT n.id, n.created_at AS at FROM service.intent n
        WHERE n.chain_id = ${id} AND n.state IN (${unsigned}) AND n.created_at > ${since}
        UNION ALL
        SELECT w.intent_id, w.asked_at FROM service.signature_wait w WHERE w.chain_id = ${id} AND w.asked_at > ${since}) each
      GROUP BY each.id) asked
    JOIN service.intent i ON i.id = asked.id
    WHERE i.state IN (${unsigned}) AND i.id <> ALL (${working}::uuid[])
      AND NOT EXISTS (
        SELECT FROM unnest(${later.map((each) => each.id)}::uuid[], ${later.map(({ askedAt }) => askedAt)}::timestamptz[]) AS t (id, at)
        WHERE t.id = i.id AND t.at = date_trunc('milliseconds', asked.at))
    -- Those that wait for their turn are tried again and again, and must not keep others from being tried at all.
    ORDER BY i.id = ANY (${tried}::uuid[]), i.seq LIMIT ${limit}`.execute(db);
  return rows;
}

/**
 * A page of the intents without signed bytes, fresh ones left out, in the order of acceptance, with or without a client
 * waiting. Of a contract's updates only the first one in no block can be tried; others would fill the page for nothing.
 *
 * @param after the order of acceptance (`seq`) to continue after.
 * @returns fewer than a page when there are no more.
 */
async function listUnsigned(
  services: RelayContext,
  chain: Chain,
  after: bigint,
): Promise<{ intents: Intent[]; more: boolean }> {
  const over = sql.join([...endedStates, "confirmed", "mined"].map((state) => sql.lit(state)));
  const isFirst = (kind: IntentKind) => sql<boolean>`(i.kind <> ${sql.lit(kind)} OR NOT EXISTS (
    SELECT FROM service.intent e
    WHERE e.kind = ${sql.lit(kind)} AND e.chain_id = i.chain_id AND e.predicted_addr = i.predicted_addr AND e.seq < i.seq
      AND e.state NOT IN (${over})))`;
  const intents = await services.db
    .selectFrom("service.intent as i")
    .selectAll()
    .where("i.chain_id", "=", chain.id)
    .where(sql<boolean>`i.state IN (${unsigned})`)
    .where("i.seq", ">", after)
    .where(sql<boolean>`i.updated_at < CASE i.state WHEN 'held' THEN ${msAgo(retryHeldMs)} ELSE ${msAgo(freshMs)} END`)
    .where(isFirst("update"))
    .where(isFirst("contract_update"))
    .orderBy("i.seq")
    .limit(page)
    .execute();
  return { intents, more: intents.length === page };
}

function msAgo(ms: number) {
  return sql`clock_timestamp() - ${ms}::float8 * interval '1 millisecond'`;
}

/**
 * Expires requests that were not sent in time. For requests that the operator carries out the chain is asked first:
 * rows may have been lost, and a client that learns that nothing was done would have it done a second time.
 */
async function expireIntents(services: RelayContext, chain: Chain): Promise<void> {
  await services.db
    .updateTable("service.intent")
    .set((update) => ({ state: "expired", version: update("version", "+", 1) }))
    .where("chain_id", "=", chain.id)
    .where("state", "in", [...unassignedStates])
    .where("kind", "in", ["deploy", "update"])
    .where("expires_at", "<", sql<Date>`clock_timestamp()`)
    .execute();
  const operations = await services.db
    .selectFrom("service.intent")
    .selectAll()
    .where("chain_id", "=", chain.id)
    .where("state", "in", [...unassignedStates])
    .where("kind", "not in", ["deploy", "update"])
    .where("expires_at", "<", sql<Date>`clock_timestamp()`)
    .orderBy("updated_at")
    .limit(page)
    .execute();
  for (const intent of operations)
    await attend(services, intent, async () => {
      if (!(await isIntentDone(services, chain, intent))) await moveIntent(services.db, intent, "expired");
      else if (intent.hold_reason !== doneElsewhere) await holdDone(services, chain, intent);
    });
}

/** Maximum requests of waiting clients that are processed at once. */
const mostAtOnce = 128;
const againMs = 200;
/** Requests that arrive within this time are read in one query. */
const gatherMs = 5;
/** A reason that changes with every try is written at most this often. */
const sayAgainMs = 1_000;

/** Signs the requests that clients wait for on a chain, until the signal. A wake-up ends its pause at once. */
export async function signForClients(
  services: RelayContext,
  chain: Chain,
  memory: RelayMemory,
  rounds: Rounds,
): Promise<void> {
  const pace: Pace = { periodMs: againMs, rests: true, retryMs: 2_000, eager: () => true };
  const log = services.log.child({ chain: chain.name, loop: "sign" });
  const naming = { log, failing: "relay loop failed", fields: loggable };
  await rounds.repeat(() => signRound(services, chain, memory), pace, naming);
  await Promise.all(memory.working.values());
}

/**
 * Starts signing all requests that clients wait for on a chain now, each on its own: requests of the same moment share
 * calls, the wallet's row and, where they may, a transaction (submit/). One of several workers does this.
 */
async function signRound(services: RelayContext, chain: Chain, memory: RelayMemory): Promise<Next> {
  const { working, tried } = memory;
  await sleep(gatherMs);
  // Forgets requests whose clients have stopped waiting.
  const before = performance.now() - patientSeconds * 1_000;
  for (const [id, { askedSince }] of tried) if (askedSince < before) tried.delete(id);
  // Requests that wait for others were tried a moment ago; held ones wait until their client asks again.
  const recently = performance.now() - againMs;
  const later = [...tried].flatMap(([id, { held, at, askedAt }]) => (held || at > recently ? [{ id, askedAt }] : []));
  const seen = { working: [...working.keys()], tried: [...tried.keys()], later };
  const asked = await listAsked(services, chain, mostAtOnce, seen);
  if (asked.length === 0) return working.size + tried.size === 0 ? "rest" : "soon";
  const away = await signerAway(services);
  // This worker's lease then ends, and another worker may have a signer that answers.
  if (away) {
    for (const intent of asked) await remember(services, memory, intent, { reason: away });
    return "soon";
  }
  if (memory.lease && !(await memory.lease.holds())) return "soon";
  for (const intent of asked.slice(0, mostAtOnce - working.size)) {
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

/** One attempt to sign a request. The reason for a failure is remembered and reported to the client; never fails. */
export async function sign(
  services: RelayContext,
  chain: Chain,
  intent: AskedIntent,
  memory: RelayMemory,
): Promise<void> {
  const last = memory.tried.get(intent.id);
  await attend(services, intent, async () => {
    // Recorded first, so that it is not retried at once whatever error occurs.
    await remember(services, memory, intent, { reason: last?.reason ?? null });
    // While every request of a chain is held and retried for its client, no other round reads the wallets.
    if (intent.state === "held") await refreshWallets(services, chain, memory).catch(() => undefined);
    const submission = await submitIntent(services, chain, intent).catch((error: unknown) => {
      if (error instanceof ServiceError && error.code === "service_unavailable") return { unavailable: error.message };
      throw error;
    });
    if ("unavailable" in submission)
      return await remember(services, memory, intent, { reason: submission.unavailable });
    const { kind, intent: now } = submission;
    if (kind === "waiting") return await remember(services, memory, intent, { reason: submission.reason });
    // Its row has the reason, except for one that is being cancelled.
    if (kind === "held") {
      const reason = now.hold_reason === null ? submission.reason : null;
      return await remember(services, memory, intent, { held: true, reason });
    }
    memory.tried.delete(intent.id);
    // The client waits for the signature, not for the node: the bytes are on disk, and are sent again if this fails.
    if (now.state === "signed")
      broadcast(services, chain, now).catch((error: unknown) =>
        services.log.warn({ intent: now.id, ...loggable(error) }, "sending is left to the resubmit loop"),
      );
  });
}

/** @param tried `reason`: why it waits, reported to its client when the client's time is over. */
async function remember(
  { db }: RelayContext,
  { tried }: RelayMemory,
  { id, chain_id: chainId, asked_at: askedAt }: AskedIntent,
  { held = false, reason }: { held?: boolean; reason: string | null },
): Promise<void> {
  const last = tried.get(id);
  // The recorded reason no longer counts when the client asks again.
  const before = last?.askedAt.getTime() === askedAt.getTime() ? last : undefined;
  const now = performance.now();
  const next: Tried = { askedAt, askedSince: before?.askedSince ?? now, at: now, held, reason, saidAt: before?.saidAt };
  tried.set(id, next);
  if (reason === null || (before?.reason === reason && before.saidAt !== undefined)) return;
  if (before?.saidAt !== undefined && now - before.saidAt < sayAgainMs) return;
  await sql`
    INSERT INTO service.signature_wait (intent_id, chain_id, asked_at, reason) VALUES (${id}, ${chainId}, ${askedAt}, ${reason})
    ON CONFLICT (intent_id) DO UPDATE SET reason = excluded.reason`.execute(db);
  tried.set(id, { ...next, saidAt: now });
}

/**
 * One round over a chain's requests without signed bytes that are not being processed for a waiting client: signs and
 * sends those that can go now. There may be more than a round can take, so rounds go through them page by page.
 *
 * @throws the error that prevents the whole round: the node, the database or the signer is away.
 */
export async function submitRound(
  services: RelayContext,
  chain: Chain,
  memory: RelayMemory,
  signal?: AbortSignal,
): Promise<void> {
  await expireIntents(services, chain);
  const { intents, more } = await listUnsigned(services, chain, memory.waiting);
  memory.waiting = more ? (intents.at(-1)?.seq ?? -1n) : -1n;
  const waiting = intents.filter(({ id }) => !memory.working.has(id));
  if (waiting.length === 0) return;
  // Without a signer the lease is left to another worker, whose signer may answer.
  await services.relay.signing.requireAnswer();
  if (memory.lease && !(await memory.lease.holds())) return;
  await refreshWallets(services, chain, memory);
  // Mints that ask for a nonce at once share a transaction (submit/form-batch.ts).
  const together = Map.groupBy(waiting, (intent) => (mayShare(intent) ? shareName(intent) : intent.id));
  const groups = [...together.values()].flatMap((group) => chunksOf(group, mostMints));
  const submitAll = async (group: readonly Intent[]) => {
    await Promise.all(group.map((intent) => submit(services, chain, intent)));
  };
  await inParallel(groups, submitAll, signal);
}

function chunksOf<T>(items: readonly T[], most: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / most) }, (_, n) => items.slice(n * most, (n + 1) * most));
}

async function submit(services: RelayContext, chain: Chain, intent: Intent): Promise<void> {
  await attend(services, intent, async () => {
    const { kind, intent: now } = await submitIntent(services, chain, intent);
    if (kind === "signed" && now.state === "signed") await broadcast(services, chain, now);
  });
}
