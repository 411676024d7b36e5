// The command line: `node bin/mintyard.ts <command>`, or `npm run -s mintyard -- <command>`.
// Only what every command needs is imported here.
import { joinRunningStack } from "../src/embedded/data-folder.ts";
import { needsService, runProgram } from "./command-line.ts";
import { createProgram } from "./commands.ts";

const argv = process.argv.slice(2);
await runProgram(createProgram(), argv.length > 0 ? argv : ["help"], (command) => {
  if (needsService(command)) joinRunningStack(process.env);
});
// An open channel to the process that started this one would keep it running.
if (process.connected) process.disconnect();
