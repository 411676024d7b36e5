import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Caller } from "../../src/auth/caller.ts";
import { measuredSlowness } from "../setup/wait.ts";
import { RelayHarness } from "../transactions/harness.ts";
import { askOurs } from "./ask-ours.ts";
import { deployOurs } from "./deploy-ours.ts";
import { startEndpoints } from "./endpoints.ts";
import type { Fault } from "./fault.ts";
import { HonestNode } from "./honest-node.ts";
import { loadFaults, readFaults, writeFaults } from "./load-faults.ts";
import { boundedBy, type Outcome } from "./outcome.ts";
import { sampleOurs } from "./sample-ours.ts";
import { mintTokens, type Tokens } from "./tokens.ts";

const faults = await loadFaults();
const reads = readFaults(faults).flatMap(([name, fault]) =>
  Object.entries(fault.ends).map(([mode, end]) => [name, mode as keyof typeof fault.ends, end, fault] as const),
);

let h: RelayHarness;
let caller: Caller;
let node: HonestNode;
let tokens: Tokens;
beforeAll(async () => {
  h = await RelayHarness.start();
  caller = await h.caller();
  node = new HonestNode(h.node.url);
  tokens = await mintTokens(node);
});
afterAll(() => h?.stop());

const isPublic = /^[\w.-]+\/[\w.-]+#\d+$|^https:\/\/[\w.-]+\/\S+$/;

test("there are at least sixty faults, each with a public source and a name of its own", () => {
  expect(faults.size).toBeGreaterThanOrEqual(60);
  for (const [file, { source }] of faults) expect([file, source]).toEqual([file, expect.stringMatching(isPublic)]);
  expect(new Set([...faults.values()].map(({ name, kind }) => `${kind} ${name}`)).size).toBe(faults.size);
});

/**
 * Plays a fault, and compares how it ended with what its file expects. A fault marked `unmet` must still fail: a fix
 * removes the mark.
 *
 * @param run tells how it ended, and what could be read in the log.
 */
async function judge(
  fault: Fault,
  end: unknown,
  run: (urls: string[], log: string[]) => Promise<Outcome>,
): Promise<void> {
  const endpoints = await startEndpoints(node, fault);
  const log: string[] = [];
  try {
    const mostMs = Math.ceil((fault.unmet === undefined ? 60_000 : 15_000) * measuredSlowness);
    const outcome = await boundedBy(mostMs, () => run(endpoints.urls, log));
    const isMet =
      end instanceof RegExp
        ? outcome.end === "error" && end.test(outcome.words)
        : outcome.end === (end === "sampled" ? "wrong" : "right");
    expect({ isMet, outcome, log }).toEqual({ isMet: fault.unmet === undefined, outcome, log });
    // A fault that is not met shows nothing.
    if (end !== "not asked") expect(endpoints.hits()).toBeGreaterThan(0);
  } finally {
    await endpoints.stop();
  }
}

/** Most of the time they wait for pauses to pass. */
describe.concurrent("reads", () => {
  test.each(reads)("%s, VERIFY=%s: %s", async (_name, mode, end, fault) => {
    const cause = end instanceof RegExp ? end : undefined;
    await judge(fault, end, (urls, log) => askOurs(urls, mode, fault.question, tokens, { log, cause }));
  });
});

const sampled = readFaults(faults).filter(([, { ends }]) => ends.logs === "sampled");

test.each(sampled)(
  "%s: the sample of final blocks names what the index lacks, and what to run",
  async (_name, fault) => {
    const endpoints = await startEndpoints(node, fault);
    try {
      const outcome = await boundedBy(60_000 * measuredSlowness, () => sampleOurs(endpoints.urls, tokens));
      expect(outcome).toEqual({ end: "error", words: expect.stringContaining("mintyard -- reindex --chain base") });
      expect(endpoints.hits()).toBeGreaterThan(0);
    } finally {
      await endpoints.stop();
    }
  },
);

describe("writes", () => {
  test.each(writeFaults(faults))("%s", async (_name, fault) => {
    const cause = fault.end === "one" ? undefined : fault.end;
    await judge(fault, fault.end, (urls) => deployOurs(h, caller, urls, cause));
  });
});
