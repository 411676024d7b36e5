/*
 * Runs one program of the service for the launcher: node src/embedded/program-host.ts src/processes/api.ts [arguments]
 *
 * Half of a program's start is loading modules, which needs neither a database nor a chain. So the launcher starts this
 * process before those are up. It loads the modules that the program will import, and then the program itself, once the
 * launcher has sent the program's environment.
 */
import { resolve } from "node:path";
import { compileCacheKept } from "./compile-cache.ts";

/** Most of the modules that each program imports. One that is missing here is only loaded later. */
const modules: Partial<Record<string, () => Promise<unknown>>> = {
  api: () =>
    Promise.all([
      import("../server/http-server.ts"),
      import("../processes/create-services.ts"),
      import("../accounts/status-gauges.ts"),
      import("../processes/prepare-database.ts"),
      import("../telemetry/metrics.ts"),
    ]),
  signer: () =>
    Promise.all([
      import("../signing/signer-config.ts"),
      import("../signing/keyrings.ts"),
      import("../signing/signer-server.ts"),
    ]),
  worker: () =>
    Promise.all([
      import("../transactions/track/run-relay.ts"),
      import("../processes/create-services.ts"),
      import("../metadata/schedule/run-metadata.ts"),
      import("../ipfs/run-pinning.ts"),
      import("../collections/detect-deployments.ts"),
      import("../accounts/status-gauges.ts"),
      import("../processes/prepare-database.ts"),
      import("../telemetry/metrics.ts"),
    ]),
  indexer: async () => {
    (await import("../indexing/ponder-process.ts")).preparePonder();
    await Promise.all([
      import("../indexing/run-indexer.ts"),
      import("../config/config.ts"),
      import("../processes/prepare-database.ts"),
      import("../telemetry/metrics.ts"),
    ]);
  },
};

/** What the launcher sends when the database and the chains are up. */
interface Start {
  type: "start";
  env: Record<string, string>;
}

// If the launcher dies, the program gets SIGTERM; before it handles that signal, there is nothing to shut down.
process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
if (process.connected === false) process.kill(process.pid, "SIGTERM");

const started = new Promise<Start>((done) => process.once("message", (message) => done(message as Start)));
const [, , program = "", ...args] = process.argv;
const path = resolve(program);
const name = /(\w+)\.ts$/.exec(program)?.[1] ?? "";
await modules[name]?.();
const { env } = await started;
Object.assign(process.env, env);
process.argv = [process.execPath, path, ...args];
await import(path);
void compileCacheKept();
