import { test } from "vitest";
import { slowness } from "../setup/wait.ts";
import { expectSoundRun } from "./chaos/judged-run.ts";

const seed = Number(process.env["CHAOS_SEED"] ?? 4);
const deepReorgs = Number(process.env["CHAOS_DEEP_REORGS"] ?? 0);

test("after 30 reorganisations, kills and faulty answers every table is what raw logs and contracts say", {
  timeout: 1_700_000 * slowness,
}, async () => {
  // The time is for a machine that is many times slower than ours; the goals end the run.
  await expectSoundRun({ seed, tokens: 8_000, reorgs: 30, kills: 12, faults: 300, deepReorgs, maxMs: 1_200_000 });
});
