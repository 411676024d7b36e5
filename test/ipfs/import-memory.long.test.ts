import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { nodeFlags } from "../../src/embedded/supervisor.ts";

const mebibyte = 1_048_576;

test("a large file that streams into a CAR leaves few dead buffers behind it at any time", async () => {
  // In a process of its own: what it holds is nobody else's.
  const script = join(import.meta.dirname, "stream-into-car.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [...nodeFlags, script, "192"]);
  const { sizeBytes, most } = JSON.parse(stdout) as { sizeBytes: number; most: number };
  expect(sizeBytes).toBe(192 * mebibyte);
  expect(most / mebibyte).toBeLessThan(48);
});
