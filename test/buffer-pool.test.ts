import { expect, test } from "vitest";
import { BufferPool } from "../src/buffer-pool.ts";

test("a buffer has the length asked for, and its memory is nobody else's until it is given back", () => {
  const pool = new BufferPool();
  const lengths = [0, 1, 16_384, 16_385, 65_536, 65_537, 1_048_576, 1_048_577];
  const taken = lengths.map((length) => pool.take(length));
  expect(taken.map(({ length }) => length)).toEqual(lengths);
  expect(new Set(taken.map(({ buffer }) => buffer)).size).toBe(lengths.length);
  const [, one] = taken;
  if (!one) throw new Error("nothing was taken");
  pool.give(one);
  const again = pool.take(10_000);
  expect([again.buffer === one.buffer, again.length]).toEqual([true, 10_000]);
});

test("nothing is taken back twice, nor what is of elsewhere, nor very long memory", () => {
  const pool = new BufferPool();
  const taken = pool.take(20_000);
  pool.give(taken);
  pool.give(taken);
  pool.give(Buffer.allocUnsafe(20));
  pool.give(Buffer.allocUnsafeSlow(32_768));
  const long = pool.take(2_000_000);
  pool.give(long);
  const next = Array.from({ length: 4 }, () => pool.take(20_000));
  expect(next.filter(({ buffer }) => buffer === taken.buffer)).toHaveLength(1);
  expect(new Set(next.map(({ buffer }) => buffer)).size).toBe(4);
  expect(pool.take(2_000_000).buffer).not.toBe(long.buffer);
});

test("what is kept is bounded", () => {
  const pool = new BufferPool();
  const taken = Array.from({ length: 40 }, () => pool.take(1_000_000));
  for (const buffer of taken) pool.give(buffer);
  const known = new Set(taken.map(({ buffer }) => buffer));
  const again = Array.from({ length: 40 }, () => pool.take(1_000_000));
  expect(again.filter(({ buffer }) => known.has(buffer))).toHaveLength(16);
});
