import { test } from "vitest";
import { slowness } from "../setup/wait.ts";
import { expectSoundRun } from "./chaos/judged-run.ts";

const seed = Number(process.env["CHAOS_SEED"] ?? 4);
const deepReorgs = Number(process.env["CHAOS_DEEP_REORGS"] ?? 0);

test("after 15 reorganisations, kills and faulty answers every table is what raw logs and contracts say", {
  timeout: 1_700_000 * slowness,
}, async () => {
  // Six kills meet each victim, and Ponder both when it has caught up and while it starts: the others would repeat them.
  // The time is for a machine that is many times slower than ours; the goals end the run.
  await expectSoundRun({ seed, tokens: 4_000, reorgs: 15, kills: 6, faults: 150, deepReorgs, maxMs: 1_200_000 });
});
