import { test } from "vitest";
import { expectSoundRun } from "./judged-run.ts";

test("300 collections, each asked for three times, while everything breaks: each stands once, none is lost", {
  timeout: 1_500_000,
}, async () => {
  const run = { deployments: 300, seed: 1, seconds: 1_200, rate: 0.12, permissive: false, decks: 1 };
  await expectSoundRun(run, { matrix: 40, faults: 60, kills: 60, reorgs: 30 });
});
