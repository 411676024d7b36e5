import { expect, test } from "vitest";
import { runMintChaos } from "./mint-run.ts";
import { runOldLoop } from "./old-loop.ts";

test("240 mints, a third of them batches, while everything breaks: each stands once as it was asked for, and what was refused cost nothing", {
  timeout: 480_000,
}, async () => {
  const figures = await runMintChaos({ mints: 240, seed: 2, seconds: 360, rate: 0.12, repeats: 0.2 });
  const { tally, faults, ...rest } = figures;
  const verdict = `${JSON.stringify({ ...rest, faults: faults.length, tally })}\n`;
  process.stdout.write(verdict);
  expect(figures, verdict).toMatchObject({ lost: [], doubled: [], wrong: [], violations: [] });
  expect(figures.mints, verdict).toBeGreaterThanOrEqual(200);
  expect(tally["refused: receiver"], verdict).toBeGreaterThanOrEqual(20);
  expect(tally["refused: taken id"], verdict).toBeGreaterThanOrEqual(40);
  expect(figures.matrix.length, verdict).toBeGreaterThanOrEqual(33);
  expect(figures.kills, verdict).toBeGreaterThanOrEqual(8);
  expect(figures.reorgs, verdict).toBeGreaterThanOrEqual(5);
});

test("400 mints by scripts that repeat every answer but 200 at once, while answers are lost and processes killed: 400 tokens", {
  timeout: 360_000,
}, async () => {
  const run = { mints: 400, seed: 1, seconds: 300, loops: 6, lostAnswers: 0.08, rate: 0.03, killEveryMs: 5_000 };
  const figures = await runOldLoop(run);
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  expect(figures).toMatchObject({ asked: 400, tokens: 400, unanswered: 0, doubled: [], wrong: [], violations: [] });
  expect(figures.tally["answers lost"]).toBeGreaterThan(10);
});
