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

/** Younger ones are in the hands of those who sign for waiting clients. */
export const freshMs = 1_000;
const retryHeldMs = 5_000;
/** Intents of one page; those that do not fit are the next round's. */
const page = 100;
/** As long as the most patient client waits that did not ask anew (accept/until-signed.ts). */
const patientSeconds = 35;

const unsigned = sql.join([...unassignedStates, "assigned"].map((state) => sql.lit(state)));

/** A request, with when its client asked last, by the database's clock. */
type AskedIntent = Intent & { asked_at: Date };

/**
 * The first ones whose clients wait for the signature and that are to be tried now, in the order of acceptance.
 *
 * @param working requests that are worked on.
 * @param tried requests that were tried, in an order that does not matter.
 * @param later those of them that are not to be tried yet, unless they were asked for again since `askedAt`.
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
 * A page of the intents without signed bytes, in the order of acceptance, asked for or not. Fresh ones are left out.
 * Of the updates of one contract only the first that is in no block can be tried; the others would take all places for nothing.
 *
 * @param after the order of acceptance (`seq`) to go on behind.
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
 * Ends what was not sent within its time. Of what the operator carries out the chain is asked first: rows may have been
 * lost, and a client that is told that nothing was done would have it done a second time.
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

/** Requests of waiting clients that are worked on at once. */
const mostAtOnce = 128;
const againMs = 200;
/** Requests of so many milliseconds are read together. */
const gatherMs = 5;
/** A reason that changes with every try is not written as often. */
const sayAgainMs = 1_000;

/** Signs what clients wait for on a chain, until the signal. A wake-up ends its pause at once. */
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
 * Begins to sign whatever clients wait for on a chain now, each request on its own: those of one moment share questions,
 * the wallet's row and, where they may, a transaction (submit/). One worker of several does this.
 */
async function signRound(services: RelayContext, chain: Chain, memory: RelayMemory): Promise<Next> {
  const { working, tried } = memory;
  await sleep(gatherMs);
  // Their clients have stopped waiting.
  const before = performance.now() - patientSeconds * 1_000;
  for (const [id, { askedSince }] of tried) if (askedSince < before) tried.delete(id);
  // What waits for others was tried a moment ago; what is held waits for its client to ask again.
  const recently = performance.now() - againMs;
  const later = [...tried].flatMap(([id, { held, at, askedAt }]) => (held || at > recently ? [{ id, askedAt }] : []));
  const seen = { working: [...working.keys()], tried: [...tried.keys()], later };
  const asked = await listAsked(services, chain, mostAtOnce, seen);
  if (asked.length === 0) return working.size + tried.size === 0 ? "rest" : "soon";
  const away = await signerAway(services);
  // Its lease ends, and another worker may have a signer that answers.
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

/** One try. What keeps it is remembered, and told to the client; never fails. */
export async function sign(
  services: RelayContext,
  chain: Chain,
  intent: AskedIntent,
  memory: RelayMemory,
): Promise<void> {
  const last = memory.tried.get(intent.id);
  await attend(services, intent, async () => {
    // Whatever breaks it, it is not tried again at once.
    await remember(services, memory, intent, { reason: last?.reason ?? null });
    // Nobody else looks at the wallets while every request of a chain is held, and tried again and again for its client.
    if (intent.state === "held") await refreshWallets(services, chain, memory).catch(() => undefined);
    const submission = await submitIntent(services, chain, intent).catch((error: unknown) => {
      if (error instanceof ServiceError && error.code === "service_unavailable") return { unavailable: error.message };
      throw error;
    });
    if ("unavailable" in submission)
      return await remember(services, memory, intent, { reason: submission.unavailable });
    const { kind, intent: now } = submission;
    if (kind === "waiting") return await remember(services, memory, intent, { reason: submission.reason });
    // Its row has the reason, but of one that is being cancelled.
    if (kind === "held") {
      const reason = now.hold_reason === null ? submission.reason : null;
      return await remember(services, memory, intent, { held: true, reason });
    }
    memory.tried.delete(intent.id);
    // Who waits for the signature does not wait for the node: the bytes are on disk, and what is lost here is sent again.
    if (now.state === "signed")
      broadcast(services, chain, now).catch((error: unknown) =>
        services.log.warn({ intent: now.id, ...loggable(error) }, "sending is left to the resubmit loop"),
      );
  });
}

/** @param tried `reason`: why it waits, for its client, who is told so when its time is over. */
async function remember(
  { db }: RelayContext,
  { tried }: RelayMemory,
  { id, chain_id: chainId, asked_at: askedAt }: AskedIntent,
  { held = false, reason }: { held?: boolean; reason: string | null },
): Promise<void> {
  const last = tried.get(id);
  // What was said of it is gone when its client asks again.
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
 * One look at what has no signed bytes yet on a chain and is not worked on for a client: what may go now is signed and sent.
 * There may be more of it than a round can take, so all of it has its turn from round to round.
 *
 * @throws whatever keeps the whole round from being done: the node, the database or the signer is away.
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
  // Without it the lease is another worker's, which may have a signer that answers.
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
