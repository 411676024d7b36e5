import { expect, test } from "vitest";
import { runChaos } from "./run.ts";

const deployments = 300;

test("300 collections, each asked for three times, while everything breaks: each stands once, none is lost", {
  timeout: 1_500_000,
}, async () => {
  let progress = "";
  const figures = await runChaos({
    deployments,
    seed: 1,
    seconds: 1_200,
    rate: 0.12,
    permissive: false,
    decks: 1,
    onProgress: (text) => {
      progress = text;
    },
  });
  // A run cannot be repeated exactly: what it was like is said with whatever fails.
  const { tally, faults, ...rest } = figures;
  const failures = Object.fromEntries(Object.entries(tally).filter(([what]) => !what.startsWith("fault ")));
  const told = `${JSON.stringify({ ...rest, faults: faults.length, progress, tally: failures })}\n`;
  process.stdout.write(told);
  expect(figures, told).toMatchObject({
    contracts: deployments,
    lost: [],
    doubled: [],
    wrongHashes: [],
    violations: [],
  });
  expect(tally["answers with a hash"], told).toBe(3 * deployments);
  expect(figures.matrix.length, told).toBeGreaterThanOrEqual(40);
  expect(faults.length, told).toBeGreaterThanOrEqual(60);
  expect(figures.kills, told).toBeGreaterThanOrEqual(60);
  expect(figures.reorgs, told).toBeGreaterThanOrEqual(30);
});
