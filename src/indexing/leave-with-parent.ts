/*
 * Loaded into the Ponder process before Ponder (`node --import`). The launcher holds the other end of
 * the channel; when it is gone, however it died, nobody would stop this process any more. Alive, it would
 * write into tables that the next Ponder believes its own.
 */
// Not its orderly end: that waits for requests to a gateway that died with the launcher, and can wait for ever for a
// thread that is starting, with no timer running any more. PostgreSQL undoes what was open, and the next launcher
// unlocks the schema.
const leave = () => process.kill(process.pid, "SIGKILL");
process.once("disconnect", leave);
// The channel alone shall not keep the process running.
process.channel?.unref();
// It may have died before this line ran.
if (process.connected === false) leave();
