import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { runAgain } from "../bin/tests/again.ts";
import { testsReachedBy } from "../bin/tests/reach.ts";
import { outcomeOf } from "../bin/tests/report.ts";
import { runStep, vitest } from "../bin/tests/steps.ts";
import { listTestFiles, root, tierOf } from "../bin/tests/tiers.ts";
import { temporaryFolder } from "./setup/temporary-folder.ts";

const npmTest = (...args: string[]) =>
  spawnSync(process.execPath, ["bin/mintyard.ts", "test", ...args], { cwd: root, encoding: "utf8" });

test("every test file is listed with its tier, and nothing else", () => {
  const files = execFileSync("find", ["test", "-name", "*.test.ts"], { cwd: root, encoding: "utf8" });
  const listed = npmTest("--list").stdout.trim().split("\n");
  expect(listed.map((line) => line.split(/\s+/)[1])).toEqual(files.trim().split("\n").sort());
  for (const line of listed) expect(line).toMatch(/^(default +\S+(?<!\.long)\.test\.ts|long +\S+\.long\.test\.ts)$/);
});

test("a word that neither a step nor a test file has is refused, and says how to find one", () => {
  const { status, stderr } = npmTest("no-such-file");
  expect(status).toBe(1);
  expect(stderr).toContain("no step and no test file has no-such-file in its name; see npm test -- --list");
});

test("failures, files that do not load and skipped tests are counted, and each failure comes with its command", async () => {
  const folder = temporaryFolder();
  try {
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    const header = 'import { expect, test } from "vitest";\n';
    writeFileSync(
      join(folder, "mixed.test.ts"),
      `${header}test("right", () => {});\ntest("wrong (1 + 1)", () => expect(1 + 1).toBe(3));\ntest.skip("later", () => {});\n`,
    );
    writeFileSync(join(folder, "broken.test.ts"), 'import "./missing.ts";\n');
    const step = vitest("service", ["--root", folder], join(folder, "report.json"));
    const { counts, failures, files } = outcomeOf(await runStep(step, false));
    expect(counts).toEqual({ passed: 1, failed: 2, skipped: 1 });
    expect(files).toHaveLength(2);
    const [broken, wrong] = failures.sort((a, b) => a.title.localeCompare(b.title));
    expect(broken).toMatchObject({ command: expect.stringMatching(/^npm test -- \S+broken\.test\.ts$/) });
    expect(broken?.text).toContain("missing.ts");
    expect(wrong?.text).toContain("expected 2 to be 3");
    // What the shell hands on is a regular expression that finds this test.
    const [, pattern = ""] = / -t '(.*)'$/.exec(wrong?.command ?? "") ?? [];
    expect(new RegExp(pattern).test("wrong (1 + 1)")).toBe(true);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("files that fail are run once more, alone; what fails twice, or is no test file, stays failed", async () => {
  const folder = temporaryFolder();
  try {
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    const write = (file: string, body: string) =>
      writeFileSync(join(folder, file), `import { existsSync, writeFileSync } from "node:fs";\n${body}`);
    const header = 'import { expect, test } from "vitest";\n';
    const once = `${header}test("unsteady", () => { const seen = existsSync("MARK"); writeFileSync("MARK", ""); expect(seen).toBe(true); });\n`;
    write("once.test.ts", once.replaceAll("MARK", join(folder, "once")));
    write("right.test.ts", `${header}test("right", () => {});\n`);
    const run = async (files: readonly string[]) =>
      await runStep(
        vitest("service", ["--root", folder, ...files.map((file) => basename(file))], join(folder, "r.json")),
        false,
      );
    const first = outcomeOf(await run([]));
    expect(first.counts).toEqual({ passed: 1, failed: 1, skipped: 0 });
    const unsteady = await runAgain([first], run);
    expect(unsteady.map(({ title }) => title)).toEqual([expect.stringMatching(/once\.test\.ts: unsteady$/)]);
    // An error that nobody awaits belongs to the file that vitest names.
    const unawaited = once.replaceAll("MARK", join(folder, "stray"));
    write(
      "once.test.ts",
      unawaited.replace("expect(seen).toBe(true);", 'if (!seen) Promise.reject(new Error("stray"));'),
    );
    const stray = outcomeOf(await run([]));
    expect(stray.failures).toMatchObject([
      { file: expect.stringMatching(/once\.test\.ts$/), text: expect.stringContaining("stray") },
    ]);
    expect(await runAgain([stray], run)).toHaveLength(1);
    write("never.test.ts", `${header}test("wrong", () => expect(1 as number).toBe(2));\n`);
    rmSync(join(folder, "stray"));
    expect(await runAgain([outcomeOf(await run([]))], run)).toEqual([]);
    const lint = { name: "lint", command: [], passed: false, seconds: 1, output: "wrong" };
    expect(await runAgain([first, outcomeOf(lint)], run)).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a change reaches the tests that import it, start it or read it, and no others", () => {
  const files = listTestFiles();
  const reached = (changed: string) => {
    expect(existsSync(join(root, changed)), changed).toBe(true);
    return testsReachedBy([changed], files);
  };
  expect(reached("src/rest/values.ts")).toEqual(
    expect.arrayContaining(["test/v0/data.test.ts", "test/launch-flow.test.ts"]),
  );
  expect(reached("src/rest/values.ts")).not.toContain("test/transactions/signing.test.ts");
  expect(reached("src/indexing/supervise-ponder.ts")).toContain("test/indexing/indexer.test.ts");
  expect(reached("docs/reading.md")).toContain("test/graphql/reading-guide.test.ts");
  expect(reached("docs/reading.md")).not.toContain("test/transactions/crash.long.test.ts");
  expect(reached("schema/migrations/0001_accounts.sql")).toContain("test/accounts/keys.test.ts");
  expect(reached("package.json")).toEqual(files);
  expect(files.filter((file) => tierOf(file) === null)).toEqual([]);
});
