import type { Chain } from "../../chains.ts";
import type { RelayContext } from "../chain/context.ts";
import { isIntentDone } from "../chain/intent-done.ts";
import { isOperation } from "../chain/operation.ts";
import { readChainView } from "../chain/view.ts";
import { type Intent, moveIntent } from "../store/intents.ts";
import { endAsFound } from "../submit/end-as-found.ts";
import { attend } from "./loop-steps.ts";
import { standsThere, startRetry } from "./nonce-conflict.ts";

/** Of one look; there are none unless an older version left them. */
const page = 100;

/**
 * Ends requests that are mined, or in conflict over their nonce, and have no reservation of one: older versions left them when
 * two requests met at one nonce. What they asked for stands by then; if a reorganisation took it, they are made again.
 */
export async function mendIntents(services: RelayContext, chain: Chain): Promise<void> {
  const intents = await services.db
    .selectFrom("service.intent as i")
    .selectAll("i")
    .where("i.chain_id", "=", chain.id)
    .where("i.state", "in", ["mined", "nonce_conflict"])
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom("service.nonce_reservation as s").select("s.nonce").whereRef("s.intent_id", "=", "i.id"))),
    )
    .limit(page)
    .execute();
  for (const intent of intents) await attend(services, intent, () => mend(services, chain, intent));
}

async function mend(services: RelayContext, chain: Chain, intent: Intent): Promise<void> {
  if (await endAsFound(services, chain, intent)) return;
  const view = await readChainView(services.relay.nodes(chain), chain, []);
  // As of the newest block: what is not final yet has time. Of a mint or update it is not the contract that tells.
  const stands = isOperation(intent.kind)
    ? await isIntentDone(services, chain, intent)
    : await standsThere(services, chain, intent, view.head);
  if (stands) return;
  const conflicted = intent.state === "mined" ? await moveIntent(services.db, intent, "nonce_conflict") : intent;
  if (conflicted) await startRetry(services, chain, conflicted, view);
}
