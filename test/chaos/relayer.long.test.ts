import { expect, test } from "vitest";
import { slowness } from "../setup/wait.ts";
import { expectSoundRun } from "./judged-run.ts";
import { raceCreators } from "./sign-race.ts";

test("120 collections, each asked for three times, while everything breaks: each stands once, none is lost", {
  timeout: 1_500_000 * slowness,
}, async () => {
  const run = { deployments: 120, seed: 1, seconds: 900, rate: 0.12, permissive: false, repeats: 0.3 };
  await expectSoundRun(run, { matrix: 32, faults: 60, kills: 18, reorgs: 8 });
});

test("the database loses its newest rows three times: each collection stands once, every request ends, no wallet is closed", {
  timeout: 600_000 * slowness,
}, async () => {
  const run = { deployments: 30, seed: 3, seconds: 400, rate: 0.12, permissive: false, repeats: 0.05, lostRows: 3 };
  await expectSoundRun(run, { matrix: 20, faults: 25, kills: 5, reorgs: 2 });
});

test("front-runners put traps around the pending bytes of creators in mode SIGN: none is listed, and every creator's collection is", {
  timeout: 1_500_000 * slowness,
}, async () => {
  const creators = Number(process.env["SIGN_RACES"] ?? 10);
  const figures = await raceCreators(Number(process.env["CHAOS_SEED"] ?? 1), creators);
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  expect(figures).toMatchObject({ creators, trapsListed: [], missing: [] });
  expect(figures.superseded).toBeGreaterThan(0);
});
