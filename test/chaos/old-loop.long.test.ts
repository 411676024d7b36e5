import { expect, test } from "vitest";
import { slowness } from "../setup/wait.ts";
import { runOldLoop } from "./old-loop.ts";

test("20 mints by scripts that repeat every answer but 200 at once, while answers are lost: 20 tokens", {
  timeout: 300_000 * slowness,
}, async () => {
  const run = { mints: 20, seed: 5, seconds: 200, loops: 4, lostAnswers: 0.25, rate: 0.03, killEveryMs: 0 };
  const figures = await runOldLoop(run);
  const verdict = JSON.stringify(figures);
  expect(figures, verdict).toMatchObject({ tokens: 20, unanswered: 0, doubled: [], wrong: [], violations: [] });
  expect(figures.tally["answers lost"], verdict).toBeGreaterThan(2);
});
