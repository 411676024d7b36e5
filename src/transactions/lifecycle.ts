import type { Hash } from "viem";
import type { IntentState } from "../db/tables/relay.ts";

// What becomes of a request: its states, the edges between them, and the rules of every step that the chain decides. Nothing
// here asks, waits, stores or looks at a clock (test/transactions/lifecycle.test.ts). Submitting has its own steps (submit/).

/**
 * Where a request can go from each of its states. `service.intent_edge` has the same edges, and a trigger refuses all
 * others; test/transactions/lifecycle.test.ts compares the two.
 */
export const lifecycle = {
  // Without a nonce.
  queued: ["held", "signed", "assigned", "batched", "mined", "confirmed", "failed_onchain", "cancelled", "expired"],
  held: ["queued", "signed", "batched", "cancelled", "expired"],
  // In the transaction of another mint of its contract, whose nonce it is.
  batched: ["queued", "confirmed", "failed_onchain"],
  // With a nonce, which is its own for ever. Earlier versions gave it before the signature.
  assigned: ["signed", "mined", "nonce_conflict"],
  signed: ["in_flight", "mined", "mined_reverted", "mined_cancellation", "nonce_conflict"],
  in_flight: ["mined", "mined_reverted", "mined_cancellation", "nonce_conflict"],
  // In a block, which a reorganisation may take back.
  mined: ["in_flight", "confirmed", "failed_onchain", "nonce_conflict"],
  mined_reverted: ["in_flight", "confirmed", "failed_onchain", "nonce_conflict"],
  mined_cancellation: ["in_flight", "confirmed", "cancelled", "nonce_conflict"],
  confirmed: ["in_flight", "batched", "finalized", "nonce_conflict"],
  // Its nonce is used up, without its effect.
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

/** States with a transaction in a block, of which nothing is final. */
export const inBlockStates = statesIn("in_block", "confirmed");

/** States of a request whose transaction is in a block that may still be taken back. */
type MinedState = StateIn<"in_block" | "confirmed">;

/** States that no step leads out of. */
export const endedStates = statesIn("ended");

/** A request, as far as a decision depends on it. */
export interface Tx {
  /** `call`: the operator calls a contract, to mint, move or change something. */
  kind: "deploy" | "update" | "contract" | "call";
  state: IntentState;
  /** Why it waits, as its row says. */
  why: string | null;
  /** Tries before this one. */
  tries: number;
  cancelling: boolean;
  /** Its part in a transaction of several requests: the lead has the nonce. */
  share: "lead" | "member" | null;
  /** Whether a nonce is reserved for it; of a member for its lead. */
  hasNonce: boolean;
  /** Where its transaction is mined, as its row says; of a member its lead's. */
  mined: Place | null;
}

/** A transaction in a block. */
interface Place {
  hash: Hash;
  block: bigint;
  blockHash: Hash;
}

/** A transaction in a block that is on the chain, and what its receipt says. */
export interface Outcome extends Place {
  /** `silent`: it succeeded and does not say that it did what was asked for. */
  how: "ok" | "reverted" | "cancellation" | "silent";
  /** Why the operator refused this request's call, the others of the transaction aside; empty: it gave no reason. Null: it did not. */
  refusal: string | null;
}

/** What one look at the chain saw. */
export interface Seen {
  head: bigint;
  /** The newest block that is never taken back. */
  final: bigint;
  /** Of each set of bytes that has a receipt, newest bytes first; of a member its lead's. */
  outcomes: readonly Outcome[];
  /** The hash of block `tx.mined.block`, as enough endpoints say; null while they do not agree. */
  blockNow: Hash | null;
  /** Its nonce is used for good, and for several looks no endpoint had a receipt of its bytes. */
  nonceSpent: boolean;
}

/** What is asked only where a decision depends on it: each answer costs questions to endpoints. */
export interface Answers {
  /** Whether enough endpoints report the outcome. */
  agreement: "agreed" | "denied" | "unknown";
  /** What is not as asked for; null: nothing. */
  fault: string | null;
  /** Whether any endpoint says that the operator has carried it out; that fewer than have to agree answer is a failure. */
  done: boolean;
  /** Whether enough endpoints say so. */
  doneByAll: boolean;
  /** Whether another transaction has carried it out, or deployed its contract, for good; `fault`: not as it was asked for. */
  elsewhere: "none" | "done" | "fault";
  /** Whether a contract stands at its address: for good, or of what lost its nonce at all. */
  stands: boolean;
  /** Whether an update, or a refused call, was mined after its contract. */
  effect: "took" | "none" | "unknown";
  /** As of `Outcome`. */
  refusal: string | null;
  /** Whether the wallet had no role when it was mined. */
  roleLost: boolean;
  outOfGas: boolean;
  /**
   * Whose transaction has its nonce: its own, whose bytes were lost; another one of ours; none of ours. `ofOurs`: its own is
   * one that this service signs, by its form.
   */
  usedBy: { by: "unknown" | "ours" | "stranger" } | { by: "own"; outcome: Outcome; ofOurs: boolean };
}
export type Question = keyof Answers;

/** What is to be done with a request now. */
export type Next =
  | { do: "wait" }
  /** Records where it is mined, if that is new, and moves it. */
  | { do: "move"; to: IntentState; why?: string; detail?: string; mined?: Outcome }
  /** It is in no block: its own is not on the chain any more, or an endpoint denies what its receipt says. */
  | { do: "takeBack"; why: "gone" | "denied" }
  /** It ends as what another transaction did. */
  | { do: "endElsewhere" }
  /** It goes on as a new row. */
  | { do: "retry" };

export interface Rules {
  /** Blocks that have to stand before a client is shown an outcome, its own the first. */
  confirmations: bigint;
}

/** Yields questions, is given their answers, and returns what to do. */
type Decision = Generator<Question, Next, Answers[Question]>;

const wait: Next = { do: "wait" };
/** Its transaction came to nothing: it waits for a nonce again, and goes alone. */
const released: Next = { do: "move", to: "queued" };
/** Tries of a request that failed by no fault of its own, beyond the first. */
const mostRepetitions = 2;
const minedStates = { ok: "mined", reverted: "mined_reverted", cancellation: "mined_cancellation" } as const;

/**
 * What becomes of a request by what the chain shows. Absent evidence is never a "no": nothing ends but by a block that enough
 * endpoints report.
 *
 * @param seen of `tx` as it stands; answers are about the same moment or a later one.
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
      // A confirmed member becomes what its lead becomes, in the same commit.
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
    // Its first bytes are stored as it becomes `signed`: what is seen of them before is looked at anew.
    if (outcome.how === "silent" || (tx.state === "assigned" && outcome.how !== "ok")) continue;
    if (outcome.how === "ok" && tx.kind === "update") {
      const effect = yield* ask("effect");
      if (effect === "unknown") return wait;
      // Nothing stood there: its nonce is used up for nothing, once that is final.
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

/** Without bytes of its own in the database a request is neither refused nor cancelled by what is found. */
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
      // What another transaction has done is not cancelled: it ends as that, once that is final.
      return isByOperator(tx) && (yield* ask("done")) ? wait : move("cancelled");
    }
    default:
      return state satisfies never;
  }
}

function* confirm(tx: Tx, isFinal: boolean): Decision {
  const fault = yield* ask("fault");
  if (tx.share === "lead") {
    // The transaction's own success does not tell that this call was carried out.
    const agreed = yield* ask("doneByAll");
    if (isFinal && (fault !== null || !agreed) && !(yield* ask("done"))) return conflict("batch_failed");
    if (!agreed) return wait;
  }
  return fault === null ? move("confirmed") : show(tx, fault);
}

/** What stands there is not what was asked for: it stays as it is, for a person to see. */
function show(tx: Tx, fault: string): Next {
  return tx.why === "verification" ? wait : move(tx.state, { why: "verification", detail: fault });
}

/**
 * What ran out of gas did so because a node estimated too little: it is tried again. So is what was mined while the wallet
 * had no role or before its contract, and the lead of a transaction that failed, maybe by the fault of another request
 * in it. Everything else that the chain refused it refused for good.
 */
function* endReverted(tx: Tx): Decision {
  // A duplicate of a transaction whose rows were lost: the chain refuses the second.
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

/** One of several requests of a transaction ends by what the operator logged of it, whatever became of the others. */
function* asMember(tx: Tx, seen: Seen, { confirmations }: Rules): Decision {
  const { mined } = tx;
  if (!mined) return (yield* ask("done")) ? yield* endElsewhere() : released;
  const [outcome] = seen.outcomes;
  if (mined.block > seen.head) return wait;
  // Another block: the look at the lead takes that back.
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
  // The whole transaction failed, or did nothing; or the call had too little gas in it.
  if (!outcome.refusal) return released;
  const effect = yield* ask("effect");
  if (effect === "unknown") return wait;
  return effect === "none" ? released : move("failed_onchain", { why: "refused", detail: outcome.refusal });
}

function* endElsewhere(): Decision {
  return (yield* ask("elsewhere")) === "none" ? wait : { do: "endElsewhere" };
}

/** Its nonce went to something else, or was lost: it is tried again unless it is done, now or for good. */
function* afterConflict(tx: Tx): Decision {
  // Of an update with a nonce it is known that it did nothing; of one without, nothing while its collection stands.
  if (tx.kind !== "update" || !tx.hasNonce) {
    const isDone = isByOperator(tx) ? yield* ask("done") : yield* ask("stands");
    if (isDone) return yield* endElsewhere();
  }
  return tx.state === "nonce_conflict" ? { do: "retry" } : move("nonce_conflict");
}
