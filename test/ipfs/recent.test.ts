import { afterEach, expect, test, vi } from "vitest";
import { Recent } from "../../src/recent.ts";

afterEach(() => {
  vi.useRealTimers();
});

test("what was used least recently goes when the weight is over the bound", () => {
  const recent = new Recent<string>(10);
  recent.set("a", "A", 4);
  recent.set("b", "B", 4);
  expect(recent.get("a")).toBe("A");
  recent.set("c", "C", 4);
  expect([recent.get("a"), recent.get("b"), recent.get("c")]).toEqual(["A", undefined, "C"]);
  recent.set("a", "A2", 10);
  expect([recent.get("a"), recent.get("c")]).toEqual(["A2", undefined]);
});

test("a value is not kept longer than it may be", () => {
  // Not by the machine's clock: five milliseconds may pass between two lines.
  vi.useFakeTimers({ toFake: ["performance"] });
  const recent = new Recent<string>(10, 5);
  recent.set("a", "A", 10);
  vi.advanceTimersByTime(20);
  expect(recent.get("a")).toBeUndefined();
  // Its weight went with it.
  recent.set("b", "B", 10);
  expect(recent.get("b")).toBe("B");
});
