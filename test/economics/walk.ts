import { workOf } from "../../src/admission/pay-for-work.ts";
import { type Asker, type Attack, isAttacked, type Target } from "./attack.ts";
import { attackTable } from "./attack-table.ts";
import { boundOf } from "./bounds.ts";
import type { Cost, Meter } from "./meter.ts";
import type { Stage } from "./stage.ts";

export type Attacker = "free account" | "no key";

/** What one attack was found to cost. */
export interface Finding {
  operation: string;
  attacker: Attacker;
  worst: string;
  /** The statuses of its answers. */
  statuses: readonly number[];
  transaction: boolean;
  places: number;
  cost: Cost;
  /** What one request paid of the time that content and pages have. */
  paidMs: number;
  /** What the account's storage counted for one request. */
  countedBytes: number;
}

/** Carries out every attack of the table, once with a key and once without. */
export async function attackEverything(stage: Stage, meter: Meter, target: Target, key: string): Promise<Finding[]> {
  const found: Finding[] = [];
  for (const [operation, entry] of Object.entries(attackTable)) {
    if (!isAttacked(entry)) continue;
    for (const attack of [entry].flat()) {
      found.push(await carryOut(stage, meter, target, operation, attack, stage.asker(key)));
      found.push(await carryOut(stage, meter, target, operation, attack, stage.asker(null)));
    }
  }
  return found;
}

async function carryOut(
  stage: Stage,
  meter: Meter,
  target: Target,
  operation: string,
  attack: Attack,
  asker: Asker,
): Promise<Finding> {
  const attacker: Attacker = asker.key === null ? "no key" : "free account";
  const transaction = attack.transaction === true && asker.key !== null;
  const bound = boundOf(operation, attacker, transaction);
  const isCheap = bound === "page" || bound === "uncounted";
  const isRepeated = (isCheap || bound === "read" || bound === "upload") && !attack.after;
  const times = isCheap && !attack.after ? 15 : (attack.times ?? 3);
  const statuses: number[] = [];
  // The first request of a kind takes what is compiled once; others are what an attacker sends all day.
  if (isCheap && !attack.after) for (let index = 0; index < 5; index += 1) await attack.run(target, asker, index);
  // What reads made it want is stored a moment later: by then it would be counted to the next attack.
  await stage.services.demand.flush();
  if (attack.after === "webhooks") await stage.verifyEndpoints(!/verify/i.test(operation));
  const owner = asker.key === null ? `address ${asker.address}` : `account ${stage.account}`;
  const before = { paid: workOf(stage.services).paid(owner), stored: await stage.stored() };
  const one = async (index: number) => {
    statuses.push((await attack.run(target, asker, asker.key === null ? times + index : index)).status);
    // What the worker has to do for all of them together is done at once.
    const isLast = index === times - 1 && statuses.includes(200);
    if (index === times - 1) await stage.services.demand.flush();
    if (attack.after === "relay" || (attack.after && isLast)) await stage.work(attack.after);
  };
  const first = await meter.measure(times, one);
  // What the machine did meanwhile is no part of it: where the processor's time decides, the lesser of two.
  const again = isRepeated ? await meter.measure(times, one) : first;
  const cost = { ...first, processorMs: Math.min(first.processorMs, again.processorMs) };
  const requests = again === first ? times : 2 * times;
  return {
    ...{ operation, attacker, worst: attack.worst, statuses, transaction, places: attack.places ?? 1, cost },
    paidMs: (workOf(stage.services).paid(owner) - before.paid) / requests,
    countedBytes: ((await stage.stored()) - before.stored) / requests,
  };
}
