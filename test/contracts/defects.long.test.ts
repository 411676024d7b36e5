import { expect, test } from "vitest";
import { defects, type suites } from "../../contracts/build/defects.ts";
import { runSuite } from "../../contracts/build/run-suite.ts";
import { slowness } from "../setup/wait.ts";

test.each(["collection", "products", "operator"] satisfies (keyof typeof suites)[])(
  "the tests of %s see each defect, and none in the sound contracts",
  { timeout: 900_000 * slowness },
  async (suite) => {
    const planted = defects.filter(({ seenBy }) => seenBy === suite);
    expect(planted.length).toBeGreaterThan(0);
    const { passed } = await runSuite(suite, [undefined, ...planted], 24);
    const unseen = planted.filter((_, at) => passed[at + 1]).map(({ name }) => name);
    expect({ sound: passed[0], unseen }).toEqual({ sound: true, unseen: [] });
  },
);
