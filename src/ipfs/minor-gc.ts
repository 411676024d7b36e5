import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Bytes of garbage after which a collection runs. */
const uncollectedBytes = 16_777_216;

let collectMinor: (() => void) | undefined;
let allocated = 0;

/**
 * Call it for each large buffer that is passed on at once. Buffers are outside V8's heap, and a streamed file leaves so
 * little within the heap that V8 sees no reason to collect: a gigabyte passed through with 60 MiB of dead buffers at
 * any time. A collection of the young generation frees them, and takes about a millisecond.
 */
export function countForMinorGc(bytes: number): void {
  allocated += bytes;
  if (allocated < uncollectedBytes) return;
  allocated = 0;
  collectMinor ??= openCollector();
  collectMinor();
}

/** V8 exposes its collector only to contexts that are made while the flag is set. */
function openCollector(): () => void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as (options: { type: "minor" }) => void;
  setFlagsFromString("--no-expose-gc");
  return () => collect({ type: "minor" });
}
