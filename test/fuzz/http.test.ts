import { test } from "vitest";
import { expectSoundAnswers } from "./fuzz-run.ts";

test("500 requests nobody would send on purpose: no unplanned 5xx, no text from inside, no growth", () =>
  expectSoundAnswers(500));
