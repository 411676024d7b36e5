import type { Failure, Outcome } from "./report.ts";
import type { StepResult } from "./steps.ts";

/** With more failing files than this, it is no accident, and none is run again. */
const mostUnsteadyFiles = 3;

/**
 * Runs a tier's failed files once more, alone. On a machine with ten times the load that it can bear, a limit of the
 * product, such as the time of a read, is exceeded now and then.
 *
 * @param run runs test files one after the other, as one step of vitest.
 * @returns the failures of files that passed this time; empty when a file failed again, when too many had failed, or
 * when something failed that is not a test file.
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
