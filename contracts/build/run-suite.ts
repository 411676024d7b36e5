import { spawn } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { type Defect, suites } from "./defects.ts";

/** Adds a source and all that it imports to `files`: compiling the others would be most of the time. */
function addImports(file: string, files: Set<string>): void {
  if (files.has(file)) return;
  files.add(file);
  for (const [, path = ""] of readFileSync(file, "utf8").matchAll(/^import .*"(\.[^"]+)";$/gm))
    addImports(join(dirname(file), path), files);
}

/**
 * Runs the tests of a suite, once for each defect on a copy of the contracts that has it. One start of the compiler does
 * all of them: it takes longer to get ready than to compile a copy.
 *
 * @param planted `undefined` is the sound contract.
 * @param runs how many seeds each test of random calls gets.
 * @returns for each of `planted` whether all tests passed, and what Hardhat wrote.
 * @throws Error with the output when Hardhat ended for something else than a failed test, say a fault of syntax.
 */
export async function runSuite(
  suite: keyof typeof suites,
  planted: readonly (Defect | undefined)[],
  runs: number,
): Promise<{ passed: boolean[]; output: string }> {
  const folder = mkdtempSync(join(tmpdir(), "mintyard-defect-"));
  try {
    cpSync("package.json", join(folder, "package.json"));
    symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
    mkdirSync(join(folder, "contracts/src"), { recursive: true });
    const config = readFileSync("hardhat.config.ts", "utf8");
    writeFileSync(join(folder, "hardhat.config.ts"), config.replace(/(?<=long: \{ fuzz: \{ runs: )\d+/, String(runs)));
    const needed = new Set<string>();
    for (const name of suites[suite]) addImports(join("contracts/test", `${name}.t.sol`), needed);
    for (const [at, defect] of planted.entries()) {
      for (const file of needed) cpSync(file, join(folder, copyOf(at), file));
      if (defect) plant(defect, join(folder, copyOf(at), defect.file));
    }
    const { status, output } = await runHardhat(folder);
    const passed = planted.map((_, at) => havePassed(copyOf(at), output));
    if ((status === 0) !== passed.every(Boolean)) throw new Error(output);
    return { passed, output };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const copyOf = (at: number) => `contracts/test/copy${at}`;

/** Hardhat lists its tests below the file that has them, those that failed by a number. */
function havePassed(copy: string, output: string): boolean {
  const text = stripVTControlCharacters(output);
  const listed = text.slice(0, text.search(/^ +\d+ (passing|failing)/m)).split(/^ {2}(?=\S)/m);
  const own = listed.filter((tests) => tests.startsWith(`${copy}/`));
  if (own.length === 0) throw new Error(`no test of ${copy} ran:\n${output}`);
  return own.every((tests) => !/^ +\d+\) /m.test(tests));
}

function plant(defect: Defect, file: string): void {
  const source = readFileSync(file, "utf8");
  if (source.split(defect.from).length !== 2) throw new Error(`not once in ${defect.file}: ${defect.from}`);
  writeFileSync(file, source.replace(defect.from, defect.to));
}

async function runHardhat(folder: string): Promise<{ status: number | null; output: string }> {
  const args = [resolve("node_modules/hardhat/dist/src/cli.js"), "test", "solidity", "--test-profile", "long"];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    stdout += chunk;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    stderr += chunk;
  });
  const status = await new Promise<number | null>((done, failed) => {
    child.once("error", failed);
    child.once("close", done);
  });
  return { status, output: `${stdout}\n${stderr}` };
}
