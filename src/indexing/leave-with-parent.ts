/*
 * Loaded into the Ponder process before Ponder (`node --import`). The launcher holds the other end of
 * the channel; when it is gone, however it died, nobody would stop this process any more. Alive, it would
 * write into tables that the next Ponder believes its own.
 */
import fs from "node:fs";

// Not its orderly end: that waits for requests to a gateway that died with the launcher, and can wait for ever for a
// thread that is starting, with no timer running any more. PostgreSQL undoes what was open, and the next launcher
// unlocks the schema.
const leave = () => process.kill(process.pid, "SIGKILL");
process.once("disconnect", leave);
// The channel alone shall not keep the process running.
process.channel?.unref();
// It may have died before this line ran.
if (process.connected === false) leave();

// Ponder's logger writes what is left at the end and tries again for ever when nobody reads any more. Nothing else runs
// then, so nothing would see the channel close.
const { writeSync } = fs;
const output: readonly number[] = [process.stdout.fd, process.stderr.fd];
const writeOrLeave = (...args: Parameters<typeof writeSync>): number => {
  try {
    return writeSync(...args);
  } catch (error) {
    if (output.includes(args[0]) && (error as NodeJS.ErrnoException).code === "EPIPE") leave();
    throw error;
  }
};
fs.writeSync = writeOrLeave as typeof writeSync;
