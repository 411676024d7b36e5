import type { Chain } from "../../chains.ts";
import type { RelayContext } from "../chain/context.ts";
import type { ChainView } from "../chain/view.ts";
import type { Intent } from "../store/intents.ts";
import { isStale, replaceAttempt } from "../submit/replace-attempt.ts";
import { watchIntent } from "./apply.ts";
import { readLook } from "./evidence.ts";
import { freshMs } from "./list-waiting.ts";
import { attend, inParallel, type RelayMemory, send } from "./loop-steps.ts";
import { resubmitFound } from "./resubmit-imported.ts";
import { refreshWallets } from "./watch-wallets.ts";
import { listOpen, type WatchedIntent } from "./watched-rows.ts";

/**
 * One look at what has a nonce on a chain and is in no block: what became of it is recorded, what was lost is sent again,
 * and what is too cheap is replaced. However much there is, the look
 * is bounded (watched-rows.ts), and the nonces that can be mined next come first. Any number of workers may do this at
 * once: each step is taken by whoever commits it first.
 *
 * @throws whatever keeps the whole round from being done: the node or the database is away.
 */
export async function resubmitRound(
  services: RelayContext,
  chain: Chain,
  memory: RelayMemory,
  signal?: AbortSignal,
): Promise<void> {
  await resubmitFound(services, chain, memory);
  const open = await listOpen(services, chain);
  forget(memory, open);
  if (open.length === 0) return;
  const view = await refreshWallets(services, chain, memory);
  const look = await readLook(services, chain, view, memory.missing, open);
  const due: { item: WatchedIntent; now: Intent }[] = [];
  const poll = (item: WatchedIntent) =>
    attend(services, item.intent, async () => {
      const now = await watchIntent(services, chain, item, look);
      if (now && isDue(chain, item, now, memory, view)) due.push({ item, now });
    });
  await inParallel(open, poll, signal);
  // Begun in the order of their nonces: some nodes refuse a transaction whose predecessor they do not have yet.
  due.sort((a, b) => Number(a.item.reservation.nonce - b.item.reservation.nonce));
  const move = ({ item, now }: (typeof due)[0]) =>
    attend(services, now, () => resubmit(services, chain, item, now, view, memory));
  await inParallel(due, move, signal);
}

function forget(memory: RelayMemory, open: readonly WatchedIntent[]): void {
  const ids = new Set(open.map(({ intent }) => intent.id));
  for (const map of [memory.sent, memory.missing]) for (const id of map.keys()) if (!ids.has(id)) map.delete(id);
}

function isDue(
  chain: Chain,
  { reservation, ageMs, attempts }: WatchedIntent,
  now: Intent,
  memory: RelayMemory,
  view: ChainView,
): boolean {
  if (now.state === "assigned") return wantsCancellation(now, attempts);
  if (now.state !== "signed" && now.state !== "in_flight") return false;
  if (
    wantsCancellation(now, attempts) ||
    isStale(chain, reservation, attempts[0], view.head, nextNonce(view, reservation))
  )
    return true;
  // What another process moved lately was sent by it a moment ago; its age is the database's.
  const last = memory.sent.get(now.id) ?? performance.now() - ageMs;
  const waitMs = now.state === "signed" ? freshMs : chain.local ? 500 : 15_000;
  return performance.now() - last >= waitMs;
}

function nextNonce(view: ChainView, reservation: WatchedIntent["reservation"]): bigint {
  return view.wallets.get(`0x${reservation.addr.toString("hex")}`)?.nonce ?? -1n;
}

function wantsCancellation(intent: Intent, attempts: WatchedIntent["attempts"]): boolean {
  return intent.cancel_requested_at !== null && !attempts.some(({ kind }) => kind === "cancellation");
}

/** Replaces what has waited too long or is cancelled, and sends. */
async function resubmit(
  services: RelayContext,
  chain: Chain,
  { reservation, attempts }: WatchedIntent,
  now: Intent,
  view: ChainView,
  memory: RelayMemory,
): Promise<void> {
  const stale = isStale(chain, reservation, attempts[0], view.head, nextNonce(view, reservation));
  if (wantsCancellation(now, attempts) || stale) {
    const replaced = await replaceAttempt(services, chain, now, reservation, attempts, {
      head: view.head,
      fees: view.fees,
      dataByteWei: view.dataByteWei,
    });
    if (!replaced) return;
    return await send(services, chain, replaced, memory);
  }
  await send(services, chain, now, memory);
}
