import type { Failure, Outcome } from "./report.ts";
import type { StepResult } from "./steps.ts";

/** More files that fail are no accident, and are not run again. */
const mostUnsteadyFiles = 3;

/**
 * Runs the files of a tier that failed once more, alone. A limit of the product, such as the time of a read, is reached
 * now and then on a machine that has ten times as much to do as it can.
 *
 * @param run runs test files one after the other, as one step of vitest.
 * @returns the failures of files that passed this time; empty when one failed again, when too many had failed, or when
 *   something failed that is no test file.
 */
export async function runAgain(
  outcomes: readonly Outcome[],
  run: (files: string[]) => Promise<StepResult>,
): Promise<Failure[]> {
  const failures = outcomes.flatMap((outcome) => outcome.failures);
  const files = [...new Set(failures.flatMap(({ file }) => file ?? []))];
  if (files.length === 0 || files.length > mostUnsteadyFiles || failures.some(({ file }) => file === null)) return [];
  process.stdout.write(`\nthese failed and are run again alone: ${files.join(", ")}\n`);
  const { passed } = await run(files);
  return passed ? failures : [];
}
