import { Session } from "node:inspector/promises";

/**
 * Gives back the memory that loading the program took: half of its heap is garbage then, which V8 would keep as
 * room to grow, about 60 MiB in each process. Nothing else runs for a third of a second: call it before the
 * first request.
 */
export async function compactHeap(): Promise<void> {
  const session = new Session();
  session.connect();
  await session.post("HeapProfiler.collectGarbage");
  session.disconnect();
}

const settledMs = 10_000;

/**
 * The same in a while, for a process in which nobody waits for an answer: its first work has made its garbage by then,
 * and the processor is not wanted by the parts that still start.
 */
export function compactHeapLater(): void {
  setTimeout(() => void compactHeap(), settledMs).unref();
}
