import { existsSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { processorTimesOf, type StepResult } from "./steps.ts";
import { root } from "./tiers.ts";

interface VitestReport {
  testResults: {
    name: string;
    status: string;
    message: string;
    startTime: number;
    endTime: number;
    assertionResults: { status: string; fullName: string; failureMessages: string[] }[];
  }[];
}

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

export interface Failure {
  /** Path from the root; null when it belongs to no test file. */
  file: string | null;
  /** Where to look, and what failed there. */
  title: string;
  text: string;
  /** Repeats only this. */
  command: string;
}

export interface Outcome {
  counts: Counts;
  failures: Failure[];
  files: { file: string; seconds: number; processorSeconds: number }[];
}

/** A step's result: its tests by outcome, its failures, its files by time. Lint and types count as one check each. */
export function outcomeOf(result: StepResult): Outcome {
  if (result.report !== undefined) return outcomeOfVitest(result, result.report);
  const said = stripVTControlCharacters(result.output);
  const passed = Number(/(\d+) passing/.exec(said)?.[1] ?? (result.passed ? 1 : 0));
  const failed = Number(/(\d+) failing/.exec(said)?.[1] ?? (result.passed ? 0 : 1));
  const failure = { file: null, title: result.name, text: said.slice(-5_000), command: `npm test -- ${result.name}` };
  return { counts: { passed, failed, skipped: 0 }, failures: result.passed ? [] : [failure], files: [] };
}

function outcomeOfVitest(result: StepResult, report: string): Outcome {
  const files = existsSync(report) ? (JSON.parse(readFileSync(report, "utf8")) as VitestReport).testResults : [];
  const processorSeconds = readProcessorTimes(processorTimesOf(report));
  const outcome: Outcome = { counts: { passed: 0, failed: 0, skipped: 0 }, failures: [], files: [] };
  for (const { name, status, message, startTime, endTime, assertionResults } of files) {
    const file = relative(root, name);
    outcome.files.push({
      file,
      seconds: (endTime - startTime) / 1000,
      processorSeconds: processorSeconds.get(name) ?? 0,
    });
    processorSeconds.delete(name);
    for (const { status, fullName, failureMessages } of assertionResults) {
      if (status === "passed") outcome.counts.passed += 1;
      else if (status !== "failed") outcome.counts.skipped += 1;
      else outcome.failures.push(failureOf(file, fullName, failureMessages.join("\n")));
    }
    // A file that could not be loaded has no tests.
    if (status === "failed" && !assertionResults.some((test) => test.status === "failed"))
      outcome.failures.push(failureOf(file, "", message));
  }
  // Parts that test files share have no wall-clock time.
  for (const [file, taken] of processorSeconds) outcome.files.push({ file, seconds: 0, processorSeconds: taken });
  // It can also fail without a failed test, or for further reasons: an unhandled error, or no report at all.
  const output = stripVTControlCharacters(result.output);
  const unawaited = filesOfUnawaited(output);
  for (const file of unawaited ?? [])
    if (!outcome.failures.some((failure) => failure.file === file))
      outcome.failures.push(failureOf(file, "", output.slice(output.indexOf(" Unhandled Errors "))));
  if (!result.passed && (outcome.failures.length === 0 || unawaited === null))
    outcome.failures.push({
      file: null,
      title: result.name,
      text: output.slice(-5_000),
      command: `npm test -- ${result.name}`,
    });
  outcome.counts.failed = outcome.failures.length;
  return outcome;
}

/** The files, from the root, in which vitest reports unhandled errors; null when it names no file for one of them. */
function filesOfUnawaited(output: string): string[] | null {
  if (!output.includes(" Unhandled Errors ")) return [];
  const count = Number(/^ +Errors +(\d+) errors?$/m.exec(output)?.[1] ?? Number.POSITIVE_INFINITY);
  const named = [...output.matchAll(/^This error originated in "(.+)" test file\./gm)].map(([, file = ""]) => file);
  return named.length >= count ? [...new Set(named)] : null;
}

/** CPU time of each file, and of parts that files share, by path or name (test/setup/note-processor-time.ts). */
function readProcessorTimes(file: string): Map<string, number> {
  const lines = existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
  const times = new Map<string, number>();
  for (const line of lines) {
    const { name, seconds } = JSON.parse(line) as { name: string; seconds: number };
    times.set(name, (times.get(name) ?? 0) + seconds);
  }
  return times;
}

function failureOf(file: string, test: string, text: string): Failure {
  // vitest reads the name as a regular expression, and the shell interprets the quotes.
  const pattern = test.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll("'", ".");
  const only = test ? ` -t '${pattern}'` : "";
  return {
    file,
    title: test ? `${file}: ${test}` : file,
    text: text.slice(0, 5_000),
    command: `npm test -- ${file}${only}`,
  };
}
