import { createRequire } from "node:module";
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/setup/longest-first.ts";
import { slowness } from "./test/setup/wait.ts";

export default defineConfig({
  // graphql refuses types of a second copy of itself, and Vite would load its ES modules beside the
  // CommonJS ones that the packages load.
  resolve: { alias: [{ find: /^graphql$/, replacement: createRequire(import.meta.url).resolve("graphql") }] },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/setup/global.ts"],
    // Files of one worker share pg's parsers: without this an int8 is text until the first file that loads the pool.
    setupFiles: ["src/db/pool/int8-as-bigint.ts", "test/setup/measure-file.ts"],
    pool: "forks",
    // Loading the service takes a second or two of processor time: once in each worker, not once in each file.
    isolate: false,
    // Two more than there are cores: much of what a test does is waiting for a block, a row or a time to pass.
    maxWorkers: availableParallelism() + 2,
    sequence: { sequencer: LongestFirst },
    // A bound for what hangs, not for what is slow: nothing fails on a machine that has other work.
    testTimeout: 180_000 * slowness,
    hookTimeout: 300_000 * slowness,
    reporters: ["default"],
    // The summary at the end has the message alone: what came instead has to stand in it.
    chaiConfig: { truncateThreshold: 0 },
  },
});
