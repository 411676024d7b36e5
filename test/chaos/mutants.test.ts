import { existsSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { scenarios } from "./defect-scenarios.ts";
import { applyPatch, copied, linked, listMutants, mutantFile, ownTree } from "./mutant-tree.ts";

test("each seeded defect applies to the code as it is, says what it breaks, and has a scenario that finds it", async () => {
  expect(Object.values(scenarios).map(({ defect }) => defect)).toHaveLength(17);
  expect(listMutants().sort()).toEqual(
    Object.values(scenarios)
      .map(({ defect }) => defect)
      .sort(),
  );
  await Promise.all(
    listMutants().map(async (name) => {
      await applyPatch(mutantFile(name), ownTree, "--check");
      expect((await readFile(mutantFile(name), "utf8")).split("\n", 1)[0], name).toMatch(/^["A-Z].{20,}\.$/);
    }),
  );
});

test("everything that a copy for seeded defects is made of is there", () => {
  expect([...copied, ...linked].filter((path) => !existsSync(join(ownTree, path)))).toEqual([]);
});

test("a seeded defect that the code has outgrown is named, and so is one that does not exist", async () => {
  const dir = temporaryFolder();
  try {
    const file = join(dir, "outgrown.patch");
    await writeFile(file, (await readFile(mutantFile("fees-in-floats"), "utf8")).replaceAll("/ 8n", "/ 16n"));
    await expect(applyPatch(file, ownTree, "--check")).rejects.toThrow(
      /^the seeded defect outgrown\.patch does not apply to this tree; make the patch anew: .*src\/transactions\/chain\/fees\.ts/,
    );
    expect(() => mutantFile("no-such")).toThrow("there is no seeded defect no-such; there are chain-id-at-start-only");
  } finally {
    await rm(dir, { recursive: true });
  }
});
