import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { armFaults } from "../../src/relay/faults.ts";
import { plays } from "./defect-plays.ts";
import { Ground, Stage, type StageOptions } from "./stage.ts";

let ground: Ground;
beforeAll(async () => {
  ground = await Ground.start();
});
afterAll(() => {
  armFaults(null);
  ground?.stop();
});

async function perform(options: StageOptions, act: (stage: Stage) => Promise<void>, patienceMs: number) {
  const stage = await Stage.set(ground, options);
  try {
    await act(stage);
    return await stage.finish(patienceMs);
  } finally {
    await stage.strike();
  }
}

for (const [name, { defect, defectFactory, act, ...options }] of Object.entries(plays))
  describe(name, () => {
    let healthyMs = 0;

    test("a sound relay stands the situation", { timeout: 120_000 }, async () => {
      const begun = performance.now();
      expect(await perform(options, act, 90_000)).toEqual([]);
      healthyMs = performance.now() - begun;
    });

    test("the judge sees the defect", { timeout: 180_000 }, async () => {
      const factory = defectFactory ?? options.factory;
      const kind = factory ? { factory } : {};
      const findings = await perform({ ...options, ...kind, defect }, act, 2_000 + healthyMs);
      expect(findings).not.toEqual([]);
      if (process.env["CHAOS_SHOW"]) process.stdout.write(`${name}: ${findings.join("; ")}\n`);
    });
  });
