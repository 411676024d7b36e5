/*
 * The Ponder process. To load Ponder takes longer than all else it does before it indexes, and needs to know nothing. So
 * the indexer starts this process first and tells it what to work on once it knows that.
 */
import { createRequire, flushCompileCache } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { keepHeapSmall } from "../compact-heap.ts";
import { type PonderOrder, ponderBin } from "./ponder-process.ts";

const { promise: ordered, resolve: order } = Promise.withResolvers<PonderOrder>();
process.on("message", (message: PonderOrder | { type: "rest" }) => {
  if (message.type === "start") order(message);
  else rest();
});
// ponder-guards.ts lets go of the channel; until the order comes it is all that keeps this process.
process.channel?.ref();
const bin = ponderBin();
await import(pathToFileURL(join(dirname(bin), "commands/start.js")).href);
const { directory, args, env } = await ordered;
process.channel?.unref();
process.chdir(directory);
Object.assign(process.env, env);
process.argv = [process.execPath, bin, ...args];
await import(pathToFileURL(bin).href);

/** The indexer is compiled and the backfill's batches are gone: what they took can go as well. */
function rest(): void {
  // A process of its own, which Vite starts again should it ever compile more.
  void stopCompiler();
  void keepHeapSmall().then(flushCompileCache);
}

async function stopCompiler(): Promise<void> {
  const vite = createRequire(bin).resolve("vite");
  const { stop } = createRequire(vite)("esbuild") as { stop(): Promise<void> };
  await stop();
}
