import { readdirSync } from "node:fs";
import { join } from "node:path";

/** `default` is what `npm test` runs, `long` what `npm run test:long` runs. */
export type Tier = "default" | "long";

export const root = join(import.meta.dirname, "../..");

/** The name of a file decides its tier: `x.test.ts` or `x.long.test.ts`. Null for a file that is no test. */
export function tierOf(file: string): Tier | null {
  if (!file.endsWith(".test.ts")) return null;
  return file.endsWith(".long.test.ts") ? "long" : "default";
}

/** Every test file, as a path from the repository's root, in order. */
export function listTestFiles(): string[] {
  return readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
    .map((name) => `test/${name.replaceAll("\\", "/")}`)
    .filter((file) => tierOf(file) !== null)
    .sort();
}

/**
 * Files of the long tier that have the machine for themselves: each compares what the machine does in a time, which work beside it
 * changes. The others run beside one another.
 */
export const alone: readonly string[] = [
  // Answers beside attackers who take all that they can get.
  "http/all-attacks",
  "http/attacks-together",
  // Blocks that an index may be behind, of blocks as long as it takes without a flood.
  "indexing/hostile-flood",
  "indexing/range-spam",
  // How soon messages of ten thousand endpoints are sent.
  "events/webhook-attacks",
  // Milliseconds of the processor that an operation takes: with cold caches they are more.
  "economics/limits",
  "economics/nobody",
].map((name) => `test/${name}.long.test.ts`);

/** Whether a file of the long tier may run while others do. */
export const runsBesideOthers = (file: string): boolean => !alone.includes(file);
