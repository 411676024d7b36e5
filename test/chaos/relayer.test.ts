import { expect, test } from "vitest";
import { runChaos } from "./run.ts";

const deployments = 300;

test("300 collections, each asked for three times, while everything breaks: each stands once, none is lost", {
  timeout: 1_500_000,
}, async () => {
  const figures = await runChaos({
    deployments,
    seed: 1,
    seconds: 1_200,
    rate: 0.12,
    permissive: false,
    decks: 1,
  });
  process.stdout.write(`${JSON.stringify({ ...figures, faults: figures.faults.length, tally: undefined })}\n`);
  expect(figures).toMatchObject({ contracts: deployments, lost: [], doubled: [], wrongHashes: [], violations: [] });
  expect(figures.tally["answers with a hash"]).toBe(3 * deployments);
  expect(figures.matrix.length, figures.matrix.join()).toBeGreaterThanOrEqual(40);
  expect(figures.faults.length).toBeGreaterThanOrEqual(60);
  expect(figures.kills).toBeGreaterThanOrEqual(60);
  expect(figures.reorgs).toBeGreaterThanOrEqual(30);
});
