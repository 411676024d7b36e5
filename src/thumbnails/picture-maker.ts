import { type ChildProcess, spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { getCompileCacheDir } from "node:module";
import { constants, setPriority } from "node:os";
import { dirname, join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { mostMs, mostProcessBytes } from "./bounds.ts";
import { answers, type Frame, frameHeader, readFrames } from "./frames.ts";

/** A preview, or the reason for none; `forNow`: a later try may succeed. */
export type Made = { bytes: Buffer } | { refused: string; forNow: boolean };

/** The process cannot run: its library is missing, or does not fit the machine. */
class NoPictureProcess extends Error {}

const program = join(import.meta.dirname, "picture-process.ts");
/**
 * A kernel limit for when the process's own watch is late, as on a busy machine; systems without it rely on the watch.
 * It is twice as high, since it also counts memory that is only reserved (thread stacks, the allocator's arenas).
 */
const bounded = `ulimit -d ${(2 * mostProcessBytes) / 1_024} 2>/dev/null; unset PWD; exec "$0" "$@"`;
/** After this many pictures a new process is started, since decoders leak memory. */
const picturesOfProcess = 500;
/** After this time without pictures the process is ended to free its memory. */
const idleMs = 60_000;
const startMs = 60_000;
/** A failed start is not repeated within this time. */
const brokenMs = 60_000;
/** The most bytes of a refusal's text. */
const mostReasonBytes = 300;
/** Far more than any preview has. */
const mostPreviewBytes = 16_777_216;

/**
 * Makes previews in a separate process, one at a time. The first picture starts the process. It is killed when it
 * exceeds its time and ends itself when it exceeds its memory; the next picture gets a new one.
 */
export class PictureMaker {
  #process: PictureProcess | null = null;
  #last: Promise<unknown> = Promise.resolve();
  #idle: NodeJS.Timeout | undefined;
  #brokenUntil = 0;

  /** Id of the process; undefined while there is none. */
  get pid(): number | undefined {
    return this.#process?.child.pid;
  }

  /**
   * @param picture in any format; the format is detected from the bytes.
   * @param width in pixels.
   * @throws Error when the process cannot run.
   */
  async make(picture: Uint8Array, width: number): Promise<Made> {
    const made = this.#last.then(() => this.#make(picture, width));
    this.#last = made.catch(() => undefined);
    return await made;
  }

  /** Ends the process; the picture in progress is refused for now. */
  close(): void {
    clearTimeout(this.#idle);
    this.#process?.child.kill("SIGKILL");
    this.#process = null;
  }

  async #make(picture: Uint8Array, width: number): Promise<Made> {
    clearTimeout(this.#idle);
    const process = await this.#started();
    const answer = await process.ask(width, picture, mostMs);
    if (typeof answer === "string") {
      this.#process = null;
      // It may have been slow because the machine was busy, and a kill may have had another cause.
      return { refused: `making its preview ${answer}`, forNow: true };
    }
    if (process.asked >= picturesOfProcess) this.#end();
    else this.#idle = setTimeout(() => this.#end(), idleMs).unref();
    if (answer.word === answers.made) return { bytes: answer.bytes };
    return { refused: answer.bytes.subarray(0, mostReasonBytes).toString(), forNow: false };
  }

  #end(): void {
    this.#process?.child.stdin?.end();
    this.#process = null;
  }

  async #started(): Promise<PictureProcess> {
    // It may have been killed from outside.
    if (this.#process?.isRunning) return this.#process;
    if (performance.now() < this.#brokenUntil) throw new NoPictureProcess("the process for previews did not start");
    this.#process = new PictureProcess();
    const answer = await this.#process.next(startMs);
    if (typeof answer !== "string") return this.#process;
    this.#process = null;
    this.#brokenUntil = performance.now() + brokenMs;
    throw new NoPictureProcess(`the process for previews ${answer} before it was ready`);
  }
}

class PictureProcess {
  readonly child: ChildProcess;
  asked = 0;
  readonly #frames: AsyncGenerator<Frame>;

  constructor() {
    const cache = getCompileCacheDir();
    this.child = spawn("/bin/sh", ["-c", bounded, process.execPath, "--max-old-space-size=64", program], {
      // It gets none of our keys, and few arenas, so that freed memory is returned.
      env: { MALLOC_ARENA_MAX: "2", ...(cache ? { NODE_COMPILE_CACHE: dirname(cache) } : {}) },
      stdio: ["pipe", "pipe", "ignore"],
    });
    // The caller of `next` sees that it has ended.
    this.child.on("error", () => undefined);
    this.child.stdin?.on("error", () => undefined);
    this.child.unref();
    for (const stream of [this.child.stdin, this.child.stdout]) (stream as { unref?: () => void } | null)?.unref?.();
    if (this.child.pid !== undefined) makeExpendable(this.child.pid);
    this.#frames = readFrames(this.child.stdout as Readable, mostPreviewBytes);
  }

  get isRunning(): boolean {
    const { pid, killed, exitCode, signalCode } = this.child;
    return pid !== undefined && !killed && exitCode === null && signalCode === null;
  }

  async ask(width: number, picture: Uint8Array, withinMs: number): Promise<Frame | string> {
    this.asked += 1;
    const stdin = this.child.stdin as Writable;
    stdin.write(frameHeader(width, picture.length));
    stdin.write(picture);
    return await this.next(withinMs);
  }

  /** The next frame, or a text that says how the process ended. */
  async next(withinMs: number): Promise<Frame | string> {
    let isLate = false;
    // The timer also keeps this process running while a caller waits.
    const limit = setTimeout(() => {
      isLate = true;
      this.child.kill("SIGKILL");
    }, withinMs);
    try {
      const { value } = await this.#frames.next();
      if (value) return value;
    } catch {
      this.child.kill("SIGKILL");
    } finally {
      clearTimeout(limit);
    }
    return isLate ? `took more than ${withinMs / 1_000} s` : "ended its process, as too much memory does";
  }
}

/** When processor or memory are scarce, previews come last. */
function makeExpendable(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // It has already ended.
  }
  // Linux only: makes it the first process that the kernel kills when memory runs out.
  void writeFile(`/proc/${pid}/oom_score_adj`, "1000").catch(() => undefined);
}
