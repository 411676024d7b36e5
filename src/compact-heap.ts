import { Session } from "node:inspector/promises";
import { setFlagsFromString } from "node:v8";

/**
 * Gives back the memory that loading the program took: half of its heap is garbage then, which V8 would keep as space
 * to grow, about 60 MiB in each process. It blocks the process for a third of a second: call it before the first
 * request.
 */
export async function compactHeap(): Promise<void> {
  const session = new Session();
  session.connect();
  await session.post("HeapProfiler.collectGarbage");
  session.disconnect();
}

/**
 * The same permanently: the young generation shrinks to its minimum and stays there. By default it grows with what
 * survives in it, however slowly that accumulates, and all of it gets touched. The old generation grows little beyond
 * its live objects. Only for a process whose main work is done, not for one that answers requests: collections are
 * several times as frequent (docs/measurements/uploads.md).
 */
export async function keepHeapSmall(): Promise<void> {
  setFlagsFromString("--memory-saver-mode");
  setFlagsFromString("--semi-space-growth-factor=1");
  await compactHeap();
}

/** Undoes `keepHeapSmall`, before more work of that size. */
export function letHeapGrow(): void {
  setFlagsFromString("--no-memory-saver-mode");
  setFlagsFromString("--semi-space-growth-factor=2");
}

const settledMs = 10_000;

/**
 * Runs one of the above later, for a process in which nobody waits for an answer: by then its first work has left its
 * garbage, and the parts that are still starting no longer need the CPU.
 */
export function compactHeapLater(compact = compactHeap): void {
  setTimeout(() => void compact(), settledMs).unref();
}

/** Two malloc arenas for the C library; by default it makes one for every few threads, and each keeps its peak size. */
export const fewArenas = { MALLOC_ARENA_MAX: "2" };

/**
 * The same for native memory, as variables for a process in which nobody waits for an answer. By default the C library
 * keeps the memory of freed large buffers (sources, compiled code) for later use, in an arena for every few threads.
 * For glibc; other C libraries ignore these variables.
 */
export const returnMemory = {
  ...fewArenas,
  MALLOC_MMAP_THRESHOLD_: "131072",
  MALLOC_TRIM_THRESHOLD_: "131072",
};
