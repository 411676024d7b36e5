import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { defects, type suites } from "../../contracts/build/defects.ts";
import { runSuite } from "../../contracts/build/run-suite.ts";
import { slowness } from "../setup/wait.ts";

/** Random calls begin with the same seed each time, so the same sources have the same outcome: it is found out once. */
const recorded = "test/fixtures/seen-defects.sha256";
const seeds = { collection: 64, products: 24, operator: 24 } satisfies Record<keyof typeof suites, number>;

/** Everything that decides the outcome: contracts, their tests, the defects, and the programs that compile and run them. */
function digestOfInputs(): string {
  const hash = createHash("sha256").update(JSON.stringify(seeds));
  for (const folder of ["contracts/src", "contracts/test"])
    for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }).sort())
      if (name.endsWith(".sol")) hash.update(`${folder}/${name}\0`).update(readFileSync(join(folder, name)));
  for (const file of ["contracts/build/defects.ts", "contracts/build/run-suite.ts", "hardhat.config.ts"])
    hash.update(readFileSync(file));
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8")) as { packages: Record<string, unknown> };
  for (const [path, entry] of Object.entries(packages))
    if (/\/(hardhat|solc|erc721a|edr|contracts)$/.test(path)) hash.update(JSON.stringify([path, entry]));
  return hash.digest("hex");
}

const digest = digestOfInputs();
const isKnown = readFileSync(recorded, "utf8").trim() === digest && !process.env["PLANT_DEFECTS"];

test.skipIf(isKnown).each(["collection", "products", "operator"] satisfies (keyof typeof suites)[])(
  "the tests of %s see each defect, and none in the sound contracts",
  { timeout: 900_000 * slowness },
  async (suite) => {
    const planted = defects.filter(({ seenBy }) => seenBy === suite);
    expect(planted.length).toBeGreaterThan(0);
    const { passed } = await runSuite(suite, [undefined, ...planted], seeds[suite]);
    const unseen = planted.filter((_, at) => passed[at + 1]).map(({ name }) => name);
    expect({ sound: passed[0], unseen }).toEqual({ sound: true, unseen: [] });
  },
);

test("the defects were planted in the contracts as they are", () => {
  expect(readFileSync(recorded, "utf8").trim(), `once the other tests pass, write this into ${recorded}`).toBe(digest);
});
