/*
 * Loaded into the Ponder process before Ponder (`node --import`). The launcher holds the other end of
 * the channel; when it is gone, however it died, nobody would stop this process any more.
 */
const leave = () => process.kill(process.pid, "SIGINT");
process.once("disconnect", leave);
// The channel alone shall not keep the process running.
process.channel?.unref();
// It may have died before this line ran.
if (process.connected === false) leave();
