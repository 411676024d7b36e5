import type { Chain } from "../../chains.ts";
import type { RelayContext } from "../chain/context.ts";
import { type ChainView, readChainView } from "../chain/view.ts";
import type { Intent } from "../store/intents.ts";
import { isStale, replaceAttempt } from "../submit/sign-attempt.ts";
import { watchIntent } from "./apply.ts";
import { readLook } from "./evidence.ts";
import { attend, inParallel, type RelayMemory, send } from "./loop-steps.ts";
import { resubmitFound } from "./resubmit-imported.ts";
import { freshMs } from "./submit-loop.ts";
import { refreshWallets } from "./watch-wallets.ts";
import { listInBlocks, listLost, listOpen, type Watched, type WatchedIntent } from "./watched-rows.ts";

/**
 * One round over the requests that have a nonce on a chain and are in no block: it records what became of them, sends
 * lost transactions again, and replaces those whose fee is too low. The number of rows per round is bounded
 * (watched-rows.ts), and the nonces that can be mined next come first. Any number of workers may do this at once: the
 * first commit of each step counts.
 *
 * @throws the error that prevents the whole round: the node or the database is away.
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
  const due = await watchAll(services, chain, open, { memory, view, signal }, (item, now) =>
    isDue(chain, item, now, memory, view),
  );
  const move = ({ item, now }: (typeof due)[0]) =>
    attend(services, now, () => resubmit(services, chain, item, now, view, memory));
  await inParallel(due, move, signal);
}

/** Moves each request by what the chain shows. @returns those to be sent, in the order of their nonces. */
async function watchAll<Item extends Watched>(
  services: RelayContext,
  chain: Chain,
  items: readonly Item[],
  { memory, view, signal }: { memory: RelayMemory; view: ChainView; signal: AbortSignal | undefined },
  isToBeSent: (item: Item, now: Intent) => boolean,
): Promise<{ item: Item; now: Intent }[]> {
  const look = await readLook(services, chain, view, memory.missing, items);
  const due: { item: Item; now: Intent }[] = [];
  const poll = (item: Item) =>
    attend(services, item.intent, async () => {
      const now = await watchIntent(services, chain, item, look);
      if (now && isToBeSent(item, now)) due.push({ item, now });
    });
  await inParallel(items, poll, signal);
  // Some nodes refuse a transaction whose predecessor they do not have yet.
  const nonceOf = ({ item }: { item: Item }) => item.reservation?.nonce ?? 0n;
  return due.sort((one, other) => Number(nonceOf(one) - nonceOf(other)));
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
  // If another process moved it lately, that process has just sent it; the age is by the database's clock.
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

/** Replaces the bytes if they have waited too long or the request is cancelled, and sends. */
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

/**
 * One round over the requests that are mined on a chain and not final: each is compared with the chain, confirmed and
 * finalized, or, if its block is gone, sent again with all its bytes. Checking a deployment takes several calls to the
 * node, so requests in no block must not wait for this round. Any number of workers may do it at once.
 *
 * @throws the error that prevents the whole round: the node or the database is away.
 */
export async function confirmRound(
  services: RelayContext,
  chain: Chain,
  memory: RelayMemory,
  signal?: AbortSignal,
): Promise<void> {
  const items = await listInBlocks(services, chain, memory.inBlocks);
  if (items.length === 0) return;
  const view = await refreshWallets(services, chain, memory);
  const gone = await watchAll(services, chain, items, { memory, view, signal }, (_, now) => now.state === "in_flight");
  const sendAll = ({ now }: (typeof gone)[0]) => attend(services, now, () => send(services, chain, now, memory, true));
  await inParallel(gone, sendAll, signal);
}

/** The same for requests that lost their nonce, by an operator's command: sends nothing; no error stops the rest. */
export async function followLost(services: RelayContext, chain: Chain): Promise<void> {
  for (const item of await listLost(services, chain))
    await attend(services, item.intent, async () => {
      const view = await readChainView(services.relay.nodes(chain), chain, []);
      const look = await readLook(services, chain, view, new Map(), [item]);
      const now = await watchIntent(services, chain, item, look);
      if (now?.state === "nonce_conflict" && item.intent.state === "mined")
        await watchIntent(services, chain, { ...item, intent: now }, look);
    });
}
