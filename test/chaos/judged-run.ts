import { expect } from "vitest";
import { type ChaosOptions, runChaos } from "./run.ts";

/** What a run has to have met, besides what it must not do. */
export interface ChaosGoals {
  matrix: number;
  faults: number;
  kills: number;
  reorgs: number;
}

/** One run of chaos: each collection is asked for three times and stands once, none is lost, and the goals are met. */
export async function expectSoundRun(options: ChaosOptions, goals: ChaosGoals): Promise<void> {
  let progress = "";
  const figures = await runChaos({
    ...options,
    onProgress: (text) => {
      progress = text;
    },
  });
  // A run cannot be repeated exactly: what it was like is said with whatever fails.
  const { tally, faults, ...rest } = figures;
  const failures = Object.fromEntries(Object.entries(tally).filter(([what]) => !what.startsWith("fault ")));
  const verdict = `${JSON.stringify({ ...rest, faults: faults.length, progress, tally: failures })}\n`;
  process.stdout.write(verdict);
  expect(figures, verdict).toMatchObject({
    contracts: options.deployments,
    lost: [],
    doubled: [],
    wrongHashes: [],
    violations: [],
  });
  // Where rows are lost, clients ask more often.
  expect(tally["answers with a hash"], verdict).toBeGreaterThanOrEqual(3 * options.deployments);
  if (!options.lostRows) expect(tally["answers with a hash"], verdict).toBe(3 * options.deployments);
  expect(tally["fault lost rows"] ?? 0, verdict).toBe(options.lostRows ?? 0);
  expect(figures.matrix.length, verdict).toBeGreaterThanOrEqual(goals.matrix);
  expect(faults.length, verdict).toBeGreaterThanOrEqual(goals.faults);
  expect(figures.kills, verdict).toBeGreaterThanOrEqual(goals.kills);
  expect(figures.reorgs, verdict).toBeGreaterThanOrEqual(goals.reorgs);
}
