import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";

const root = join(import.meta.dirname, "..");
const bin = (path: string) => join(root, "node_modules", path);

/** They start, kill and stop many processes, or promise a time: beside others they would measure those, and the others them. */
const alone = ["test/processes.test.ts", "test/chaos/relayer.test.ts", "test/indexing/chaos.test.ts"];
const vitest = [bin("vitest/vitest.mjs"), "run"];

/** Each step is a command of its own, so that it can be run alone as well. */
const steps: readonly { name: string; command: readonly string[] }[] = [
  { name: "lint", command: [bin("@biomejs/biome/bin/biome"), "check", "--error-on-warnings"] },
  { name: "types", command: [bin("typescript/bin/tsc"), "--noEmit", "-p", "."] },
  { name: "contracts", command: [bin("hardhat/dist/src/cli.js"), "test", "solidity"] },
  { name: "service", command: [...vitest, ...alone.flatMap((file) => ["--exclude", file])] },
  { name: "alone", command: [...vitest, ...alone, "--no-file-parallelism"] },
];

/** `npm test`: every check of the repository, in the order in which a fault is cheapest to read. Names pick steps. */
export async function runTests(names: readonly string[]): Promise<number> {
  const unknown = names.find((name) => !steps.some((step) => step.name === name));
  if (unknown) throw new Error(`no step ${unknown}; there are ${steps.map((step) => step.name).join(", ")}`);
  const chosen = names.length === 0 ? steps : steps.filter((step) => names.includes(step.name));
  const reports = mkdtempSync(join(tmpdir(), "mintyard-test-"));
  try {
    const results = chosen.map(({ name, command }) => {
      process.stdout.write(`\n── ${name}\n`);
      const started = performance.now();
      const report = join(reports, `${name}.json`);
      const reporting = command[0] === vitest[0] ? ["--reporter=default", "--reporter=json"] : [];
      const more = reporting.length > 0 ? [...reporting, `--outputFile.json=${report}`] : [];
      const { status } = spawnSync(process.execPath, [...command, ...more], { cwd: root, stdio: "inherit" });
      return { name, passed: status === 0, seconds: (performance.now() - started) / 1000, report };
    });
    const failed = results.filter((result) => !result.passed);
    // At the end once more: what is far up is cut off by many who keep only the last lines.
    process.stdout.write(`\n${failed.flatMap(({ report }) => readFailures(report)).join("")}`);
    for (const { name, passed, seconds } of results) {
      process.stdout.write(`${passed ? "passed" : "FAILED"}  ${name.padEnd(10)} ${seconds.toFixed(1)} s\n`);
    }
    process.stdout.write(`steps: ${results.length - failed.length} passed, ${failed.length} failed\n`);
    return failed.length === 0 ? 0 : 1;
  } finally {
    rmSync(reports, { recursive: true });
  }
}

interface Report {
  testResults: {
    name: string;
    status: string;
    message: string;
    assertionResults: { status: string; fullName: string; failureMessages: string[] }[];
  }[];
}

function readFailures(report: string): string[] {
  if (!existsSync(report)) return [];
  const { testResults } = JSON.parse(readFileSync(report, "utf8")) as Report;
  return testResults
    .filter(({ status }) => status === "failed")
    .flatMap(({ name, message, assertionResults }) => {
      const failures = assertionResults.filter(({ status }) => status === "failed");
      const tests = failures.map(({ fullName, failureMessages }) => ({ fullName, text: failureMessages.join("\n") }));
      // A file that could not be loaded has no tests.
      if (tests.length === 0) tests.push({ fullName: "", text: message });
      return tests.map(({ fullName, text }) => `${relative(root, name)}: ${fullName}\n${text.slice(0, 5_000)}\n\n`);
    });
}
