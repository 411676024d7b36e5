import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take longest, on any machine: begun last, they would go on when all others are done. */
const longest = [
  "deploying/deploying.long",
  "contracts/defects.long",
  "watching/alerts-fire.long",
  "indexing/nodes-away.long",
  "indexing/indexer",
  "launch-flow",
  "relay/crash",
  "ipfs/run-pinning",
  "ipfs/pinata-paths",
  "relay/first-nonce",
  "collections/update",
];

/** Vitest goes by size where it has no earlier run, and the longest file has ten lines. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = longest.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
      return place < 0 ? longest.length : place;
    };
    return (await super.sort(files)).sort((one, other) => rank(one) - rank(other));
  }
}
