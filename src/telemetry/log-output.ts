import sonicBoom from "sonic-boom";

/** What may wait for a reader that does not read, in characters; lines beyond it are lost. */
const maxWaiting = 8 * 1_048_576;
/** Of a tenth of a second each. */
const triesAtExit = 10;

/**
 * This process's standard error as a stream that nobody waits for: lines are written behind the caller's back and
 * what is left is written when the process exits. Whoever read it may be gone (a killed launcher, a closed terminal)
 * or not read any more: then lines are lost, and the process works, and ends, all the same. pino's own
 * stream (its `sonic-boom` 4) writes to a closed pipe for ever when the process exits.
 */
export function openLogOutput(fd: number): { write(line: string): void } {
  let triesLeft = Number.POSITIVE_INFINITY;
  let gone = false;
  const stream = new sonicBoom.SonicBoom({
    fd,
    sync: false,
    maxLength: maxWaiting,
    retryEAGAIN: () => triesLeft-- > 0,
  });
  stream.on("error", () => {
    gone = true;
  });
  process.on("exit", () => {
    if (gone) return;
    triesLeft = triesAtExit;
    try {
      stream.flushSync();
    } catch {
      // Nobody reads it.
    }
  });
  return {
    write(line) {
      if (!gone) stream.write(line);
    },
  };
}
