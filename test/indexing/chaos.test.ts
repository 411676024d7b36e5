import { test } from "vitest";
import { expectSoundRun } from "./chaos/judged-run.ts";

test("after a few reorganisations, kills and faulty answers every table is what raw logs and contracts say", {
  timeout: 900_000,
}, async () => {
  await expectSoundRun({ seed: 4, tokens: 2_000, reorgs: 5, kills: 4, faults: 50, deepReorgs: 0, maxMs: 700_000 });
});
