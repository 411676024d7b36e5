import { expect, test } from "vitest";
import { ForeignChainWatch } from "../../src/indexing/foreign-chain-watch.ts";

/** Looks at these seconds, all at another chain. @returns those at which it was taken to last. */
function lastingAt(watch: ForeignChainWatch, seconds: readonly number[]): number[] {
  return seconds.filter((second) => watch.isLasting(second * 1_000));
}

test("nodes that serve another chain are believed after ten seconds of it, however long a look takes", () => {
  expect(lastingAt(new ForeignChainWatch(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])).toEqual([10]);
  expect(lastingAt(new ForeignChainWatch(), [0, 4, 8, 12])).toEqual([12]);
});

test("two looks are too few, whatever lies between them", () => {
  expect(lastingAt(new ForeignChainWatch(), [0, 60, 61])).toEqual([61]);
});

test("a look at the chain itself in between begins the ten seconds anew", () => {
  const watch = new ForeignChainWatch();
  expect(lastingAt(watch, [0, 3, 6, 9])).toEqual([]);
  watch.noteOwn();
  expect(lastingAt(watch, [12, 15, 18, 21, 24])).toEqual([24]);
});
