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
 * Files of the long tier that have the machine for themselves: they promise a time or memory, or are chaos as dense as that
 * allows. The others run beside one another.
 */
export const alone: readonly string[] = [
  "availability/postgres-restart",
  "chaos/defects",
  "chaos/relayer",
  "http/attacks-together",
  "indexing/chaos",
  "indexing/hostile-flood",
  "indexing/range-spam",
  "ipfs/import-memory",
  "ipfs/minor-gc",
  "economics/limits",
  "economics/nobody",
  "embedded/memory-at-rest",
  "metadata/bombs",
  "metadata/reveal",
  "embedded/processes",
  "relay/many-others",
  "relay/many-waiting",
].map((name) => `test/${name}.long.test.ts`);

/** Whether a file of the long tier may run while others do. */
export const runsBesideOthers = (file: string): boolean => !alone.includes(file);
