/*
 * The Ponder process. Loading Ponder takes longer than everything else before it indexes, and depends on no settings.
 * So the indexer starts this process first, and sends the order once it knows the chain and the schema.
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
// ponder-guards.ts unrefs the channel. Until the order comes, nothing else keeps this process running.
process.channel?.ref();
const bin = ponderBin();
await import(pathToFileURL(join(dirname(bin), "commands/start.js")).href);
const { directory, args, env } = await ordered;
process.channel?.unref();
process.chdir(directory);
Object.assign(process.env, env);
process.argv = [process.execPath, bin, ...args];
await import(pathToFileURL(bin).href);

/** Gives back memory: the indexer's code is compiled, and the batches of the backfill are done. */
function rest(): void {
  // The compiler is a process of its own, which Vite starts again if it has to compile more.
  void stopCompiler();
  void keepHeapSmall().then(flushCompileCache);
}

async function stopCompiler(): Promise<void> {
  const vite = createRequire(bin).resolve("vite");
  const { stop } = createRequire(vite)("esbuild") as { stop(): Promise<void> };
  await stop();
}
