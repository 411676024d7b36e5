import type { Chain } from "../../chains.ts";
import type { RelayContext } from "../chain/context.ts";
import { readChainView } from "../chain/view.ts";
import { watchIntent } from "./apply.ts";
import { readLook } from "./evidence.ts";
import { attend, inParallel, type RelayMemory, send } from "./loop-steps.ts";
import { refreshWallets } from "./watch-wallets.ts";
import { listInBlocks, listLost, type Watched } from "./watched-rows.ts";

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
  const items = await listInBlocks(services, chain, memory.inBlocks);
  if (items.length === 0) return;
  const view = await refreshWallets(services, chain, memory);
  const look = await readLook(services, chain, view, memory.missing, items);
  const gone: Watched[] = [];
  const poll = (item: Watched) =>
    attend(services, item.intent, async () => {
      const now = await watchIntent(services, chain, item, look);
      if (now?.state === "in_flight") gone.push({ ...item, intent: now });
    });
  await inParallel(items, poll, signal);
  gone.sort((a, b) => Number((a.reservation?.nonce ?? 0n) - (b.reservation?.nonce ?? 0n)));
  const sendAll = ({ intent }: Watched) => attend(services, intent, () => send(services, chain, intent, memory, true));
  await inParallel(gone, sendAll, signal);
}

/** The same for what lost its nonce alone, in an operator's command: nothing is sent, and one's trouble is not the others'. */
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
