import { expect, test } from "vitest";
import { runChaos } from "./chaos/run-chaos.ts";

const seed = Number(process.env["CHAOS_SEED"] ?? 4);
/** CHAOS_GOALS=1: goes on until all goals are reached, and fails when one is not. */
const isWhole = process.env["CHAOS_GOALS"] === "1";

test("after reorganisations, kills and lies every table is what raw logs and contracts say", async () => {
  const maxMs = isWhole ? 900_000 : 100_000;
  const goal = { seed, tokens: 20_000, reorgs: 50, kills: 20, lies: 500, deepReorgs: 0, maxMs };
  const result = await runChaos(goal, isWhole ? console.log : () => undefined);
  console.log(JSON.stringify(result));
  expect({ differing: result.differing, wrong: result.wrong }).toEqual({ differing: {}, wrong: 0 });
  expect(result.asked).toBeGreaterThan(0);
  if (!isWhole) return;
  expect(result.tokens).toBeGreaterThanOrEqual(goal.tokens);
  expect(result.reorgs).toBeGreaterThanOrEqual(goal.reorgs);
  expect(result.lieCount).toBeGreaterThanOrEqual(goal.lies);
  const { ponder = 0, launcher = 0, postgres = 0 } = result.kills;
  expect(ponder + launcher + postgres).toBeGreaterThanOrEqual(goal.kills);
  expect(Math.min(ponder, launcher, postgres)).toBeGreaterThan(0);
}, 1_300_000);
