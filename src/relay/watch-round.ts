import type { Chain } from "../chains.ts";
import type { Services } from "../services.ts";
import { toHash } from "./bytes.ts";
import { readBlockHashes, readReceipts } from "./chain-view.ts";
import { hasDefect } from "./faults.ts";
import type { Intent } from "./intents.ts";
import { freshMs } from "./list-waiting.ts";
import { listWatched } from "./list-watched.ts";
import { isStale, replaceAttempt } from "./replace-attempt.ts";
import { attend, type RelayMemory, send } from "./round-steps.ts";
import { failAfterTries, isTakenForOurs } from "./seeded-defects.ts";
import { type Evidence, type WatchedIntent, watchIntent } from "./watch-intent.ts";
import { lookAtLanes } from "./watch-lanes.ts";

/** Intents looked at at once; more would only queue at the node. */
const parallel = 8;
/** An intent whose nonce the chain still refuses to use after this long gives it up, for those behind it. */
const giveUpNonceMs = 60_000;

/**
 * One look at what has a nonce on a chain: what became of it is noted, what was lost is sent again, what is too cheap
 * is replaced. However much there is, the look is bounded (list-watched.ts), and the nonces that can be mined next come
 * first. Any number of workers may do this at once: each step is taken by whoever commits it first.
 *
 * @throws whatever keeps the whole round from being done: the node or the database is away.
 */
export async function watchRound(services: Services, chain: Chain, memory: RelayMemory): Promise<void> {
  const watched = await listWatched(services, chain, memory.pages);
  forget(memory, watched);
  if (watched.length === 0) return;
  const nodes = services.relay.nodes(chain);
  const view = await lookAtLanes(services, chain);
  const hashes = watched.flatMap(({ attempts }) => attempts.map((attempt) => toHash(attempt.hash)));
  const mined = watched.flatMap(({ slot }) => slot.mined_block ?? []).filter((number) => number <= view.head);
  const receipts = await readReceipts(nodes, hashes);
  const blocks = await readBlockHashes(nodes, mined, chain.relay.quorum);
  const evidence: Evidence = { view, receipts, blocks, missing: memory.missing };
  const due: { item: WatchedIntent; now: Intent }[] = [];
  await inParallel(watched, (item) =>
    attend(services, item.intent, async () => {
      const now = await watchIntent(services, chain, item, evidence);
      if (now && isDue(chain, item, now, memory, evidence)) due.push({ item, now });
    }),
  );
  // Begun in the order of their nonces: some nodes refuse a transaction whose predecessor they do not have yet.
  due.sort((a, b) => Number(a.item.slot.nonce - b.item.slot.nonce));
  await inParallel(due, ({ item, now }) =>
    attend(services, now, () => drive(services, chain, item, now, evidence, memory)),
  );
}

function forget(memory: RelayMemory, watched: readonly WatchedIntent[]): void {
  const ids = new Set(watched.map(({ intent }) => intent.id));
  for (const map of [memory.sent, memory.missing]) for (const id of map.keys()) if (!ids.has(id)) map.delete(id);
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  const lines = Array.from({ length: Math.min(parallel, items.length) }, async () => {
    for (const item of queue) await work(item);
  });
  await Promise.all(lines);
}

function isDue(
  chain: Chain,
  { intent, slot, ageMs, attempts }: WatchedIntent,
  now: Intent,
  memory: RelayMemory,
  { view }: Evidence,
): boolean {
  if (now.state === "assigned") return wantsNoop(now, attempts) || gaveUp(now, ageMs);
  if (now.state !== "signed" && now.state !== "in_flight") return false;
  if (attempts.some((attempt) => isTakenForOurs(attempt))) return false;
  // Its block was just taken away.
  if (now.state !== intent.state) return true;
  if (wantsNoop(now, attempts) || isStale(chain, slot, attempts[0], view.head, nextNonce(view, slot))) return true;
  // What another process moved lately was sent by it a moment ago; its age is the database's.
  const last = memory.sent.get(now.id) ?? performance.now() - ageMs;
  const waitMs = now.state === "signed" ? freshMs : chain.local ? 500 : 15_000;
  return performance.now() - last >= waitMs;
}

function nextNonce(view: Evidence["view"], slot: WatchedIntent["slot"]): bigint {
  return view.wallets.get(`0x${slot.addr.toString("hex")}`)?.nonce ?? -1n;
}

function wantsNoop(intent: Intent, attempts: WatchedIntent["attempts"]): boolean {
  return intent.cancel_requested_at !== null && !attempts.some(({ kind }) => kind === "noop");
}

/** Never answered with a hash, and the simulation refuses it: those behind it must not wait for ever. */
function gaveUp(intent: Intent, ageMs: number): boolean {
  return intent.state === "assigned" && intent.hold_reason === "simulation" && ageMs > giveUpNonceMs;
}

/** Replaces what has waited too long or is cancelled, and sends. */
async function drive(
  services: Services,
  chain: Chain,
  { slot, attempts, ageMs, intent: before }: WatchedIntent,
  now: Intent,
  { view }: Evidence,
  memory: RelayMemory,
): Promise<void> {
  const stale = isStale(chain, slot, attempts[0], view.head, nextNonce(view, slot));
  if (wantsNoop(now, attempts) || gaveUp(now, ageMs) || (stale && now.state === before.state)) {
    const replaced = await replaceAttempt(services, chain, now, slot, attempts, { head: view.head, fees: view.fees });
    if (!replaced) return;
    return await send(services, chain, replaced, memory);
  }
  await send(services, chain, now, memory, before.state !== now.state);
  if (hasDefect("failed-after-tries")) await failAfterTries(services, now.id);
}
