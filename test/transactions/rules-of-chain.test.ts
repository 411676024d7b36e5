import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type Answers,
  decide,
  endedStates,
  lifecycle,
  type Next,
  type Outcome,
  openStates,
  type Question,
  type Rules,
  type Seen,
  type Tx,
} from "../../src/transactions/lifecycle.ts";

// The rules of `decide` against a chain and endpoints that say anything at all, in any order.

const rules: Rules = { confirmations: 5n };
const hashes = fc.constantFrom("0xa1", "0xb2", "0xc3") as fc.Arbitrary<`0x${string}`>;
const block = fc.bigInt({ min: 80n, max: 102n });
const place = fc.record({ hash: hashes, block, blockHash: hashes });
const outcome: fc.Arbitrary<Outcome> = fc.record({
  hash: hashes,
  block,
  blockHash: hashes,
  how: fc.constantFrom("ok", "reverted", "cancellation", "silent"),
  refusal: fc.constantFrom(null, "", "not yours"),
});
const kind = fc.constantFrom<Tx["kind"]>("deploy", "update", "contract", "call");
const answers: fc.Arbitrary<Answers> = fc.record({
  agreement: fc.constantFrom("agreed", "agreed", "denied", "unknown"),
  fault: fc.constantFrom(null, null, "its owner is somebody else"),
  done: fc.boolean(),
  doneByAll: fc.boolean(),
  elsewhere: fc.constantFrom("none", "done", "fault"),
  stands: fc.boolean(),
  effect: fc.constantFrom("took", "took", "none", "unknown"),
  refusal: fc.constantFrom(null, "", "not yours"),
  roleLost: fc.boolean(),
  outOfGas: fc.boolean(),
  usedBy: fc.oneof(
    fc.record({ by: fc.constantFrom("unknown", "ours", "stranger") }),
    fc.record({ by: fc.constant("own"), outcome, ofOurs: fc.boolean() }),
  ) as fc.Arbitrary<Answers["usedBy"]>,
});
const seen: fc.Arbitrary<Seen> = fc.record({
  head: fc.bigInt({ min: 90n, max: 102n }),
  final: fc.bigInt({ min: 80n, max: 95n }),
  outcomes: fc.array(outcome, { maxLength: 3 }),
  blockNow: fc.option(hashes, { nil: null }),
  nonceSpent: fc.boolean(),
});
const mayBeMined = ["mined", "mined_reverted", "mined_cancellation", "confirmed"];
const tx: fc.Arbitrary<Tx> = fc
  .record({
    kind,
    state: fc.constantFrom(...(Object.keys(lifecycle) as Tx["state"][])),
    why: fc.constantFrom(null, "verification"),
    tries: fc.nat({ max: 3 }),
    cancelling: fc.boolean(),
    lead: fc.boolean(),
    hasNonce: fc.boolean(),
    mined: fc.option(place, { nil: null }),
  })
  .map(({ lead, ...one }) => {
    const shared = one.state === "batched" ? ("member" as const) : lead ? ("lead" as const) : null;
    const isMined = mayBeMined.includes(one.state) || one.state === "batched";
    // Mints alone share a transaction, and what is mined has its nonce.
    const mined = isMined ? one.mined : null;
    return { ...one, kind: shared ? "call" : one.kind, share: shared, mined, hasNonce: one.hasNonce || mined !== null };
  });

interface Decided {
  next: Next;
  asked: Question[];
}

function run(one: Tx, look: Seen, world: Answers): Decided {
  const asked: Question[] = [];
  const decision = decide(one, look, rules);
  let step = decision.next();
  while (!step.done) {
    asked.push(step.value);
    step = decision.next(world[step.value]);
  }
  return { next: step.value, asked };
}

/** States on the way of one step, from the request's own. */
function path({ state }: Tx, next: Next, { elsewhere }: Pick<Answers, "elsewhere">): Tx["state"][] {
  switch (next.do) {
    case "wait":
      return [state];
    case "takeBack":
      return [state, "in_flight"];
    case "endElsewhere":
      return elsewhere === "fault" ? [state, "failed_onchain"] : [state, "confirmed", "finalized"];
    case "retry":
      return [state, "retried"];
    case "move":
      return next.to === "nonce_conflict" && next.mined
        ? [state, "mined", next.to]
        : next.to === state
          ? [state]
          : [state, next.to];
    default:
      return next satisfies never;
  }
}

const ended: readonly string[] = endedStates;
const open: readonly string[] = openStates;

function check(one: Tx, look: Seen, world: Answers): Next {
  const { next, asked } = run(one, look, world);
  const states = path(one, next, world);
  for (const [index, to] of states.slice(1).entries())
    expect(lifecycle[states[index] as Tx["state"]], `${states[index]} leads to ${to}`).toContain(to);
  expect(new Set(asked).size, "nothing is asked twice").toBe(asked.length);
  if (ended.includes(one.state) || one.state === "queued" || one.state === "held") expect(next).toEqual({ do: "wait" });
  const to = states.at(-1) ?? one.state;
  const isMoved = next.do === "move" && next.to !== one.state;
  if (isMoved && one.mined && (to === "confirmed" || to === "failed_onchain" || to === "cancelled")) {
    expect(asked, `${to} only by endpoints that agree`).toContain("agreement");
    expect(world.agreement).toBe("agreed");
    expect(look.blockNow, "only in the block that the chain has").toBe(one.mined.blockHash);
  }
  if (isMoved && to === "confirmed") {
    expect(look.head - (one.mined?.block ?? 0n) + 1n).toBeGreaterThanOrEqual(rules.confirmations);
    expect(world.fault, "not what was asked for").toBeNull();
    if (one.share) expect(world.doneByAll).toBe(true);
  }
  if (isMoved && (to === "finalized" || to === "failed_onchain" || to === "cancelled") && one.mined)
    expect(one.mined.block, "only what is final ends").toBeLessThanOrEqual(look.final);
  if (isMoved && (to === "failed_onchain" || to === "cancelled" || to === "queued") && one.kind === "call")
    expect(world.done, "what is done is neither failed nor sent again").toBe(false);
  if (next.do === "retry" && one.kind !== "update")
    expect(one.kind === "deploy" ? world.stands : world.done, "what stands is not made again").toBe(false);
  if (next.do === "endElsewhere") expect(world.elsewhere).not.toBe("none");
  if (next.do === "move" && next.to === "nonce_conflict") {
    // A nonce is only left behind when it is used up for good.
    const spent = next.mined?.block ?? one.mined?.block;
    if (spent !== undefined) expect(spent).toBeLessThanOrEqual(look.final);
    else if (open.includes(one.state)) expect(look.nonceSpent).toBe(true);
    if (one.state === "mined_reverted") expect(one.tries, "a fault is repeated twice at most").toBeLessThan(2);
    const isOurs = world.usedBy.by === "own" ? world.usedBy.ofOurs : world.usedBy.by === "ours";
    if (next.why === "nonce_taken" || next.why === "nonce_passed_on")
      expect(isOurs, "a wallet is halted for a stranger's transaction alone").toBe(next.why === "nonce_passed_on");
  }
  if (next.do === "takeBack") expect(one.share).not.toBe("member");
  return next;
}

test("whatever is said of a chain, no step breaks a rule", () => {
  fc.assert(
    fc.property(tx, seen, answers, (one, look, world) => void check(one, look, world)),
    { numRuns: 20_000 },
  );
});

test("a request goes from step to step by the edges alone, until it has ended or waits", () => {
  const looks = fc.array(fc.tuple(seen, answers), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(tx, looks, (first, all) => {
      let one = first;
      for (const [look, world] of all) {
        const before = one;
        const next = check(one, look, world);
        const state = path(one, next, world).at(-1) ?? one.state;
        const mined = next.do === "move" && next.mined ? next.mined : one.mined;
        one = { ...one, state, mined: mayBeMined.includes(state) || state === "batched" ? mined : null };
        if (one.mined) one.hasNonce = true;
        if (ended.includes(before.state)) expect(one.state).toBe(before.state);
      }
    }),
    { numRuns: 100_000 },
  );
});

test("the same evidence leads to the same step, and nothing is known of a block that no endpoint names", () => {
  fc.assert(
    fc.property(tx, seen, answers, (one, look, world) => {
      expect(run(one, look, world)).toEqual(run(one, look, world));
      if (!one.mined || !mayBeMined.includes(one.state)) return;
      expect(run(one, { ...look, blockNow: null }, world)).toEqual({ next: { do: "wait" }, asked: [] });
    }),
    { numRuns: 5_000 },
  );
});

test("endpoints that do not say enough end nothing", () => {
  const silent: Answers = {
    ...{ agreement: "unknown", fault: null, done: false, doneByAll: false, elsewhere: "none", stands: true },
    ...{ effect: "unknown", refusal: null, roleLost: false, outOfGas: false, usedBy: { by: "unknown" } },
  };
  fc.assert(
    fc.property(tx, seen, (one, look) => {
      const { next } = run(one, look, silent);
      const states = path(one, next, silent).slice(1);
      // Of a confirmed one endpoints have agreed before; without a block of its own there is nothing to be agreed on.
      if (one.state === "confirmed" || one.mined === null) return;
      expect(states.filter((state) => ended.includes(state) || state === "confirmed")).toEqual([]);
    }),
    { numRuns: 5_000 },
  );
});
