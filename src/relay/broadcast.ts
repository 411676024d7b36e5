import type { Chain } from "../chains.ts";
import type { Services } from "../services.ts";
import { toHex } from "./bytes.ts";
import { type Intent, moveIntent } from "./intents.ts";
import { describeFailure } from "./node-failure.ts";
import { listAttempts } from "./slots.ts";

/**
 * Sends the stored bytes of an intent, newest first. May be called any number of times.
 *
 * Answers are kept as evidence, never as a verdict. A node that times out or says "nonce too low" may
 * still hold these bytes; only a receipt on the canonical chain moves the state.
 */
export async function broadcast(services: Services, chain: Chain, intent: Intent): Promise<void> {
  const client = services.rpc(chain);
  for (const attempt of await listAttempts(services.db, intent.id)) {
    const outcome = await client.sendRawTransaction({ serializedTransaction: toHex(attempt.raw) }).then(
      () => ({ code: "accepted", detail: null }),
      (error: unknown) => describeFailure(error),
    );
    await services.db
      .insertInto("service.attempt_event")
      .values({
        attempt_hash: attempt.hash,
        provider: chain.name,
        method: "eth_sendRawTransaction",
        outcome_code: outcome.code,
        detail: outcome.detail,
      })
      .execute();
    services.log.debug({ intent: intent.id, hash: toHex(attempt.hash), outcome }, "sent");
  }
  if (intent.state === "signed") await moveIntent(services.db, intent, "in_flight");
}
