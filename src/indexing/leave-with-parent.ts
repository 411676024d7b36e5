/*
 * Loaded into the Ponder process before Ponder (`node --import`). The launcher holds the other end of
 * the channel; when it is gone, however it died, nobody would stop this process any more.
 */
const leave = () => {
  process.kill(process.pid, "SIGINT");
  // Its orderly end waits for requests to a gateway that died with the launcher, for ever. Alive, it
  // would write into tables that the next Ponder believes its own.
  setTimeout(() => process.kill(process.pid, "SIGKILL"), 1_000);
};
process.once("disconnect", leave);
// The channel alone shall not keep the process running.
process.channel?.unref();
// It may have died before this line ran.
if (process.connected === false) leave();
