import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** How much garbage may wait. */
const uncollectedBytes = 16_777_216;

let collectMinor: (() => void) | undefined;
let allocated = 0;

/**
 * Call it with each large buffer that is made to be given away at once. Buffers are outside V8's heap, and what stays
 * of a streamed file inside it is so little that V8 sees no reason to collect: a gigabyte went by with 60 MiB of dead
 * buffers at any time. A collection of the young generation frees them, and takes about a millisecond.
 */
export function countForMinorGc(bytes: number): void {
  allocated += bytes;
  if (allocated < uncollectedBytes) return;
  allocated = 0;
  collectMinor ??= openCollector();
  collectMinor();
}

/** V8 gives its collector to contexts that are made while the flag is set; no other context gets it. */
function openCollector(): () => void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as (options: { type: "minor" }) => void;
  setFlagsFromString("--no-expose-gc");
  return () => collect({ type: "minor" });
}
