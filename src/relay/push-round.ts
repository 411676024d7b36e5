import type { Chain } from "../chains.ts";
import type { Services } from "../services.ts";
import { expireIntents, listWaiting } from "./list-waiting.ts";
import { attend, type RelayMemory, send } from "./round-steps.ts";
import { submitIntent } from "./submit-intent.ts";
import { lookAtLanes } from "./watch-lanes.ts";

/**
 * One look at what has no signed bytes yet on a chain: what may go now gets its nonce, is signed and sent. It takes as
 * long as the nodes take to simulate all of it, so nothing that has its bytes may wait for it. Any number of workers
 * may do this at once.
 *
 * @throws whatever keeps the whole round from being done: the node or the database is away.
 */
export async function pushRound(services: Services, chain: Chain, memory: RelayMemory): Promise<void> {
  await expireIntents(services, chain);
  const waiting = await listWaiting(services, chain);
  if (waiting.length === 0) return;
  await lookAtLanes(services, chain);
  let full = false;
  for (const intent of waiting) {
    if (full && intent.kind === "deploy") continue;
    await attend(services, intent, async () => {
      const submission = await submitIntent(services, chain, intent);
      if (submission.kind === "signed") await send(services, chain, submission.intent, memory);
      full ||= submission.kind === "waiting" && intent.kind === "deploy";
    });
  }
}
