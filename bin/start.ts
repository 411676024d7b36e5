import { keepCompileCache } from "../src/embedded/compile-cache.ts";
import { readyLine } from "../src/embedded/ready-info.ts";
import { StartProgress } from "../src/embedded/start-progress.ts";

/**
 * `npm start`: prints one line `MINTYARD_READY {json}` on stdout when everything is ready; ends on SIGTERM and SIGINT.
 * On stderr it shows the start's progress, and last the console's address.
 */
export async function runStart(): Promise<number> {
  const stopAsked = untilStopAsked();
  const stop = new AbortController();
  void stopAsked.then(() => stop.abort());
  // The reader of the output may be gone before the stack has stopped.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
  keepCompileCache(process.env["MINTYARD_DATA_DIR"]);
  const { StartStopped, startStack } = await import("../src/embedded/stack.ts");
  const progress = new StartProgress(process.stderr);
  try {
    const stack = await startStack(process.env, (line) => progress.line(line), {
      parts: progress,
      signal: stop.signal,
    });
    progress.end();
    process.stdout.write(readyLine(stack.ready));
    // For a person, who does not look for an address in the line above.
    process.stderr.write(`Open ${stack.ready.console} in a browser. Ctrl-C ends the service.\n`);
    await stopAsked;
    await stack.stop();
  } catch (error) {
    progress.end();
    if (!(error instanceof StartStopped)) throw error;
  }
  return 0;
}

/** Resolves when this process is asked to end, or when its parent is gone. */
export function untilStopAsked(): Promise<"stop"> {
  return new Promise((done) => {
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => done("stop"));
    process.on("disconnect", () => done("stop"));
    // The parent ended while this process was loading.
    if (process.connected === false) done("stop");
  });
}
