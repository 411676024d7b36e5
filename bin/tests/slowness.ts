import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";

/** Duration of the program below on a quiet machine of 2026, including its start. */
const quietMs = 320;
/** Starts Node, then hashes for about a quarter of a second. */
const program = `const { createHash } = require("node:crypto"); const bytes = Buffer.alloc(1 << 20);
for (let round = 0; round < 300; round += 1) createHash("sha256").update(bytes).digest();`;

/**
 * How many times as long this machine takes as a quiet one, at its present load: wall-clock time of work on every core
 * at once. Time-outs of waits grow with it.
 *
 * @returns at least 1.
 */
export async function measureSlowness(): Promise<number> {
  const started = performance.now();
  await Promise.all(Array.from({ length: availableParallelism() }, runOnce));
  return Math.max(1, (performance.now() - started) / quietMs);
}

function runOnce(): Promise<void> {
  return new Promise((done, failed) => {
    spawn(process.execPath, ["-e", program], { stdio: "ignore" })
      .once("exit", () => done())
      .once("error", failed);
  });
}
