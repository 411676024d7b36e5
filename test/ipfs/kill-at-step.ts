// Runs in a process of its own: uploads through the real ingest path, with SIGKILL at a given step.
// A step is the moment before or after one operation on the disk or one statement to the database.
import fs from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import pg from "pg";

let step = 0;
let armed = false;
let killAt = Number.POSITIVE_INFINITY;

function pass(): void {
  if (!armed) return;
  step += 1;
  if (step === killAt) process.kill(process.pid, "SIGKILL");
}

type Operation = (...args: never[]) => unknown;

function watch(owner: object, name: string): void {
  const original: Operation = Reflect.get(owner, name);
  Reflect.set(owner, name, function (this: unknown, ...args: never[]) {
    pass();
    const result = Reflect.apply(original, this, args);
    return result instanceof Promise ? result.finally(pass) : result;
  });
}

// Before the store's modules are loaded, so that they import the watched functions.
const probe = await fs.open("/dev/null");
const handle: object = Object.getPrototypeOf(probe);
await probe.close();
for (const name of ["open", "rename", "unlink", "mkdir"]) watch(fs, name);
for (const name of ["writeFile", "write", "sync"]) watch(handle, name);
watch(pg.Client.prototype, "query");
syncBuiltinESMExports();

const { loadConfig } = await import("../../src/config/config.ts");
const { createServices } = await import("../../src/processes/create-services.ts");
const { uploadFile } = await import("../../src/uploads/upload-file.ts");
const { uploadMetadataDirectory } = await import("../../src/uploads/upload-metadata-directory.ts");

export interface KillOrder {
  accountId: string;
  kind: "file" | "directory";
  /** One upload each, one after another. */
  seeds: readonly string[];
  /** Of the first upload. Absent: run to the end, and say of each upload how many steps it had. */
  killAt?: number;
}

const services = createServices(loadConfig(), "kill-test");

process.once("message", async (order: KillOrder) => {
  killAt = order.killAt ?? Number.POSITIVE_INFINITY;
  const caller = { accountId: order.accountId, tier: "free" as const, requestId: "kill" };
  // The connection stands before the count begins: how many statements that takes is not ours.
  await services.pool.query("SELECT 1");
  armed = true;
  for (const seed of order.seeds) {
    step = 0;
    const upload =
      order.kind === "file"
        ? await uploadFile(services, caller, { fileName: "a", contentType: null, stream: noise(seed) })
        : await uploadMetadataDirectory(services, caller, tokens(seed));
    await new Promise((sent) => process.send?.({ cid: upload.cid, steps: step }, sent));
  }
  process.exit(0);
});
process.send?.({ ready: true });

async function* noise(seed: string): AsyncGenerator<Uint8Array> {
  for (let chunk = 0; chunk < 50; chunk += 1) yield Buffer.alloc(65_536, `${seed} ${chunk}`);
}

async function* tokens(seed: string) {
  for (let id = 0; id < 50; id += 1) {
    async function* stream() {
      yield Buffer.from(`{"name":"${seed} ${id}"}`);
    }
    yield { fileName: `${id}.json`, contentType: "application/json", stream: stream() };
  }
}
