/*
 * Loaded into the Ponder process before Ponder (`node --import`). Ponder asks for asynchronous commits and goes on from
 * what it has in memory: when PostgreSQL crashes, the last batches that it committed may be gone, and a commit that
 * failed is tried again with rows that it believes written. Either way whole ranges of blocks would be missing for good,
 * unnoticed. So what is committed has to stay, and a process that loses a connection ends: the next one reads
 * in the database how far it is.
 */
import { writeSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { ponderFolder } from "./ponder-process.ts";

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
    this.on("error", ({ message }) => leave(message));
    // The last word to a query that is running: it would fail, and be tried again, before the end is seen.
    this.connection.on("errorMessage", ({ severity, code, message }) => {
      if (severity === "FATAL" || severity === "PANIC" || code?.startsWith(operatorIntervention)) leave(message);
    });
    // Behind Ponder's own setting, which it has asked for by now, and before its first transaction.
    this.query(settings).catch((error: Error) => leave(error.message));
  });
  return connect.apply(this, args);
};

function leave(reason: string): void {
  const msg = `A connection to the database was lost (${reason}); starting from what it holds`;
  try {
    writeSync(2, `${JSON.stringify({ level: 40, msg })}\n`);
  } finally {
    // Not its orderly end, in which it would still write.
    process.kill(process.pid, "SIGKILL");
  }
}
