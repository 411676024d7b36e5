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
 * Files of the long tier that promise no duration, most of which wait for most of their time: two of them run at once.
 * Each of the others has the machine for itself, since it promises a time or memory, or is chaos as dense as that allows.
 */
export const besideOthers: readonly string[] = [
  "contracts/defects",
  "contracts/smt",
  "db/slow-reads",
  "deploying/deploying",
  "fuzz/http",
  "indexing/late-ranges",
  "indexing/lost-database",
  "indexing/nodes-away",
  "indexing/rollback",
  "indexing/settings",
  "ipfs/kill-uploads",
  "ipfs/pinata-pieces",
  "metadata/ssrf-packets",
  "mistakes",
  "nginx",
  "relay/deep-reorg",
  "relay/grant",
  "relay/roles",
  "relay/two-installations",
  "two-chains",
  "watching/alerts-fire",
].map((name) => `test/${name}.long.test.ts`);

/** Whether a file of the long tier may run while another one does. */
export const runsBesideOthers = (file: string): boolean => besideOthers.includes(file);

/** The programs of the oldest PostgreSQL that README promises, where Debian puts them; the long tier uses them where they are. */
export const oldestPostgres = "/usr/lib/postgresql/15/bin";

/** Files of the default tier that run on it too: what SQL does is what they are about. */
export const runsOnOldestPostgres = (file: string): boolean =>
  /^test\/(accounts|analytics|auth|db|events|nfts|tenants|upgrade)\/|^test\/(graphql\/reads|indexing\/(derived-state|indexer|invariants|nft-views|token-ranges)|relay\/(deploy|lost|rules)|v0\/data)\./.test(
    file,
  );
