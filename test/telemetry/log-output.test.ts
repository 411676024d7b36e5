import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, test } from "vitest";

/** Logs at a word on its standard input, and exits in the same turn of its loop: nothing was written yet. */
const program = `
import { createLogger } from ${JSON.stringify(join(import.meta.dirname, "../../src/telemetry/log.ts"))};
process.stdin.once("data", (data) => {
  const log = createLogger("test", "info");
  for (let line = 0; line < Number(data); line += 1) log.info({ line }, "x".repeat(1_000));
  process.exit(7);
});
process.stdout.write("started");
`;

describe("lines that wait when a process exits", () => {
  let child: ReturnType<typeof start>;
  const start = () => spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: "pipe" });
  const startedOrEnded = () => Promise.race([once(child.stdout, "data"), once(child, "exit")]);
  afterEach(() => child.kill("SIGKILL"));

  test("are all written", async () => {
    child = start();
    const written = text(child.stderr);
    expect(String(await startedOrEnded())).toBe("started");
    child.stdin.write("300");
    expect(await once(child, "exit")).toEqual([7, null]);
    const lines = (await written).trimEnd().split("\n");
    expect(lines.map((line) => JSON.parse(line).line)).toEqual(Array.from({ length: 300 }, (_, line) => line));
  });

  test("keep it from nothing when nobody reads them any more", async () => {
    child = start();
    expect(String(await startedOrEnded())).toBe("started");
    child.stderr.destroy();
    await once(child.stderr, "close");
    child.stdin.write("300");
    expect(await once(child, "exit")).toEqual([7, null]);
  });
});
