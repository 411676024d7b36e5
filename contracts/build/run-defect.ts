import { spawn } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { type Defect, suites } from "./defects.ts";

/** Adds a source and all that it imports to `files`: compiling the others would be most of the time. */
function addImports(file: string, files: Set<string>): void {
  if (files.has(file)) return;
  files.add(file);
  for (const [, path = ""] of readFileSync(file, "utf8").matchAll(/^import .*"(\.[^"]+)";$/gm))
    addImports(resolve(dirname(file), path), files);
}

/**
 * Runs the tests that look for a defect on a copy of the contracts that has it.
 *
 * @param defect `undefined` is the sound contract.
 * @param runs how many seeds each test of random calls gets.
 * @param suite the tests to run, by default those that must see the defect.
 */
export async function runWithDefect(
  defect: Defect | undefined,
  runs: number,
  suite: keyof typeof suites = defect?.seenBy ?? "collection",
): Promise<{ passed: boolean; output: string }> {
  const folder = mkdtempSync(join(tmpdir(), "mintyard-defect-"));
  try {
    for (const name of ["contracts", "hardhat.config.ts", "package.json"])
      cpSync(name, join(folder, name), { recursive: true });
    const needed = new Set<string>();
    for (const name of suites[suite]) addImports(join(folder, "contracts/test", `${name}.t.sol`), needed);
    for (const name of readdirSync(join(folder, "contracts"), { recursive: true, encoding: "utf8" })) {
      const file = join(folder, "contracts", name);
      if (file.endsWith(".sol") && !needed.has(file)) rmSync(file);
    }
    symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
    const config = join(folder, "hardhat.config.ts");
    writeFileSync(config, readFileSync(config, "utf8").replace(/(?<=long: \{ fuzz: \{ runs: )\d+/, String(runs)));
    if (defect) {
      const file = join(folder, defect.file);
      const source = readFileSync(file, "utf8");
      if (source.split(defect.from).length !== 2) throw new Error(`not once in ${defect.file}: ${defect.from}`);
      writeFileSync(file, source.replace(defect.from, defect.to));
    }
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
    // Something else than a disagreement, say a compiler error, is no finding.
    const output = `${stdout}\n${stderr}`;
    if (status !== 0 && !/\d failing/.test(output)) throw new Error(output);
    return { passed: status === 0, output };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
