import { expect, test } from "vitest";
import { readSlowness, wait } from "./wait.ts";

test("a wait ends by its condition, and in vain with what was seen last and the last 40 lines", async () => {
  let looks = 0;
  expect(await wait("five", () => (looks += 1), { until: (seen) => seen === 5 })).toBe(5);
  const lines = () => Array.from({ length: 50 }, (_, line) => `line ${line}`);
  const vain = wait("six", () => ({ seen: 5n }), { until: () => false, withinMs: 20, lines });
  const message = await vain.catch((error: Error) => error.message);
  expect(message).toContain('waited in vain for six; seen last: {"seen":"5"}\nline 10\n');
  expect(String(message).split("\n")).toHaveLength(41);
});

test("a bound of seconds is a whole number of milliseconds, however slow the machine", () => {
  const measured = Array.from({ length: 2_000 }, (_, at) => (0.5 + at / 100).toFixed(2));
  const wrong = [undefined, "", ...measured].filter((text) => {
    const bounds = [30_000, 110_000, 150_000].map((ms) => ms * readSlowness(text));
    return !bounds.every(Number.isInteger) || readSlowness(text) < Math.max(1, Number(text ?? 1));
  });
  expect(wrong).toEqual([]);
});
