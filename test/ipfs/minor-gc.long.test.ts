import { expect, test } from "vitest";
import { compactHeap } from "../../src/compact-heap.ts";
import { countForMinorGc } from "../../src/ipfs/minor-gc.ts";

const mebibyte = 1_048_576;

/** The most that lay about while so many buffers were made and given up, one after the other. */
async function mostWhile(count: number, each: (bytes: number) => void): Promise<number> {
  await compactHeap();
  const before = process.memoryUsage().arrayBuffers;
  let most = 0;
  for (let made = 0; made < count; made += 1) {
    Buffer.allocUnsafeSlow(mebibyte).fill(1);
    each(mebibyte);
    most = Math.max(most, process.memoryUsage().arrayBuffers - before);
  }
  return most / mebibyte;
}

test("buffers that were given up are collected when there are some of them, which V8 by itself does not do", async () => {
  expect(await mostWhile(60, countForMinorGc)).toBeLessThan(45);
  expect(await mostWhile(60, () => undefined)).toBeGreaterThan(55);
});

test("the collector is given to nobody else", () => {
  countForMinorGc(20 * mebibyte);
  expect("gc" in globalThis).toBe(false);
});
