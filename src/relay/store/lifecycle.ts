import type { IntentState } from "../../db/tables/relay.ts";

/**
 * Where a request can go from each of its states. `service.intent_edge` has the same edges, and a trigger refuses all
 * others; test/relay/lifecycle.test.ts compares the two.
 */
export const lifecycle = {
  // Without a nonce.
  queued: ["held", "assigned", "mined", "confirmed", "failed_onchain", "cancelled", "expired"],
  held: ["queued", "cancelled", "expired"],
  // With a nonce, which is its own for ever.
  assigned: ["signed", "mined", "nonce_conflict"],
  signed: ["in_flight", "mined", "mined_reverted", "mined_cancellation", "nonce_conflict"],
  in_flight: ["mined", "mined_reverted", "mined_cancellation", "nonce_conflict"],
  // In a block, which a reorganisation may take back.
  mined: ["in_flight", "confirmed", "failed_onchain", "nonce_conflict"],
  mined_reverted: ["in_flight", "confirmed", "failed_onchain", "nonce_conflict"],
  mined_cancellation: ["in_flight", "confirmed", "cancelled", "nonce_conflict"],
  confirmed: ["in_flight", "finalized", "nonce_conflict"],
  // Another transaction used its nonce.
  nonce_conflict: ["confirmed", "failed_onchain", "retried"],
  // Ended. A retried request goes on as a new row.
  finalized: [],
  failed_onchain: [],
  cancelled: [],
  expired: [],
  retried: [],
} as const satisfies Record<IntentState, readonly IntentState[]>;

/** States without a nonce: such a request may still be held, cancelled or expire. */
export const unassignedStates = ["queued", "held"] as const satisfies readonly IntentState[];

/** States of a request whose transaction is in a block that may still be taken back. */
export type MinedState = Extract<IntentState, "mined" | "mined_reverted" | "mined_cancellation" | "confirmed">;

type EndedState = { [S in IntentState]: (typeof lifecycle)[S] extends readonly [] ? S : never }[IntentState];

/** States that no step leads out of. */
export const endedStates = (Object.keys(lifecycle) as IntentState[]).filter(
  (state): state is EndedState => lifecycle[state].length === 0,
);
