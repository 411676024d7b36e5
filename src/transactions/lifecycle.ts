import type { Hash } from "viem";
import type { IntentState } from "../db/tables/relay.ts";

// The states of a request, the edges between them, and the rules of every transition that the chain decides. Pure: no
// I/O, no storage, no clock (test/transactions/lifecycle.test.ts). Submitting has its own steps (submit/).

/**
 * The transitions allowed from each state. `service.intent_edge` has the same edges, and a trigger refuses all others;
 * test/transactions/lifecycle.test.ts compares the two.
 */
export const lifecycle = {
  // Without a nonce.
  queued: ["held", "signed", "assigned", "batched", "mined", "confirmed", "failed_onchain", "cancelled", "expired"],
  held: ["queued", "signed", "batched", "cancelled", "expired"],
  // In the transaction of another mint of the same contract (the lead), which has the nonce.
  batched: ["queued", "confirmed", "failed_onchain"],
  // Has a nonce, which belongs to it for ever. Earlier versions assigned the nonce before the signature.
  assigned: ["signed", "mined", "nonce_conflict"],
  signed: ["in_flight", "mined", "mined_reverted", "mined_cancellation", "nonce_conflict"],
  in_flight: ["mined", "mined_reverted", "mined_cancellation", "nonce_conflict"],
  // In a block, which a reorganisation may remove.
  mined: ["in_flight", "confirmed", "failed_onchain", "nonce_conflict"],
  mined_reverted: ["in_flight", "confirmed", "failed_onchain", "nonce_conflict"],
  mined_cancellation: ["in_flight", "confirmed", "cancelled", "nonce_conflict"],
  confirmed: ["in_flight", "batched", "finalized", "nonce_conflict"],
  // Its nonce was consumed without the request's effect.
  nonce_conflict: ["confirmed", "failed_onchain", "retried"],
  // Ended. A retried request goes on as a new row.
  finalized: [],
  failed_onchain: [],
  cancelled: [],
  expired: [],
  retried: [],
} as const satisfies Record<IntentState, readonly IntentState[]>;

/** How each state is handled: which loop picks the request up, and what clients see. */
const phases = {
  /** No nonce yet: the submit loop takes it up. */
  queued: "unassigned",
  held: "unassigned",
  /** A member of a batch: the confirm loop checks the lead's transaction. */
  batched: "batched",
  /** Has a nonce but is in no block: the resubmit loop sends it until it is mined. */
  assigned: "open",
  signed: "open",
  in_flight: "open",
  /** In a block: the confirm loop follows it. */
  mined: "in_block",
  mined_reverted: "in_block",
  mined_cancellation: "in_block",
  /** Its nonce was consumed without its effect: the confirm loop retries it. */
  nonce_conflict: "conflict",
  /** Shown to clients as done: the confirm loop waits for finality. */
  confirmed: "confirmed",
  /** Terminal. */
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

/** States with a nonce but in no block: such a request can be sent again, replaced, or cancelled at its nonce. */
export const openStates = statesIn("open");

/** States in which the confirm loop decides the next transition, except `confirmed`. */
export const decidingStates = statesIn("in_block", "conflict");

/** States in which clients see the request as done. */
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

/** States whose transaction is in a block and not yet final. */
export const inBlockStates = statesIn("in_block", "confirmed");

/** States of a request whose transaction is in a block that a reorganisation may still remove. */
type MinedState = StateIn<"in_block" | "confirmed">;

/** Terminal states. */
export const endedStates = statesIn("ended");

/** The part of a request that decisions depend on. */
export interface Tx {
  /** `call`: the operator calls a contract, to mint, move or change something. */
  kind: "deploy" | "update" | "contract" | "call";
  state: IntentState;
  /** The row's reason for waiting. */
  why: string | null;
  /** Earlier attempts at this request. */
  tries: number;
  cancelling: boolean;
  /** The request's role in a shared transaction: the lead has the nonce. */
  share: "lead" | "member" | null;
  /** Whether a nonce is reserved for it; for a member, whether one is reserved for its lead. */
  hasNonce: boolean;
  /** Where its row records its transaction as mined; for a member, the lead's transaction. */
  mined: Place | null;
}

/** A transaction in a block. */
interface Place {
  hash: Hash;
  block: bigint;
  blockHash: Hash;
}

/** A transaction in a canonical block, with the result from its receipt. */
export interface Outcome extends Place {
  /** `silent`: it succeeded, but nothing in it shows that the request was carried out. */
  how: "ok" | "reverted" | "cancellation" | "silent";
  /** The operator's reason for refusing this request's call alone; empty: refused without one; null: not refused. */
  refusal: string | null;
}

/** What one look at the chain showed. */
export interface Seen {
  head: bigint;
  /** The newest final block. */
  final: bigint;
  /** The outcome of each set of bytes that has a receipt, newest bytes first; for a member, the lead's. */
  outcomes: readonly Outcome[];
  /** The hash of block `tx.mined.block` as enough endpoints report it; null while they do not agree. */
  blockNow: Hash | null;
  /** Its nonce is consumed for good, and over several looks no endpoint had a receipt for its bytes. */
  nonceSpent: boolean;
}

/** Read only where a decision depends on it, since each answer costs calls to endpoints. */
export interface Answers {
  /** Whether enough endpoints report the outcome. */
  agreement: "agreed" | "denied" | "unknown";
  /** How the chain differs from the request; null: it does not. */
  fault: string | null;
  /** Whether any endpoint reports that the operator carried it out; an error if fewer than the quorum answer. */
  done: boolean;
  /** Whether enough endpoints report that. */
  doneByAll: boolean;
  /** Whether another transaction carried it out, or deployed its contract, for good; `fault`: not as requested. */
  elsewhere: "none" | "done" | "fault";
  /** Whether a contract stands at its address: for good, or, for a request that lost its nonce, at all. */
  stands: boolean;
  /** Whether an update, or a refused call, was mined after its contract. */
  effect: "took" | "none" | "unknown";
  /** See `Outcome`. */
  refusal: string | null;
  /** Whether the wallet lacked the role when the transaction was mined. */
  roleLost: boolean;
  outOfGas: boolean;
  /**
   * Which transaction used the nonce: the request's own, whose bytes were lost; another of ours; or none of ours.
   * `ofOurs`: the request's own transaction has a form that this service signs.
   */
  usedBy: { by: "unknown" | "ours" | "stranger" } | { by: "own"; outcome: Outcome; ofOurs: boolean };
}
export type Question = keyof Answers;

/** The next step for a request. */
export type Next =
  | { do: "wait" }
  /** Records the block in which it is mined, if that is new, and moves the request to another state. */
  | { do: "move"; to: IntentState; why?: string; detail?: string; mined?: Outcome }
  /** It is in no block: its block is no longer canonical, or an endpoint contradicts the receipt. */
  | { do: "takeBack"; why: "gone" | "denied" }
  /** It ends with the result of another transaction. */
  | { do: "endElsewhere" }
  /** It goes on as a new row. */
  | { do: "retry" };

export interface Rules {
  /** Number of blocks, its own included, that have to stand before a client is shown an outcome. */
  confirmations: bigint;
}

/** Yields questions, receives their answers, and returns the next step. */
type Decision = Generator<Question, Next, Answers[Question]>;

const wait: Next = { do: "wait" };
/** The transaction came to nothing: the request waits for a nonce again, and is then sent alone. */
const released: Next = { do: "move", to: "queued" };
/** Retries of a request that failed through no fault of its own. */
const mostRepetitions = 2;
const minedStates = { ok: "mined", reverted: "mined_reverted", cancellation: "mined_cancellation" } as const;

/**
 * Decides the next step of a request from what the chain shows. Missing evidence is never a "no": a request ends only
 * by a block that enough endpoints report.
 *
 * @param seen of `tx` as it stands; the answers are from the same moment or a later one.
 */
export function* decide(tx: Tx, seen: Seen, rules: Rules): Decision {
  switch (tx.state) {
    case "assigned":
    case "signed":
    case "in_flight":
      return yield* whileInNoBlock(tx, seen);
    case "batched":
      return yield* asMember(tx, seen, rules);
    case "mined":
    case "mined_reverted":
    case "mined_cancellation":
    case "confirmed":
      // A confirmed member changes state with its lead, in the same commit.
      if (tx.share === "member") return wait;
      if (tx.mined) return yield* inBlock(tx, tx.mined, tx.state, seen, rules);
      return tx.state === "mined" && !tx.hasNonce ? yield* afterConflict(tx) : wait;
    case "nonce_conflict":
      return yield* afterConflict(tx);
    case "queued":
    case "held":
    case "finalized":
    case "failed_onchain":
    case "cancelled":
    case "expired":
    case "retried":
      return wait;
    default:
      return tx.state satisfies never;
  }
}

function* ask<Q extends Question>(question: Q): Generator<Question, Answers[Q], Answers[Question]> {
  return (yield question) as Answers[Q];
}

function move(to: IntentState, more: { why?: string; detail?: string; mined?: Outcome } = {}): Next {
  return { do: "move", to, ...more };
}

function conflict(why: string): Next {
  return move("nonce_conflict", { why });
}

function isByOperator({ kind }: Tx): boolean {
  return kind === "contract" || kind === "call";
}

function* whileInNoBlock(tx: Tx, { outcomes, final, nonceSpent }: Seen): Decision {
  for (const outcome of outcomes) {
    // The first bytes are stored as the request becomes `signed`: outcomes seen before that are read again.
    if (outcome.how === "silent" || (tx.state === "assigned" && outcome.how !== "ok")) continue;
    if (outcome.how === "ok" && tx.kind === "update") {
      const effect = yield* ask("effect");
      if (effect === "unknown") return wait;
      // No contract stood at the address: the nonce was wasted, once that is final.
      if (effect === "none")
        return outcome.block <= final ? move("nonce_conflict", { why: "no_effect", mined: outcome }) : wait;
    }
    return move(minedStates[outcome.how], { mined: outcome });
  }
  if (!nonceSpent) return wait;
  const used = yield* ask("usedBy");
  switch (used.by) {
    case "unknown":
      return wait;
    case "own":
      return isOwn(tx, used.outcome.how)
        ? move(minedStates[used.outcome.how], { mined: used.outcome })
        : conflict(used.ofOurs ? "nonce_passed_on" : "nonce_taken");
    case "ours":
      return conflict("nonce_passed_on");
    case "stranger":
      return conflict("nonce_taken");
    default:
      return used satisfies never;
  }
}

/** A request without bytes of its own in the database can be recovered as mined, but not as reverted or cancelled. */
function isOwn({ state, cancelling }: Tx, how: Outcome["how"]): how is keyof typeof minedStates {
  if (how === "silent") return false;
  return how === "ok" || (state !== "assigned" && (how === "reverted" || cancelling));
}

function* inBlock(tx: Tx, mined: Place, state: MinedState, seen: Seen, rules: Rules): Decision {
  // A head behind the block, a block that is not there, endpoints at odds: lag, not a reorganisation.
  if (mined.block > seen.head || seen.blockNow === null) return wait;
  if (seen.blockNow !== mined.blockHash) return { do: "takeBack", why: "gone" };
  // Success is shown once enough blocks stand on its own; every other outcome waits for the chain's finality.
  const isDeep = seen.head - mined.block + 1n >= rules.confirmations;
  const isFinal = mined.block <= seen.final;
  if (!(state === "mined" ? isDeep : isFinal)) return wait;
  if (state === "confirmed") return move("finalized");
  const agreement = yield* ask("agreement");
  if (agreement === "unknown") return wait;
  if (agreement === "denied") return { do: "takeBack", why: "denied" };
  switch (state) {
    case "mined":
      return yield* confirm(tx, isFinal);
    case "mined_reverted":
      return yield* endReverted(tx);
    case "mined_cancellation": {
      const elsewhere = yield* ask("elsewhere");
      if (elsewhere === "done") return { do: "endElsewhere" };
      if (elsewhere === "fault") return show(tx, "another transaction did something else of it, for good");
      // A request that another transaction carried out is not cancelled: it ends with that one, once it is final.
      return isByOperator(tx) && (yield* ask("done")) ? wait : move("cancelled");
    }
    default:
      return state satisfies never;
  }
}

function* confirm(tx: Tx, isFinal: boolean): Decision {
  const fault = yield* ask("fault");
  if (tx.share === "lead") {
    // The transaction's success does not show that this call was carried out.
    const agreed = yield* ask("doneByAll");
    if (isFinal && (fault !== null || !agreed) && !(yield* ask("done"))) return conflict("batch_failed");
    if (!agreed) return wait;
  }
  return fault === null ? move("confirmed") : show(tx, fault);
}

/** The chain differs from the request: it keeps its state, for a person to look at. */
function show(tx: Tx, fault: string): Next {
  return tx.why === "verification" ? wait : move(tx.state, { why: "verification", detail: fault });
}

/**
 * A transaction that ran out of gas did so because a node estimated too little: the request is retried. So is one that
 * was mined while the wallet had no role or before its contract, and the lead of a failed transaction, since another
 * request in it may have been at fault. Any other refusal by the chain is final.
 */
function* endReverted(tx: Tx): Decision {
  // A duplicate of a transaction whose rows were lost: the chain refuses the second one.
  if ((yield* ask("elsewhere")) !== "none") return { do: "endElsewhere" };
  if (isByOperator(tx) && (yield* ask("done"))) return wait;
  const refusal = tx.share === "lead" ? yield* ask("refusal") : null;
  const mayRepeat = tx.tries < mostRepetitions && !tx.cancelling;
  if (mayRepeat && tx.kind !== "update" && refusal === null && (yield* ask("roleLost"))) return conflict("role");
  if (mayRepeat && tx.share === "lead" && !refusal) return conflict("batch_failed");
  if (mayRepeat && tx.kind === "call") {
    const effect = yield* ask("effect");
    if (effect === "unknown") return wait;
    if (effect === "none") return conflict("no_effect");
  }
  if (refusal !== null) return move("failed_onchain", { why: "refused", ...(refusal ? { detail: refusal } : {}) });
  return mayRepeat && (yield* ask("outOfGas")) ? conflict("out_of_gas") : move("failed_onchain");
}

/** A member of a batch ends by what the operator logged for it, whatever became of the others. */
function* asMember(tx: Tx, seen: Seen, { confirmations }: Rules): Decision {
  const { mined } = tx;
  if (!mined) return (yield* ask("done")) ? yield* endElsewhere() : released;
  const [outcome] = seen.outcomes;
  if (mined.block > seen.head) return wait;
  // The block has changed: the round that checks the lead takes it back.
  if (seen.blockNow !== mined.blockHash || outcome?.blockHash !== mined.blockHash) return wait;
  const done = outcome.how === "ok";
  if (done ? seen.head - mined.block + 1n < confirmations : mined.block > seen.final) return wait;
  if ((yield* ask("agreement")) !== "agreed") return wait;
  if (done) {
    if (!(yield* ask("doneByAll"))) return wait;
    const fault = yield* ask("fault");
    return fault === null ? move("confirmed") : show(tx, fault);
  }
  if (yield* ask("done")) return yield* endElsewhere();
  // The whole transaction failed or did nothing, or this call had too little gas in it.
  if (!outcome.refusal) return released;
  const effect = yield* ask("effect");
  if (effect === "unknown") return wait;
  return effect === "none" ? released : move("failed_onchain", { why: "refused", detail: outcome.refusal });
}

function* endElsewhere(): Decision {
  return (yield* ask("elsewhere")) === "none" ? wait : { do: "endElsewhere" };
}

/** Its nonce was used by another transaction, or lost: the request is retried unless it is done, now or for good. */
function* afterConflict(tx: Tx): Decision {
  // An update with a nonce surely had no effect; of one without, nothing is known while its collection stands.
  if (tx.kind !== "update" || !tx.hasNonce) {
    const isDone = isByOperator(tx) ? yield* ask("done") : yield* ask("stands");
    if (isDone) return yield* endElsewhere();
  }
  return tx.state === "nonce_conflict" ? { do: "retry" } : move("nonce_conflict");
}
