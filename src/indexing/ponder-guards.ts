/*
 * Loaded into the Ponder process before Ponder (`node --import`): it ends with its launcher, and with any connection to
 * the database that it loses.
 *
 * The launcher holds the other end of the channel; when it is gone, however it died, nobody would stop this process any
 * more. Alive, it would write into tables that the next Ponder believes its own.
 *
 * Ponder asks for asynchronous commits and goes on from what it has in memory: when PostgreSQL crashes, the last batches
 * that it committed may be gone, and a commit that failed is tried again with rows that it believes written. Either way
 * whole ranges of blocks would be missing for good, unnoticed. So what is committed has to stay, and a process that
 * loses a connection ends: the next one reads in the database how far it is.
 */
import fs from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { ponderFolder } from "./ponder-process.ts";

// Not its orderly end: in that it would still write, and wait for requests to a gateway that died with the launcher, and
// for ever for a thread that is starting, with no timer running any more. PostgreSQL undoes what was open, and the next
// launcher unlocks the schema.
const end = () => process.kill(process.pid, "SIGKILL");
process.once("disconnect", end);
// The channel alone shall not keep the process running.
process.channel?.unref();
// It may have died before this line ran.
if (process.connected === false) end();

// Ponder's logger writes what is left at the end and tries again for ever when nobody reads any more. Nothing else runs
// then, so nothing would see the channel close.
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

/** What is known here of pg's client; `connection` is not in its types. */
interface Client {
  connect(...args: unknown[]): unknown;
  once(event: "connect", listener: () => void): unknown;
  query(text: string): Promise<unknown>;
  on(event: "error", listener: (error: Error) => void): unknown;
  connection: { on(event: "errorMessage", listener: (error: DatabaseError) => void): unknown };
}

interface DatabaseError {
  message: string;
  /** In the server's language. */
  severity?: string;
  code?: string;
}

/** A commit that was acknowledged outlives a crash; a session that rests is not ended by the server. */
const settings = "SET synchronous_commit = on; SET idle_session_timeout = 0";
/** SQLSTATEs of sessions that the server ends: shutdown, crash, idle for too long. */
const operatorIntervention = "57P";

// Ponder's own copy, should it ever have another one than we.
const pg = createRequire(join(ponderFolder(), "package.json"))("pg") as { Client: { prototype: Client } };
const { connect } = pg.Client.prototype;

pg.Client.prototype.connect = function (this: Client, ...args: unknown[]): unknown {
  // A connection that does not come about takes nothing with it.
  this.once("connect", () => {
    // Emitted when the connection ends and we did not end it, before its queries fail.
    this.on("error", ({ message }) => endWith(message));
    // The last word to a query that is running: it would fail, and be tried again, before the end is seen.
    this.connection.on("errorMessage", ({ severity, code, message }) => {
      if (severity === "FATAL" || severity === "PANIC" || code?.startsWith(operatorIntervention)) endWith(message);
    });
    // Behind Ponder's own setting, which it has asked for by now, and before its first transaction.
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
