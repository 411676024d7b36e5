import { expect } from "vitest";
import { type ChaosGoal, runChaos } from "./run-chaos.ts";

/** One run of chaos: the goals are met, and afterwards every table is what raw logs and contracts say. */
export async function expectSoundRun(goal: ChaosGoal): Promise<void> {
  const result = await runChaos(goal, process.env["CHAOS_SHOW"] ? console.log : () => undefined);
  // A run cannot be repeated exactly: what it was like is said with whatever fails.
  const text = JSON.stringify(result);
  console.log(text);
  expect({ differing: result.differing, wrong: result.wrong }, text).toEqual({ differing: {}, wrong: 0 });
  expect(result.products).toBeGreaterThan(0);
  expect(result.asked).toBeGreaterThanOrEqual(goal.tokens);
  expect(result.tokens).toBeGreaterThanOrEqual(goal.tokens);
  expect(result.reorgs).toBeGreaterThanOrEqual(goal.reorgs);
  expect(result.deepReorgs).toBe(goal.deepReorgs);
  expect(result.faultCount).toBeGreaterThanOrEqual(goal.faults);
  expect(result.killCount).toBeGreaterThanOrEqual(goal.kills);
  expect(Math.min(...Object.values(result.kills))).toBeGreaterThan(0);
}
