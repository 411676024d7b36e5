import { expect, test } from "vitest";
import { runChaos } from "./chaos/run-chaos.ts";

const seed = Number(process.env["CHAOS_SEED"] ?? 4);
const deepReorgs = Number(process.env["CHAOS_DEEP_REORGS"] ?? 0);

test("after reorganisations, kills and lies every table is what raw logs and contracts say", async () => {
  // The time is for a machine that is many times slower than ours; the goals end the run.
  const goal = { seed, tokens: 20_000, reorgs: 50, kills: 20, lies: 500, deepReorgs, maxMs: 1_200_000 };
  const result = await runChaos(goal, process.env["CHAOS_SHOW"] ? console.log : () => undefined);
  // A run cannot be repeated exactly: what it was like is said with whatever fails.
  const told = JSON.stringify(result);
  console.log(told);
  expect({ differing: result.differing, wrong: result.wrong }, told).toEqual({ differing: {}, wrong: 0 });
  expect(result.asked).toBeGreaterThanOrEqual(goal.tokens);
  expect(result.tokens).toBeGreaterThanOrEqual(goal.tokens);
  expect(result.reorgs).toBeGreaterThanOrEqual(goal.reorgs);
  expect(result.deepReorgs).toBe(goal.deepReorgs);
  expect(result.lieCount).toBeGreaterThanOrEqual(goal.lies);
  expect(result.killCount).toBeGreaterThanOrEqual(goal.kills);
  expect(Math.min(...Object.values(result.kills))).toBeGreaterThan(0);
}, 1_700_000);
