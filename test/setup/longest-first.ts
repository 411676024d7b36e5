import { readFileSync } from "node:fs";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take longest, on any machine: begun last, they would go on when all others are done. */
const longest = [
  "deploying/deploying.long",
  "contracts/defects.long",
  "watching/alerts-fire.long",
  "indexing/nodes-away.long",
  "indexing/restarts.long",
  "indexing/indexer",
];

/** First the files that share the stack, so that it can end; then the longest. Vitest goes by size where it has no earlier run. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      if (readFileSync(moduleId, "utf8").includes("leaseStack")) return -1;
      const place = longest.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
      return place < 0 ? longest.length : place;
    };
    const ranked = (await super.sort(files)).map((file) => ({ file, rank: rank(file) }));
    return ranked.sort((one, other) => one.rank - other.rank).map(({ file }) => file);
  }
}
