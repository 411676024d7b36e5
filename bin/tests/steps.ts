import { spawn } from "node:child_process";
import { join } from "node:path";
import { root } from "./tiers.ts";

export interface Step {
  name: string;
  command: readonly string[];
  env?: Record<string, string>;
  /** Where vitest writes its report; other steps have none. */
  report?: string;
}

export interface StepResult extends Step {
  passed: boolean;
  seconds: number;
  output: string;
}

const bin = (path: string) => join(root, "node_modules", path);

/** The compile cache of `npm start`: processes that tests start load the same modules again and again. */
const compileCache = join(root, ".runtime/compile-cache");

export const lint: Step = {
  name: "lint",
  command: [bin("@biomejs/biome/bin/biome"), "check", "--error-on-warnings"],
};

/** What `npm run format` writes. */
export const solidityFormat: Step = {
  name: "solidity-format",
  command: ["contracts/build/format.ts", "--check"],
};

/** `--disc`: it would ask the registry for a newer version of itself. */
const solhint = [bin("solhint/solhint.js"), "--disc", "--noPoster", "--max-warnings", "0"];
export const solidityLint: Step = {
  name: "solidity-lint",
  command: [...solhint, "-c", "contracts/solhint.cjs", "contracts/src/**/*.sol"],
};
export const solidityTestsLint: Step = {
  name: "solidity-tests-lint",
  command: [...solhint, "-c", "contracts/test/solhint.cjs", "contracts/test/**/*.sol"],
};

/** Unused exports, files and packages, and packages that are used but not declared. */
export const unused: Step = { name: "unused", command: [bin("knip/bin/knip.js")] };

/** The native compiler on one thread: two would check shared files twice. It has no stable API yet. */
const tsc = [bin("typescript-native/bin/tsc"), "--noEmit", "--singleThreaded"];
export const types: Step = { name: "types", command: [...tsc, "-p", "."] };

/** The pages, which run in a browser with other globals. */
export const webTypes: Step = { name: "web-types", command: [...tsc, "-p", "web"] };

/** The client and the example that uses it, with a browser's globals. */
export const clientTypes: Step = { name: "client-types", command: [...tsc, "-p", "examples/storefront"] };

export const contracts: Step = {
  name: "contracts",
  command: [bin("hardhat/dist/src/cli.js"), "test", "solidity"],
};

/** With the bytecode that is deployed, and more fuzzing calls. */
export const contractsLong: Step = {
  name: "contracts-long",
  command: [...contracts.command, "--build-profile", "production", "--test-profile", "long"],
};

/** @param args files and options of vitest; @param report file for its results. */
export function vitest(name: string, args: readonly string[], report: string): Step {
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  return {
    name,
    command: [bin("vitest/vitest.mjs"), "run", ...reporters, ...args],
    env: { NODE_COMPILE_CACHE: compileCache, MINTYARD_TEST_PROCESSOR_TIME: processorTimesOf(report) },
    report,
  };
}

/** A file next to vitest's report, which has no CPU time. */
export const processorTimesOf = (report: string): string => `${report}.processor-time`;

/**
 * Runs one step to its end.
 *
 * @param shown prints its output as it comes; otherwise `output` has it, for steps that run in parallel.
 */
export async function runStep(step: Step, shown: boolean): Promise<StepResult> {
  const started = performance.now();
  if (shown) process.stdout.write(`\n── ${step.name}\n`);
  const child = spawn(process.execPath, [...step.command], {
    cwd: root,
    env: { ...process.env, ...(process.stdout.isTTY ? { FORCE_COLOR: "1" } : {}), ...step.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const pieces: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (piece: Buffer) => {
      pieces.push(piece);
      if (shown) process.stdout.write(piece);
    });
  }
  const code = await new Promise<number | null>((done) => {
    child.once("close", done);
    child.once("error", (error) => {
      pieces.push(Buffer.from(`${error.message}\n`));
      done(1);
    });
  });
  const seconds = (performance.now() - started) / 1000;
  return { ...step, passed: code === 0, seconds, output: Buffer.concat(pieces).toString("utf8") };
}
