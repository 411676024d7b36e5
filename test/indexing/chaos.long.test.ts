import { test } from "vitest";
import { slowness } from "../setup/wait.ts";
import { expectSoundRun } from "./chaos/judged-run.ts";

const seed = Number(process.env["CHAOS_SEED"] ?? 4);
const deepReorgs = Number(process.env["CHAOS_DEEP_REORGS"] ?? 0);

test("after 50 reorganisations, kills and faulty answers every table is what raw logs and contracts say", {
  timeout: 1_700_000 * slowness,
}, async () => {
  // The time is for a machine that is many times slower than ours; the goals end the run.
  await expectSoundRun({ seed, tokens: 20_000, reorgs: 50, kills: 20, faults: 500, deepReorgs, maxMs: 1_200_000 });
});
