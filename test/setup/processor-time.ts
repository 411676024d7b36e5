import { appendFileSync } from "node:fs";
import { afterAll, expect } from "vitest";
import { processorSeconds } from "../../bin/tests/processor-time.ts";

/** Writes down what each test file takes of the processor, with all processes that it starts, for `npm test` to show. */
const report = process.env["MINTYARD_TEST_PROCESSOR_TIME"];
if (report !== undefined) {
  const before = processorSeconds(process.pid);
  afterAll(() => {
    const seconds = processorSeconds(process.pid) - before;
    appendFileSync(report, `${JSON.stringify({ file: expect.getState().testPath, seconds })}\n`);
  });
}
