import { sql } from "kysely";
import type { Chain } from "../chains.ts";
import type { Services } from "../services.ts";
import { broadcast } from "./broadcast.ts";
import { toBytes } from "./bytes.ts";
import { type Intent, unassignedStates, watchedStates } from "./intents.ts";
import { loggable } from "./node-failure.ts";
import { type Head, readHead } from "./read-head.ts";
import { submitIntent } from "./submit-intent.ts";
import { watchIntent } from "./watch-intent.ts";

/** Intents of a chain, by id, with the time (of this process's own clock) their bytes were last sent. */
export type SentTimes = Map<string, number>;

const batch = 100;
/** Younger ones are in the hands of the request that made them. */
const freshMs = 1_000;
const retryHeldMs = 5_000;
/** Intents looked at at once; more would only queue at the node. */
const parallel = 8;

/**
 * One look at everything that is under way on a chain. Any number of workers may do this at once:
 * each step is taken by whoever commits it first.
 *
 * @param sent when the bytes of each intent were last sent by this process.
 * @throws whatever keeps the whole round from being done: the node or the database is away.
 */
export async function relayRound(services: Services, chain: Chain, sent: SentTimes): Promise<void> {
  await expireIntents(services, chain);
  const waiting = await listWaiting(services, chain);
  const watched = await listWatched(services, chain);
  for (const id of sent.keys()) if (!watched.some((intent) => intent.id === id)) sent.delete(id);
  if (waiting.length + watched.length === 0) return;
  const head = await readHead(services.rpc(chain), chain);
  await checkLane(services, chain, head);
  // What is mined frees its place in the lane for what waits.
  const due: WatchedIntent[] = [];
  await inParallel(watched, (intent) =>
    attend(services, intent, async () => {
      const now = await watchIntent(services, chain, intent, head);
      if (now && isDue(chain, intent, now, sent)) due.push({ ...intent, ...now });
    }),
  );
  // In the order of their nonces: some nodes refuse a transaction whose predecessor they do not have yet.
  due.sort((a, b) => Number(a.nonce - b.nonce));
  for (const intent of due) await attend(services, intent, () => send(services, chain, intent, sent));
  for (const intent of waiting) await attend(services, intent, () => push(services, chain, intent, sent));
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  const lines = Array.from({ length: Math.min(parallel, items.length) }, async () => {
    for (const item of queue) await work(item);
  });
  await Promise.all(lines);
}

/** One intent's trouble must not keep the others waiting. */
async function attend(services: Services, intent: Intent, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    services.log.warn(
      { intent: intent.id, state: intent.state, ...loggable(error) },
      "an intent could not be moved on",
    );
  }
}

async function push(services: Services, chain: Chain, intent: Intent, sent: SentTimes): Promise<void> {
  const submission = await submitIntent(services, chain, intent);
  if (submission.kind === "signed") await send(services, chain, submission.intent, sent);
}

function isDue(chain: Chain, before: WatchedIntent, now: Intent, sent: SentTimes): boolean {
  if (now.state !== "signed" && now.state !== "in_flight") return false;
  // Its block was just taken away.
  if (now.state !== before.state) return true;
  // What another process moved lately was sent by it a moment ago; its age is the database's.
  const last = sent.get(now.id) ?? performance.now() - before.age_ms;
  const waitMs = now.state === "signed" ? freshMs : chain.local ? 500 : 15_000;
  return performance.now() - last >= waitMs;
}

async function send(services: Services, chain: Chain, intent: Intent, sent: SentTimes): Promise<void> {
  sent.set(intent.id, performance.now());
  await broadcast(services, chain, intent);
}

/** Intents without signed bytes. Fresh ones are left to the request that made them; a nonce goes first. */
async function listWaiting(services: Services, chain: Chain): Promise<Intent[]> {
  return await services.db
    .selectFrom("service.intent")
    .selectAll()
    .where("chain_id", "=", chain.id)
    .where("state", "in", [...unassignedStates, "assigned"])
    .where(
      sql<boolean>`updated_at < clock_timestamp()
        - CASE state WHEN 'held' THEN ${retryHeldMs}::float8 ELSE ${freshMs}::float8 END * interval '1 millisecond'`,
    )
    .orderBy(sql`state = 'assigned'`, "desc")
    .orderBy("created_at")
    .limit(batch)
    .execute();
}

interface WatchedIntent extends Intent {
  nonce: bigint;
  /** Since its last change. */
  age_ms: number;
}

async function listWatched(services: Services, chain: Chain): Promise<WatchedIntent[]> {
  return await services.db
    .selectFrom("service.intent as i")
    .innerJoin("service.slot as s", "s.intent_id", "i.id")
    .selectAll("i")
    .select("s.nonce")
    .select(sql<number>`(extract(epoch FROM clock_timestamp() - i.updated_at) * 1000)::float8`.as("age_ms"))
    .where("i.chain_id", "=", chain.id)
    .where("i.state", "in", [...watchedStates])
    // The longest unseen to change come last: a long queue must not hide the fresh ones.
    .orderBy("i.updated_at", "desc")
    .limit(10 * batch)
    .execute();
}

async function expireIntents(services: Services, chain: Chain): Promise<void> {
  await services.db
    .updateTable("service.intent")
    .set((update) => ({ state: "expired", version: update("version", "+", 1) }))
    .where("chain_id", "=", chain.id)
    .where("state", "in", [...unassignedStates])
    .where("expires_at", "<", sql<Date>`clock_timestamp()`)
    .execute();
}

/** Somebody else used the paying wallet: no further nonce may be given out before a person has looked. */
async function checkLane(services: Services, chain: Chain, head: Head): Promise<void> {
  const { address } = services.relay.account(chain);
  // A node that keeps little history may not know; the next nonce is checked against the newest block anyway.
  const count = await services
    .rpc(chain)
    .getTransactionCount({ address, blockNumber: head.finalized })
    .catch(() => null);
  if (count === null) return;
  const addr = toBytes(address);
  const stopped = await services.db
    .updateTable("service.lane")
    .set({ state: "reconcile" })
    .where("chain_id", "=", chain.id)
    .where("addr", "=", addr)
    .where("state", "=", "open")
    .where("next_nonce", "<", BigInt(count))
    .executeTakeFirst();
  if (stopped.numUpdatedRows > 0n) {
    services.log.error({ chain: chain.name, wallet: address, count }, "foreign transactions from the paying wallet");
  }
  // Adopting what a restored database had forgotten moves the counter on; then the lane is whole again.
  await services.db
    .updateTable("service.lane")
    .set({ state: "open" })
    .where("chain_id", "=", chain.id)
    .where("addr", "=", addr)
    .where("state", "=", "reconcile")
    .where("next_nonce", ">=", BigInt(count))
    .execute();
}
