import { spawnSync } from "node:child_process";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const bin = (path: string) => join(root, "node_modules", path);

/** They start, kill and stop many processes: beside others they would measure those, and the others them. */
const alone = ["test/chaos/relayer.test.ts", "test/indexing/chaos.test.ts"];

/** Each step is a command of its own, so that it can be run alone as well. */
const steps: readonly { name: string; command: readonly string[] }[] = [
  { name: "lint", command: [bin("@biomejs/biome/bin/biome"), "check", "--error-on-warnings"] },
  { name: "types", command: [bin("typescript/bin/tsc"), "--noEmit", "-p", "."] },
  { name: "contracts", command: [bin("hardhat/dist/src/cli.js"), "test", "solidity"] },
  { name: "service", command: [bin("vitest/vitest.mjs"), "run", ...alone.flatMap((file) => ["--exclude", file])] },
  { name: "chaos", command: [bin("vitest/vitest.mjs"), "run", ...alone, "--no-file-parallelism"] },
];

/** `npm test`: every check of the repository, in the order in which a fault is cheapest to read. Names pick steps. */
export async function runTests(names: readonly string[]): Promise<number> {
  const unknown = names.find((name) => !steps.some((step) => step.name === name));
  if (unknown) throw new Error(`no step ${unknown}; there are ${steps.map((step) => step.name).join(", ")}`);
  const chosen = names.length === 0 ? steps : steps.filter((step) => names.includes(step.name));
  const results = chosen.map((step) => {
    process.stdout.write(`\n── ${step.name}\n`);
    const started = performance.now();
    const { status } = spawnSync(process.execPath, step.command, { cwd: root, stdio: "inherit" });
    return { name: step.name, passed: status === 0, seconds: (performance.now() - started) / 1000 };
  });
  const failed = results.filter((result) => !result.passed);
  process.stdout.write("\n");
  for (const { name, passed, seconds } of results) {
    process.stdout.write(`${passed ? "passed" : "FAILED"}  ${name.padEnd(10)} ${seconds.toFixed(1)} s\n`);
  }
  process.stdout.write(`steps: ${results.length - failed.length} passed, ${failed.length} failed\n`);
  return failed.length === 0 ? 0 : 1;
}
