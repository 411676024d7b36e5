import { Session } from "node:inspector/promises";
import { setFlagsFromString } from "node:v8";

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

/**
 * The same for good: the young generation goes back to its least size and stays there. By itself it grows by what
 * survives in it, however slowly that comes together, and all of it is touched in turn. The old generation grows by
 * little beyond what lives in it (not for a process that answers: it collects several times as often, see
 * docs/measurements/uploads.md). For a process whose great work is done.
 */
export async function keepHeapSmall(): Promise<void> {
  setFlagsFromString("--memory-saver-mode");
  setFlagsFromString("--semi-space-growth-factor=1");
  await compactHeap();
}

/** Takes `keepHeapSmall` back: great work begins again. */
export function letHeapGrow(): void {
  setFlagsFromString("--no-memory-saver-mode");
  setFlagsFromString("--semi-space-growth-factor=2");
}

const settledMs = 10_000;

/**
 * One of the above in a while, for a process in which nobody waits for an answer: its first work has made its garbage by
 * then, and the processor is not wanted by the parts that still start.
 */
export function compactHeapLater(compact = compactHeap): void {
  setTimeout(() => void compact(), settledMs).unref();
}

/** Two arenas for the C library's memory, where it would make one for every few threads and keep what each had at most. */
export const fewArenas = { MALLOC_ARENA_MAX: "2" };

/**
 * The same for what is not JavaScript's, as variables for a process in which nobody waits for an answer. By itself the C
 * library keeps what large buffers took (sources, compiled code) as room for others, in an arena for every few
 * threads. For glibc; other C libraries do not know these.
 */
export const returnMemory = {
  ...fewArenas,
  MALLOC_MMAP_THRESHOLD_: "131072",
  MALLOC_TRIM_THRESHOLD_: "131072",
};
