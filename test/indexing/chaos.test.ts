import { expect, test } from "vitest";
import { runChaos } from "./chaos/run-chaos.ts";

test("after reorganisations, kills and lies every table is what raw logs and contracts say", async () => {
  const goal = { seed: 4, tokens: 20_000, reorgs: 50, kills: 20, lies: 500, deepReorgs: 0, maxMs: 100_000 };
  const result = await runChaos(goal, () => undefined);
  console.log(JSON.stringify(result));
  expect({ differing: result.differing, wrong: result.wrong }).toEqual({ differing: {}, wrong: 0 });
  expect(result.asked).toBeGreaterThan(0);
}, 900_000);
