import { LRUCache } from "lru-cache";
import { expect, test } from "vitest";
import { byteBound, entryBound } from "../src/cache-bounds.ts";

test("what was used least recently goes when there are too many entries", () => {
  const cache = new LRUCache<string, string>(entryBound(2));
  cache.set("a", "A");
  cache.set("b", "B");
  expect(cache.get("a")).toBe("A");
  cache.set("c", "C");
  expect([cache.get("a"), cache.get("b"), cache.get("c")]).toEqual(["A", undefined, "C"]);
});

test("values stay within their bytes; an empty one is kept, one that alone is too large is not", () => {
  const cache = new LRUCache<string, Uint8Array>(byteBound(10));
  cache.set("empty", new Uint8Array());
  cache.set("a", new Uint8Array(5));
  expect([...cache.keys()]).toEqual(["a", "empty"]);
  cache.set("b", new Uint8Array(5));
  expect([...cache.keys()]).toEqual(["b", "a"]);
  cache.set("large", new Uint8Array(11));
  expect([...cache.keys()]).toEqual(["b", "a"]);
});
