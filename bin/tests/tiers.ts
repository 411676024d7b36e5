import { readdirSync } from "node:fs";
import { join } from "node:path";

/** `default` is what `npm test` runs, `long` what `npm run test:long` runs. */
export type Tier = "default" | "long";

export const root = join(import.meta.dirname, "../..");

/** A file's name decides its tier: `x.test.ts` or `x.long.test.ts`. Null for a file that is not a test. */
export function tierOf(file: string): Tier | null {
  if (!file.endsWith(".test.ts")) return null;
  return file.endsWith(".long.test.ts") ? "long" : "default";
}

/** All test files, as sorted paths from the repository's root. */
export function listTestFiles(): string[] {
  return readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
    .map((name) => `test/${name.replaceAll("\\", "/")}`)
    .filter((file) => tierOf(file) !== null)
    .sort();
}

/**
 * Files of the long tier that run alone: each measures what the machine does in a given time, which other work would
 * change. The others run in parallel.
 */
export const alone: readonly string[] = [
  // Response times while attackers take all that they can get.
  "http/all-attacks",
  "http/attacks-together",
  // Index lag in blocks, with blocks that take as long as they do without a flood.
  "indexing/hostile-flood",
  "indexing/range-spam",
  // Time until the messages of ten thousand endpoints are sent.
  "events/webhook-attacks",
  // CPU milliseconds per operation: more with cold caches.
  "economics/limits",
  "economics/nobody",
].map((name) => `test/${name}.long.test.ts`);

/** Whether a file of the long tier may run while others do. */
export const runsBesideOthers = (file: string): boolean => !alone.includes(file);
