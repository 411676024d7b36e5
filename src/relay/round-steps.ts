import type { Chain } from "../chains.ts";
import type { Services } from "../services.ts";
import { withSpan } from "../telemetry/span.ts";
import { broadcast } from "./broadcast.ts";
import type { Intent } from "./intents.ts";
import { firstPages, type Pages } from "./list-watched.ts";
import { loggable } from "./node-failure.ts";

/** What one process remembers of a chain between rounds; losing it costs a repetition and nothing else. */
export interface RelayMemory {
  /** When (by this process's own clock) the bytes of each intent were last sent. */
  sent: Map<string, number>;
  /** Rounds in a row in which an intent's nonce was used and none of its transactions was to be found. */
  missing: Map<string, number>;
  pages: Pages;
}

export function createRelayMemory(): RelayMemory {
  return { sent: new Map(), missing: new Map(), pages: firstPages() };
}

/** One intent's trouble must not keep the others waiting. */
export async function attend(services: Services, intent: Intent, work: () => Promise<void>): Promise<void> {
  try {
    await withSpan(
      `relay ${intent.kind}`,
      { "mintyard.intent": intent.id, "mintyard.state": intent.state },
      work,
      true,
    );
  } catch (error) {
    services.log.warn(
      { intent: intent.id, state: intent.state, ...loggable(error) },
      "an intent could not be moved on",
    );
  }
}

/** @param all every set of bytes it ever had, not only the newest: after a reorganisation. */
export async function send(
  services: Services,
  chain: Chain,
  intent: Intent,
  memory: RelayMemory,
  all = false,
): Promise<void> {
  memory.sent.set(intent.id, performance.now());
  await broadcast(services, chain, intent, all ? 100 : 2);
}
