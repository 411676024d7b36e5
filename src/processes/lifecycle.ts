import { accessSync, constants, mkdirSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { describeFailure, earlyLogLevel } from "../config/config.ts";
import { createLogger, type Logger } from "../telemetry/log.ts";

/** Of what is left to do when the last answer was given. */
const timeoutMs = 1_500;

/**
 * Whatever nobody handled ends this process with one line of JSON: why, and what to do. The stack is in it at level debug.
 *
 * @param name of the process, before its configuration was read.
 */
export function endOnFailure(name: string): void {
  const end = (error: unknown) => {
    logEnd(createLogger(name, earlyLogLevel()), error);
    leave(1);
  };
  process.on("uncaughtException", end);
  process.on("unhandledRejection", end);
}

/** @throws Error of the file system when the folder cannot be made: before uploads fail there one by one. */
export function makeDataFolder(dataDir: string): void {
  mkdirSync(dataDir, { recursive: true });
  accessSync(dataDir, constants.W_OK);
}

/** The last line of a process: why it ends, and what to do. */
export function logEnd(log: Logger, error: unknown): void {
  log.fatal(log.isLevelEnabled("debug") ? { err: error } : {}, describeFailure(error));
}

/** Ends this process when the one that started it is gone: a killed parent leaves no orphan behind. */
export function endWithParent(): void {
  const end = () => process.kill(process.pid, "SIGTERM");
  process.on("disconnect", end);
  // It went while this program was starting.
  if (process.connected === false) end();
}

/**
 * Ends this process. One whose parent is gone goes by SIGKILL: `process.exit()` joins the threads that compile, and in
 * Node 24 one of those can be waiting for a collection, which the exiting thread does not do any more. Whoever started
 * a process ends it then; an orphan would stay for good.
 */
export function leave(code: number): void {
  if (process.connected === false) process.kill(process.pid, "SIGKILL");
  else process.exit(code);
}

/**
 * Runs `close` once on SIGTERM or SIGINT, then exits 0; exits 1 when it takes longer than was given.
 *
 * @param shutdown what `close` may take; by default it is less than the launcher waits.
 */
export function onStop(close: () => Promise<void>, log: Logger, shutdown: { delayMs: number; graceMs: number }): void {
  let stopping = false;
  const stop = (signal: NodeJS.Signals) => {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, "stopping");
    setTimeout(() => leave(1), shutdown.delayMs + shutdown.graceMs + timeoutMs).unref();
    close().then(
      () => leave(0),
      (error) => {
        log.error({ err: error }, "stopping failed");
        leave(1);
      },
    );
  };
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
}

/**
 * Lets a heap fill two fifths of the room that V8 gives it before all of it is marked. By itself V8 begins when less is
 * left than the young generation has, and in a heap of 50 MB that is always: under load it marked everything up to twice
 * a second, beside the queries that want the same cores. It costs memory: old objects' buffers are freed as
 * seldom (docs/measurements/reads.md). Much later is too late: then the heap is full before the marking has begun, and
 * everything stands still for it. That room is seven tenths of what lives: after a quiet time V8 would give it more than as
 * much again, and keep that memory from then on.
 *
 * V8 also allocates among old objects what has often outlived the young ones, which is what a request under way when they
 * are collected looks like. Such an object keeps its whole request for the next marking: in about half of all processes
 * that became so with most requests.
 */
export function tuneGc(): void {
  setFlagsFromString("--incremental-marking-soft-trigger=40");
  setFlagsFromString("--incremental-marking-hard-trigger=60");
  setFlagsFromString("--heap-growing-percent=70");
  setFlagsFromString("--no-allocation-site-pretenuring");
}
