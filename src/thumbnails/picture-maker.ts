import { type ChildProcess, spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { getCompileCacheDir } from "node:module";
import { constants, setPriority } from "node:os";
import { dirname, join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { mostMs, mostProcessBytes } from "./bounds.ts";
import { answers, type Frame, frameHeader, readFrames } from "./frames.ts";

/** A preview, or why none is made of the picture; `forNow`: another time it may be. */
export type Made = { bytes: Buffer } | { refused: string; forNow: boolean };

/** The process cannot be run: its library is missing, or does not fit the machine. */
class NoPictureProcess extends Error {}

const program = join(import.meta.dirname, "picture-process.ts");
/**
 * The kernel ends it where its own watch is late, as on a busy machine. What is only reserved counts too: stacks of threads,
 * the allocator's arenas. Systems without that limit have the watch alone.
 */
const bounded = `ulimit -d ${(2 * mostProcessBytes) / 1_024} 2>/dev/null; unset PWD; exec "$0" "$@"`;
/** Memory that decoders lose adds up. */
const picturesOfProcess = 500;
/** Without pictures it ends, and its memory is free. */
const idleMs = 60_000;
const startMs = 60_000;
/** A start that failed is not repeated before. */
const brokenMs = 60_000;
/** Of the words of a refusal. */
const mostReasonBytes = 300;
/** No preview comes near it. */
const mostPreviewBytes = 16_777_216;

/**
 * Has previews made by a process of its own, one at a time, which is started by the first picture. It is killed when it
 * takes more than its time and ends itself when it takes more than its memory; the next picture gets a new one.
 */
export class PictureMaker {
  #process: PictureProcess | null = null;
  #last: Promise<unknown> = Promise.resolve();
  #idle: NodeJS.Timeout | undefined;
  #brokenUntil = 0;

  /** Of the process; undefined while there is none. */
  get pid(): number | undefined {
    return this.#process?.child.pid;
  }

  /**
   * @param picture in any format; what it is, its bytes say.
   * @param width in pixels.
   * @throws Error when the process cannot be run.
   */
  async make(picture: Uint8Array, width: number): Promise<Made> {
    const made = this.#last.then(() => this.#make(picture, width));
    this.#last = made.catch(() => undefined);
    return await made;
  }

  /** Ends the process; a picture that it is at is refused for now. */
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
      // A busy machine may be why it was slow, and a kill may have been meant for something else.
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
      // None of our keys, and few arenas for memory that is given back.
      env: { MALLOC_ARENA_MAX: "2", ...(cache ? { NODE_COMPILE_CACHE: dirname(cache) } : {}) },
      stdio: ["pipe", "pipe", "ignore"],
    });
    // Who asks it for a picture sees its end.
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

  /** The next frame; a text that says how the process ended. */
  async next(withinMs: number): Promise<Frame | string> {
    let isLate = false;
    // It keeps this process running for as long as somebody waits.
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

/** Where the processor or memory is short, previews come last. */
function makeExpendable(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // It has ended already.
  }
  // Of Linux: which process the kernel ends when the machine's memory is used up.
  void writeFile(`/proc/${pid}/oom_score_adj`, "1000").catch(() => undefined);
}
