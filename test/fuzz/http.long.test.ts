import { test } from "vitest";
import { slowness } from "../setup/wait.ts";
import { expectSoundAnswers } from "./fuzz-run.ts";

/** A run of its own sends 100,000. */
const total = Number(process.env["FUZZ_REQUESTS"] ?? 8_000);

test(
  `${total} requests nobody would send on purpose: no unplanned 5xx, no text from inside, no growth`,
  {
    timeout: 7_200_000 * slowness,
  },
  // At the pace of requests that fail almost all of the run would be a wait.
  () => expectSoundAnswers(total, "off"),
);

test("300 of them at the pace of requests that fail", { timeout: 600_000 * slowness }, () =>
  expectSoundAnswers(300, "used up"),
);
