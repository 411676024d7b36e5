import { test } from "vitest";
import { expectSoundRun } from "./judged-run.ts";

test("30 collections, each asked for three times, while everything breaks: each stands once, none is lost", {
  timeout: 900_000,
}, async () => {
  // Each kind of fault once or a few times.
  const run = { deployments: 30, seed: 1, seconds: 800, rate: 0.12, permissive: false, repeats: 0.1 };
  await expectSoundRun(run, { matrix: 25, faults: 30, kills: 8, reorgs: 3 });
});
