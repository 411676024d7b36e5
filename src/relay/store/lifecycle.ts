import type { IntentState } from "../../db/tables/relay.ts";

/**
 * Where a request can go from each of its states. `service.intent_edge` has the same edges, and a trigger refuses all
 * others; test/relay/lifecycle.test.ts compares the two.
 */
export const lifecycle = {
  // Without a nonce.
  queued: ["held", "assigned", "batched", "mined", "confirmed", "failed_onchain", "cancelled", "expired"],
  held: ["queued", "cancelled", "expired"],
  // In the transaction of another mint of its contract, whose nonce it is.
  batched: ["queued", "confirmed", "failed_onchain"],
  // With a nonce, which is its own for ever.
  assigned: ["signed", "mined", "nonce_conflict"],
  signed: ["in_flight", "mined", "mined_reverted", "mined_cancellation", "nonce_conflict"],
  in_flight: ["mined", "mined_reverted", "mined_cancellation", "nonce_conflict"],
  // In a block, which a reorganisation may take back.
  mined: ["in_flight", "confirmed", "failed_onchain", "nonce_conflict"],
  mined_reverted: ["in_flight", "confirmed", "failed_onchain", "nonce_conflict"],
  mined_cancellation: ["in_flight", "confirmed", "cancelled", "nonce_conflict"],
  confirmed: ["in_flight", "batched", "finalized", "nonce_conflict"],
  // Another transaction used its nonce.
  nonce_conflict: ["confirmed", "failed_onchain", "retried"],
  // Ended. A retried request goes on as a new row.
  finalized: [],
  failed_onchain: [],
  cancelled: [],
  expired: [],
  retried: [],
} as const satisfies Record<IntentState, readonly IntentState[]>;

/** What is done with a request in each of its states: who looks for it, and what a client is told. */
const phases = {
  /** No nonce yet: the submit loop takes it up. */
  queued: "unassigned",
  held: "unassigned",
  /** A member of a batch: the confirm loop looks at its lead's transaction. */
  batched: "batched",
  /** A nonce, and in no block: the resubmit loop sends it until it is mined. */
  assigned: "open",
  signed: "open",
  in_flight: "open",
  /** In a block: the confirm loop follows it. */
  mined: "in_block",
  mined_reverted: "in_block",
  mined_cancellation: "in_block",
  /** Its nonce was used up without its effect: the confirm loop retries it. */
  nonce_conflict: "conflict",
  /** Shown to clients as done: the confirm loop waits for finality. */
  confirmed: "confirmed",
  /** Nothing changes any more. */
  finalized: "ended",
  failed_onchain: "ended",
  cancelled: "ended",
  expired: "ended",
  retried: "ended",
} as const satisfies Record<IntentState, string>;

type Phase = (typeof phases)[IntentState];

type StateIn<P extends Phase> = { [S in IntentState]: (typeof phases)[S] extends P ? S : never }[IntentState];

function statesIn<P extends Phase>(...wanted: P[]): StateIn<P>[] {
  const states = Object.keys(phases) as IntentState[];
  return states.filter((state): state is StateIn<P> => (wanted as Phase[]).includes(phases[state]));
}

/** States without a nonce: such a request may still be held, cancelled or expire. */
export const unassignedStates = statesIn("unassigned");

/** States with a nonce and in no block: such a request can be sent again, replaced, or cancelled at its nonce. */
export const openStates = statesIn("open");

/** States in which the confirm loop decides what becomes of a request next, but for `confirmed`. */
export const decidingStates = statesIn("in_block", "conflict");

/** States in which what was asked for is shown as done. */
export const confirmedStates: readonly IntentState[] = ["confirmed", "finalized"];

export const undecidedStates: readonly IntentState[] = statesIn(
  "unassigned",
  "batched",
  "open",
  "in_block",
  "conflict",
);

/** Whether a client still waits for an outcome: it is neither confirmed nor ended. */
export function isUndecided(state: IntentState): boolean {
  return undecidedStates.includes(state);
}

/** States of a request whose transaction is in a block that may still be taken back. */
export type MinedState = StateIn<"in_block" | "confirmed">;

/** States that no step leads out of. */
export const endedStates = statesIn("ended");
