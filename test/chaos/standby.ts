// A process that has read the service's code already and waits to be told to start: node standby.ts PROGRAM
// A kill then costs the service a restart, and not the seconds that a busy machine takes to read its code.
import { flushCompileCache } from "node:module";

const shared = ["processes/create-services", "processes/prepare-database", "processes/lifecycle"];
const ahead: Readonly<Record<string, readonly string[]>> = {
  api: ["server/app", "http/limits", ...shared],
  worker: [
    "transactions/track/run-relay",
    "collections/detect-deployments",
    "metadata/schedule/run-metadata",
    "ipfs/run-pinning",
    ...shared,
  ],
};
const program = process.argv[2] ?? "";
for (const part of ahead[program] ?? []) await import(`../../src/${part}.ts`);
// Most of these processes are killed, and would leave the next one everything to compile.
flushCompileCache();
const gone = () => process.exit();
process.once("disconnect", gone);
process.once("message", () => {
  process.off("disconnect", gone);
  void import(`../../src/processes/${program}.ts`);
});
