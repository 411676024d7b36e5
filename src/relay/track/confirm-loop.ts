import type { Chain } from "../../chains.ts";
import type { RelayContext } from "../chain/context.ts";
import { readBlockHashes } from "../chain/view.ts";
import { type Evidence, type WatchedIntent, watchIntent } from "./check-intent.ts";
import { followBatches } from "./follow-batches.ts";
import { attend, inParallel, type RelayMemory, send } from "./loop-steps.ts";
import { mendIntents } from "./mend-intents.ts";
import { listConfirming } from "./page-mined.ts";
import { refreshWallets } from "./watch-wallets.ts";

/**
 * One look at what is mined on a chain and not final: it is compared with the request, confirmed and closed, or sent
 * again with all its bytes when its block is gone. A deployment takes several questions to the node, so nothing that is
 * in no block may wait for this. Any number of workers may do it at once.
 *
 * @throws whatever keeps the whole round from being done: the node or the database is away.
 */
export async function confirmRound(
  services: RelayContext,
  chain: Chain,
  memory: RelayMemory,
  signal?: AbortSignal,
): Promise<void> {
  await mendIntents(services, chain);
  await followBatches(services, chain, memory, signal);
  const confirming = await listConfirming(services, chain, memory.confirming);
  if (confirming.length === 0) return;
  const view = await refreshWallets(services, chain, memory);
  const mined = confirming
    .flatMap(({ reservation }) => reservation.mined_block ?? [])
    .filter((number) => number <= view.head);
  const blocks = await readBlockHashes(services.relay.nodes(chain), mined, chain.relay.quorum);
  const evidence: Evidence = { view, receipts: new Map(), blocks, missing: memory.missing };
  const gone: WatchedIntent[] = [];
  const poll = (item: WatchedIntent) =>
    attend(services, item.intent, async () => {
      const now = await watchIntent(services, chain, item, evidence);
      if (now?.state === "in_flight") gone.push({ ...item, intent: now });
    });
  await inParallel(confirming, poll, signal);
  gone.sort((a, b) => Number(a.reservation.nonce - b.reservation.nonce));
  const sendAll = ({ intent }: WatchedIntent) =>
    attend(services, intent, () => send(services, chain, intent, memory, true));
  await inParallel(gone, sendAll, signal);
}
