import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { ponderFolder } from "../../src/indexing/ponder-process.ts";

test("a Ponder whose last lines nobody reads ends, and does not write them for ever", async () => {
  const logger = createRequire(createRequire(join(ponderFolder(), "package.json")).resolve("pino")).resolve(
    "sonic-boom",
  );
  const script = `
    const SonicBoom = require(${JSON.stringify(logger)});
    const stream = new SonicBoom({ fd: 1, sync: false, minLength: 1_000_000, maxWrite: 2_000_000 });
    stream.write("a line\\n");
    process.on("message", () => stream.flushSync());
    setInterval(() => undefined, 1_000);
    process.send("up");`;
  const preloaded = join(import.meta.dirname, "../../src/indexing/ponder-guards.ts");
  const child = spawn(process.execPath, ["--import", preloaded, "-e", script], {
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  try {
    await once(child, "message");
    child.stdout?.destroy();
    // What the other end of a socket does is seen there a moment later.
    await wait(100);
    child.send("flush");
    const ended = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
    expect(await Promise.race([ended, wait(5_000, "still running")])).toEqual([null, "SIGKILL"]);
  } finally {
    child.kill("SIGKILL");
  }
});
