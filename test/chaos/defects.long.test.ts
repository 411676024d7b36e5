import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTestDatabase } from "../setup/database.ts";
import { slowness } from "../setup/wait.ts";
import { scenarios } from "./defect-scenarios.ts";
import { listMutants, MutantTree, mutantFile, ownTree } from "./mutant-tree.ts";
import { filesOf, typeFaultsOf } from "./mutant-types.ts";
import { TestNodes } from "./relay-fixture.ts";
import { type ScenarioOrder, ScenarioProcess } from "./scenario-process.ts";

test("the seeded defects are well typed: what the judge finds is the defect, and not a relay that stops", async () => {
  const tree = await MutantTree.make();
  const variants: Map<string, string>[] = [];
  try {
    for (const name of listMutants()) {
      await tree.apply(name);
      const read = async (path: string) =>
        [join(ownTree, path), await readFile(join(tree.root, path), "utf8")] as const;
      variants.push(new Map(await Promise.all(filesOf(mutantFile(name)).map(read))));
      await tree.revert(name);
    }
  } finally {
    await tree.remove();
  }
  const faults = typeFaultsOf(ownTree, variants);
  expect(listMutants().filter((_, index) => faults[index]?.length !== 0)).toEqual([]);
});

// Scenarios mostly wait for blocks and times: two halves run beside each other, each with nodes and a tree of its own.
const names = Object.keys(scenarios);
const middle = Math.ceil(names.length / 2);
for (const [index, half] of [names.slice(0, middle), names.slice(middle)].entries())
  describe.concurrent(`half ${index + 1}`, () => {
    let nodes: TestNodes;
    let tree: MutantTree;
    let sound: ScenarioProcess;
    const start = (root: string) => new ScenarioProcess(root, join(tree.root, "compile-cache"));
    beforeAll(async () => {
      tree = await MutantTree.make();
      sound = start(ownTree);
      nodes = await TestNodes.start();
    });
    afterAll(async () => {
      await sound?.stop();
      nodes?.stop();
      await tree?.remove();
    });

    async function perform(
      runner: ScenarioProcess,
      order: Pick<ScenarioOrder, "scenario" | "defective" | "timeoutMs">,
    ) {
      const database = await createTestDatabase();
      try {
        const { url, otherUrl } = nodes;
        return await runner.perform({ ...order, nodes: { url, otherUrl }, databaseUrl: database.url });
      } finally {
        await database.drop();
      }
    }

    for (const name of half)
      describe(name, { concurrent: false }, () => {
        const mutant = scenarios[name]?.defect ?? "";
        const sign = scenarios[name]?.sign ?? "";
        let broken: ScenarioProcess | undefined;
        let healthyMs = 0;
        // It loads its code while the sound relay runs.
        beforeAll(async () => {
          await tree.apply(mutant);
          broken = start(tree.root);
        });
        afterAll(async () => {
          if (!broken) return;
          await broken.stop();
          await tree.revert(mutant);
        });

        test("a sound relay stands the situation", async () => {
          const begun = performance.now();
          expect(await perform(sound, { scenario: name, defective: false, timeoutMs: 90_000 * slowness })).toEqual([]);
          healthyMs = performance.now() - begun;
        });

        test("the judge sees the defect", async () => {
          if (!broken) throw new Error("the broken relay was not started");
          const findings = await perform(broken, { scenario: name, defective: true, timeoutMs: 3_000 + healthyMs });
          expect(findings.join("; ")).toContain(sign);
          if (process.env["CHAOS_SHOW"]) process.stdout.write(`${name}: ${findings.join("; ")}\n`);
        });
      });
  });
