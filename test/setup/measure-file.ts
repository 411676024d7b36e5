import { afterAll, expect } from "vitest";
import { processorSeconds } from "../../bin/tests/processor-time.ts";
import { noteProcessorTime } from "./note-processor-time.ts";

// Before each test file: what it takes, with all processes that it starts.
const before = processorSeconds(process.pid);
afterAll(() => noteProcessorTime(expect.getState().testPath ?? "", processorSeconds(process.pid) - before));
