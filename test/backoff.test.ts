import { expect, test } from "vitest";
import { backoffMs } from "../src/backoff.ts";

const after = (failures: readonly number[], backoff: Parameters<typeof backoffMs>[1]) =>
  failures.map((count) => backoffMs(count, backoff));

test("pauses begin with the first, double, and end at the longest, after ten thousand failures too", () => {
  const backoff = { firstMs: 500, mostMs: 3_000 };
  expect(after([0, 1, 2, 3, 4, 10_000], backoff)).toEqual([500, 500, 1_000, 2_000, 3_000, 3_000]);
  expect(after([1, 2, 3], { firstMs: 10, mostMs: 1_000, factor: 4 })).toEqual([10, 40, 160]);
});

test("those that fail together do not come back together", () => {
  const pauses = after(Array<number>(1_000).fill(3), { firstMs: 100, mostMs: 1_000, jitter: 0.1 });
  expect(new Set(pauses).size).toBeGreaterThan(900);
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(360);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(440);
});
