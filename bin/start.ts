import { keepCompileCache } from "../src/embedded/compile-cache.ts";
import { readyLine } from "../src/embedded/ready-info.ts";
import { StartProgress } from "../src/embedded/start-progress.ts";

/**
 * `npm start`: prints one line `MINTYARD_READY {json}` on stdout when all is ready; SIGTERM and SIGINT end it. On stderr
 * it says how far the start is, and last where the console is.
 */
export async function runStart(): Promise<number> {
  const stopAsked = untilStopAsked();
  const stop = new AbortController();
  void stopAsked.then(() => stop.abort());
  // Who reads this may be gone before the stack is down.
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

/** Resolves when this process is told to end, or when the one that started it is gone. */
export function untilStopAsked(): Promise<"stop"> {
  return new Promise((done) => {
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => done("stop"));
    process.on("disconnect", () => done("stop"));
    // It went while this process was loading.
    if (process.connected === false) done("stop");
  });
}
