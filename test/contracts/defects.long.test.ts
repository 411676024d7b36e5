import { expect, test } from "vitest";
import { defects } from "../../contracts/build/defects.ts";
import { runWithDefect } from "../../contracts/build/run-defect.ts";
import { slowness } from "../setup/wait.ts";

/** Two at once: each compiles the contracts and runs their test, all of it on one core. */
const rows: Promise<unknown>[] = [Promise.resolve(), Promise.resolve()];

for (const [at, defect] of defects.entries()) {
  test.concurrent(`the tests see that ${defect.name}`, { timeout: 600_000 * slowness }, async () => {
    const before = rows[at % 2];
    const run = Promise.resolve(before).then(() => runWithDefect(defect, 64));
    rows[at % 2] = run.catch(() => undefined);
    expect((await run).passed).toBe(false);
  });
}
