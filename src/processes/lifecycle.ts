import { accessSync, constants, mkdirSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { describeFailure, earlyLogLevel } from "../config/config.ts";
import { createLogger, type Logger } from "../telemetry/log.ts";

/** For what is left to do once the last request is answered. */
const timeoutMs = 1_500;

/**
 * Ends the process on any unhandled error, with one line of JSON: why, and what to do. At level debug it has the stack.
 *
 * @param name of the process, for errors before its configuration is read.
 */
export function endOnFailure(name: string): void {
  const end = (error: unknown) => {
    logEnd(createLogger(name, earlyLogLevel()), error);
    leave(1);
  };
  process.on("uncaughtException", end);
  process.on("unhandledRejection", end);
}

/** @throws the file system's error when the folder cannot be created: better now than when uploads fail one by one. */
export function makeDataFolder(dataDir: string): void {
  mkdirSync(dataDir, { recursive: true });
  accessSync(dataDir, constants.W_OK);
}

/** The last line of a process: why it ends, and what to do. */
export function logEnd(log: Logger, error: unknown): void {
  log.fatal(log.isLevelEnabled("debug") ? { err: error } : {}, describeFailure(error));
}

/** Ends this process when its parent is gone, so that a killed parent leaves no orphan. */
export function endWithParent(): void {
  const end = () => process.kill(process.pid, "SIGTERM");
  process.on("disconnect", end);
  // The parent ended while this program was starting.
  if (process.connected === false) end();
}

/**
 * Ends this process, by SIGKILL if its parent is gone. `process.exit()` joins the compiler threads, and in Node 24 one
 * of those may be waiting for a garbage collection that the exiting thread no longer does. A living parent would then
 * kill the process; an orphan would stay for good.
 */
export function leave(code: number): void {
  if (process.connected === false) process.kill(process.pid, "SIGKILL");
  else process.exit(code);
}

/**
 * Runs `close` once on SIGTERM or SIGINT and exits with 0, or with 1 when `close` takes longer than allowed.
 *
 * @param shutdown time that `close` may take; by default less than the launcher waits.
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
 * Lets a heap fill two fifths of the space up to its limit before incremental marking starts. By default V8 starts when
 * less is left than the young generation takes, and in a heap of 50 MB that is always: under load V8 marked the whole
 * heap up to twice a second and competed with queries for the same cores. The price is memory: buffers of old objects
 * are freed as seldom (docs/measurements/reads.md). A much later start would be too late: the heap would be full before
 * marking begins, and everything would stop for it. The space is limited to seven tenths of the live heap: after a
 * quiet time V8 would allow more than the heap's size again, and keep that memory from then on.
 *
 * Also turns off pretenuring, which allocates objects of a site that often outlive the young generation among the old
 * ones. Objects of a request under way during a collection look like that. Such an object keeps its whole request alive
 * until the next marking; in about half of all processes, this happened to most requests.
 */
export function tuneGc(): void {
  setFlagsFromString("--incremental-marking-soft-trigger=40");
  setFlagsFromString("--incremental-marking-hard-trigger=60");
  setFlagsFromString("--heap-growing-percent=70");
  setFlagsFromString("--no-allocation-site-pretenuring");
}
