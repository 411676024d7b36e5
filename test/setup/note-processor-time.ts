import { appendFileSync } from "node:fs";

/** Writes down what a part of the run took of the processor, for `npm test` to show; it names the file in its environment. */
export function noteProcessorTime(name: string, seconds: number): void {
  const report = process.env["MINTYARD_TEST_PROCESSOR_TIME"];
  if (report !== undefined) appendFileSync(report, `${JSON.stringify({ name, seconds })}\n`);
}
