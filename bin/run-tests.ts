import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { runAgain } from "./tests/again.ts";
import { processorSeconds } from "./tests/processor-time.ts";
import { changedFiles, testsReachedBy } from "./tests/reach.ts";
import { type Failure, type Outcome, outcomeOf } from "./tests/report.ts";
import { measureSlowness } from "./tests/slowness.ts";
import {
  clientTypes,
  contracts,
  contractsLong,
  lint,
  runStep,
  type Step,
  type StepResult,
  solidityFormat,
  solidityLint,
  solidityTestsLint,
  types,
  unused,
  vitest,
  webTypes,
} from "./tests/steps.ts";
import { listTestFiles, runsBesideOthers, type Tier, tierOf } from "./tests/tiers.ts";

const options = {
  long: { type: "boolean", default: false },
  changed: { type: "boolean", default: false },
  since: { type: "string", default: "HEAD" },
  list: { type: "boolean", default: false },
  slowest: { type: "string", default: "5" },
  testNamePattern: { type: "string", short: "t" },
} as const;

/** Steps that read sources and run nothing. */
const checks = [lint, solidityFormat, solidityLint, solidityTestsLint, unused, types, webTypes, clientTypes] as const;

/** Rows of steps: the steps of a row run in parallel, the rows one after another. */
type Plan = readonly (readonly Step[])[];

interface RowResult {
  steps: readonly StepResult[];
  /** CPU time, user and system, of all processes of the row. */
  processorSeconds: number;
}

/**
 * `npm test`. Without arguments it runs the default tier, with `--long` the long tier. Names of steps (lint, unused,
 * types, contracts, service, long and so on) run only those; any other word runs the test files whose path contains it.
 *
 * @returns the exit code: 0 when everything passed.
 * @throws Error for a word that matches neither a step nor a test file.
 */
export async function runTests(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
  if (values.list) return printTiers();
  // All files of the run are in this folder, which is removed at the end; a database server may run as another user.
  const folder = mkdtempSync(join(tmpdir(), "mintyard-test-"));
  chmodSync(folder, 0o755);
  process.env["TMPDIR"] = folder;
  try {
    const report = (name: string) => join(folder, `${name}.json`);
    const plan = planOf(values, positionals, report);
    const rows: RowResult[] = [];
    for (const row of plan) {
      await boundWaits();
      const before = processorSeconds(process.pid);
      const steps = await runRow(row);
      rows.push({ steps, processorSeconds: processorSeconds(process.pid) - before });
    }
    const outcomes = rows.flatMap(({ steps }) => steps.map(outcomeOf));
    const isWholeTier = positionals.length === 0 && values.testNamePattern === undefined && !values.changed;
    const alone = async (files: string[]) => {
      await boundWaits();
      return await runStep(vitest("again", [...files, "--no-file-parallelism"], report("again")), true);
    };
    const unsteady = isWholeTier ? await runAgain(outcomes, alone) : [];
    return summarise(rows, outcomes, unsteady, Number(values.slowest));
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Before each row, because the machine's load changes during a tier of half an hour. */
async function boundWaits(): Promise<void> {
  const slowness = await measureSlowness();
  process.env["MINTYARD_TEST_SLOWNESS"] = slowness.toFixed(2);
  process.stdout.write(`waits are bounded for a machine ${slowness.toFixed(1)} times as slow as a quiet one\n`);
}

async function runRow(row: readonly Step[]): Promise<StepResult[]> {
  const shown = row.length === 1;
  return await Promise.all(
    row.map(async (step) => {
      const result = await runStep(step, shown);
      if (!shown) process.stdout.write(`\n── ${result.name}\n${result.output}`);
      return result;
    }),
  );
}

type Report = (name: string) => string;

function planOf(
  {
    long,
    changed,
    since,
    testNamePattern,
  }: { long: boolean; changed: boolean; since: string; testNamePattern?: string },
  words: readonly string[],
  report: Report,
): Plan {
  const files = listTestFiles();
  const of = (tier: Tier) => files.filter((file) => tierOf(file) === tier);
  const service = (chosen: readonly string[]) => vitest("service", chosen, report("service"));
  const longTier = (chosen: readonly string[], only: readonly string[] = []): Plan => {
    const beside = chosen.filter(runsBesideOthers);
    const alone = chosen.filter((file) => !runsBesideOthers(file));
    return [
      ...(beside.length > 0 ? [[vitest("long", [...beside, ...only], report("long-beside"))]] : []),
      ...(alone.length > 0
        ? [[vitest("long", [...alone, ...only, "--no-file-parallelism"], report("long-alone"))]]
        : []),
    ];
  };
  if (changed) {
    const reached = testsReachedBy(changedFiles(since), long ? of("long") : of("default"));
    process.stdout.write(`${reached.length} test files can be reached by what changed since ${since}\n`);
    const tests = long ? longTier(reached) : reached.length > 0 ? [[service(reached)]] : [];
    return [checks, ...tests];
  }
  if (words.length > 0 || testNamePattern !== undefined) {
    const steps: Plan = [
      ...[...checks, contracts].map((step) => [step]),
      ...[[service(of("default"))], ...longTier(of("long"))],
    ];
    const names = new Set(steps.flat().map(({ name }) => name));
    if (words.length > 0 && words.every((word) => names.has(word)))
      return steps.filter((row) => row.some(({ name }) => words.includes(name)));
    const within = long ? of("long") : of("default");
    const found = words.length === 0 ? within : files.filter((file) => words.some((word) => file.includes(word)));
    if (found.length === 0)
      throw new Error(`no step and no test file has ${words.join(" or ")} in its name; see npm test -- --list`);
    const only = testNamePattern === undefined ? [] : ["-t", testNamePattern];
    const quick = found.filter((file) => tierOf(file) === "default");
    const slow = found.filter((file) => tierOf(file) === "long");
    return [...(quick.length > 0 ? [[service([...quick, ...only])]] : []), ...longTier(slow, only)];
  }
  if (long) return [[contractsLong], ...longTier(of("long"))];
  return [[...checks, contracts], [service(of("default"))]];
}

function printTiers(): number {
  for (const file of listTestFiles()) process.stdout.write(`${tierOf(file)?.padEnd(8)} ${file}\n`);
  return 0;
}

/** Failures come last, each with its cause and the command to repeat it: often only the last screen is kept. */
function summarise(
  rows: readonly RowResult[],
  outcomes: readonly Outcome[],
  unsteady: readonly Failure[],
  slowest: number,
): number {
  const results = rows.flatMap(({ steps }) => steps);
  const failures = outcomes.flatMap((outcome) => outcome.failures);
  process.stdout.write("\n");
  const files = outcomes.flatMap((outcome) => outcome.files);
  files.sort((one, other) => other.processorSeconds - one.processorSeconds || other.seconds - one.seconds);
  for (const { file, seconds, processorSeconds } of files.slice(0, slowest))
    process.stdout.write(`${inSeconds(seconds)}, ${inSeconds(processorSeconds)} of the processor  ${file}\n`);
  process.stdout.write("\n");
  for (const { name, passed, seconds } of results)
    process.stdout.write(`${passed ? "passed" : "FAILED"}  ${name.padEnd(10)} ${inSeconds(seconds)}\n`);
  const inAll = rows.reduce((total, row) => total + row.processorSeconds, 0);
  // Zero where the platform does not show it.
  if (inAll > 0) process.stdout.write(`        processor  ${inSeconds(inAll)}\n`);
  for (const failure of failures) {
    const { title, text, command } = failure;
    const word = unsteady.includes(failure) ? "UNSTEADY (it failed in its tier and passed alone; mend it)" : "FAILED";
    process.stdout.write(`\n${word}  ${title}\n${text.trimEnd()}\nagain:  ${command}\n`);
  }
  process.stdout.write(`\n${closingLine(outcomes, unsteady.length)}\n`);
  if (unsteady.length > 0) return 0;
  return results.every(({ passed }) => passed) && failures.length === 0 ? 0 : 1;
}

const inSeconds = (seconds: number) => `${seconds.toFixed(1).padStart(7)} s`;

function closingLine(outcomes: readonly Outcome[], unsteady: number): string {
  const sum = (count: keyof Outcome["counts"]) => outcomes.reduce((total, { counts }) => total + counts[count], 0);
  const line = `${sum("passed")} passed, ${sum("failed") - unsteady} failed, ${sum("skipped")} skipped`;
  return unsteady > 0 ? `${line}, ${unsteady} unsteady` : line;
}
