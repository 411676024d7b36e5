import { expect, test } from "vitest";
import { WrongChainWatch } from "../../src/indexing/supervise-ponder.ts";

/** Polls at these seconds, all of which find another chain. @returns those at which it was taken to last. */
function lastingAt(watch: WrongChainWatch, seconds: readonly number[]): number[] {
  return seconds.filter((second) => watch.isLasting(second * 1_000));
}

test("nodes that serve another chain are believed after ten seconds of it, however long a poll takes", () => {
  expect(lastingAt(new WrongChainWatch(), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])).toEqual([10]);
  expect(lastingAt(new WrongChainWatch(), [0, 4, 8, 12])).toEqual([12]);
});

test("two polls are too few, however far apart", () => {
  expect(lastingAt(new WrongChainWatch(), [0, 60, 61])).toEqual([61]);
});

test("a poll that finds the right chain in between begins the ten seconds anew", () => {
  const watch = new WrongChainWatch();
  expect(lastingAt(watch, [0, 3, 6, 9])).toEqual([]);
  watch.recordRightChain();
  expect(lastingAt(watch, [12, 15, 18, 21, 24])).toEqual([24]);
});
