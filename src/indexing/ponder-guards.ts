/*
 * Loaded into the Ponder process before Ponder (`node --import`). It ends the process when its launcher dies, or when
 * the process loses a database connection.
 *
 * The launcher has the other end of the IPC channel. When the launcher is gone, for whatever reason, nothing else would
 * stop this process. It would go on to write into tables that the next Ponder process takes for its own.
 *
 * Ponder asks for asynchronous commits and continues from its memory. When PostgreSQL crashes, the last committed
 * batches may be gone, and a failed commit is repeated on the assumption that earlier rows were written. Either way
 * whole ranges of blocks would be missing for good, unnoticed. So commits must be durable, and a process that loses a
 * connection must end: the next one reads its progress from the database.
 */
import fs from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { ponderFolder } from "./ponder-process.ts";

// Not an orderly shutdown: that would still write, wait for requests to a gateway that died with the launcher, and wait
// for ever for a starting thread, without any timer left to end it. PostgreSQL rolls back open transactions, and the
// next launcher unlocks the schema.
const end = () => process.kill(process.pid, "SIGKILL");
process.once("disconnect", end);
// The channel alone must not keep the process running.
process.channel?.unref();
// The launcher may have died before this line ran.
if (process.connected === false) end();

// Ponder's logger flushes at the end, and retries for ever when the pipe has no reader any more. It blocks the process,
// so the closed channel would not be noticed.
const { writeSync } = fs;
const output: readonly number[] = [process.stdout.fd, process.stderr.fd];
const writeOrLeave = (...args: Parameters<typeof writeSync>): number => {
  try {
    return writeSync(...args);
  } catch (error) {
    if (output.includes(args[0]) && (error as NodeJS.ErrnoException).code === "EPIPE") end();
    throw error;
  }
};
fs.writeSync = writeOrLeave as typeof writeSync;

/** The part of pg's client that is used here; `connection` is not in its types. */
interface Client {
  connect(...args: unknown[]): unknown;
  once(event: "connect", listener: () => void): unknown;
  query(text: string): Promise<unknown>;
  on(event: "error", listener: (error: Error) => void): unknown;
  connection: { on(event: "errorMessage", listener: (error: DatabaseError) => void): unknown };
}

interface DatabaseError {
  message: string;
  /** In the language of the server. */
  severity?: string;
  code?: string;
}

/** An acknowledged commit must survive a crash, and the server must not end idle sessions. */
const settings = "SET synchronous_commit = on; SET idle_session_timeout = 0";
/** SQLSTATE class of sessions that the server ends: shutdown, crash, idle for too long. */
const operatorIntervention = "57P";

// Ponder's copy of pg, in case its version ever differs from ours.
const pg = createRequire(join(ponderFolder(), "package.json"))("pg") as { Client: { prototype: Client } };
const { connect } = pg.Client.prototype;

pg.Client.prototype.connect = function (this: Client, ...args: unknown[]): unknown {
  // A connection that was never established loses nothing.
  this.once("connect", () => {
    // Emitted before pending queries fail, when the connection ends without our doing.
    this.on("error", ({ message }) => endWith(message));
    // The server's last message. Without this, the running query would fail and be repeated before the end is noticed.
    this.connection.on("errorMessage", ({ severity, code, message }) => {
      if (severity === "FATAL" || severity === "PANIC" || code?.startsWith(operatorIntervention)) endWith(message);
    });
    // Runs after Ponder's own setting, which is queued by now, and before its first transaction.
    this.query(settings).catch((error: Error) => endWith(error.message));
  });
  return connect.apply(this, args);
};

function endWith(reason: string): void {
  const msg = `A connection to the database was lost (${reason}); starting from what it holds`;
  try {
    fs.writeSync(2, `${JSON.stringify({ level: 40, msg })}\n`);
  } finally {
    end();
  }
}
