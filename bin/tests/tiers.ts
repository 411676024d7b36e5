import { readdirSync } from "node:fs";
import { join } from "node:path";

/** `default` is what `npm test` runs, `long` what `npm run test:long` runs. docs/testing.md says what each file guards. */
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
