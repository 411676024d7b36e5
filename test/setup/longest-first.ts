import { readFileSync } from "node:fs";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take longest, on any machine: begun last, they would go on when all others are done. */
const longest = [
  "zoo/mixture.long",
  "chaos/relayer.long",
  "deploying/deploying.long",
  "contracts/defects.long",
  "watching/alerts-fire.long",
  "indexing/chaos.long",
  "availability/cluster.long",
  "chaos/defects.long",
  "embedded/stop-with-parent.long",
  "package.long",
  "indexing/nodes-away.long",
  "indexing/restarts.long",
  "indexing/indexer",
];

/** While one of the files that share the stack runs, about so many others do. */
const besideASharingFile = 5;

/** Whether a test file leases the shared stack. */
export const isSharing = (file: string): boolean => readFileSync(file, "utf8").includes("= leaseStack()");

/**
 * The longest first; Vitest goes by size where it has no earlier run. Files that share the stack wait for one another, so they
 * are spread: a worker that waits does nothing. But not far: the stack rests between them, or would be started again.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const rank = ({ moduleId }: TestSpecification) => {
      const place = longest.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
      return place < 0 ? longest.length : place;
    };
    const sharing = sorted.filter(({ moduleId }) => isSharing(moduleId));
    const spread = sorted.filter((file) => !sharing.includes(file)).sort((one, other) => rank(one) - rank(other));
    const gap = Math.min(Math.floor(spread.length / sharing.length) + 1, besideASharingFile);
    for (const [index, file] of sharing.entries()) spread.splice(index * gap, 0, file);
    return spread;
  }
}
