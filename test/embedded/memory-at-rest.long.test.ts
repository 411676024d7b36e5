import { setTimeout as wait } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { proportionalMemory } from "../../bench/start/proportional-memory.ts";
import { type RunningStack, startStackProcess } from "../setup/stack.ts";
import { slowness } from "../setup/wait.ts";

/** 10^6 bytes each. A run shows 831: minting, webhooks and sessions are loaded since the bound was 800. */
const boundMb = 900;
/** Heaps are compacted ten seconds after the start, idle connections end after thirty; then young generations fill. */
const restMs = 90_000;

let stack: RunningStack | undefined;
afterAll(() => stack?.remove());

test("the whole service on embedded parts holds at most 0.9 GB at rest", { timeout: 240_000 * slowness }, async () => {
  stack = await startStackProcess();
  await wait(restMs);
  const memory = proportionalMemory(stack.dir);
  const of = (pattern: RegExp) => memory.filter(({ command }) => pattern.test(command));
  expect(of(/ponder-host\.ts/)).toHaveLength(1);
  expect(of(/esbuild/)).toEqual([]);
  // Six of its own, and the connections of four processes, of which the worker has eight.
  expect(of(/^postgres|bin\/postgres /).length).toBeLessThan(24);
  const total = memory.reduce((sum, { megabytes }) => sum + megabytes, 0);
  expect(total, memory.map(({ command, megabytes }) => `${megabytes.toFixed(0)} ${command}`).join("\n")).toBeLessThan(
    boundMb,
  );
});
