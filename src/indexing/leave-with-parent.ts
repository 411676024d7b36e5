/*
 * Loaded into the Ponder process before Ponder (`node --import`). The launcher holds the other end of
 * the channel; when it is gone, however it died, nobody would stop this process any more.
 */
process.once("disconnect", () => process.kill(process.pid, "SIGINT"));
// The channel alone shall not keep the process running.
process.channel?.unref();
