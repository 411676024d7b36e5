import { expect, test } from "vitest";
import { DocumentCache } from "../../src/graphql/document-cache.ts";

test("the documents that were used last are known, and never more than two hundred", () => {
  const cache = new DocumentCache<number>();
  for (let index = 0; index < 200; index += 1) cache.set(`{ a${index} }`, index);
  expect(cache.get("{ a0 }")).toBe(0);
  cache.set("{ more }", -1);
  expect(cache.get("{ a0 }")).toBe(0);
  expect(cache.get("{ a1 }")).toBeUndefined();
  expect(cache.get("{ more }")).toBe(-1);
});

test("a document that is longer than anybody writes is not kept", () => {
  const cache = new DocumentCache<number>();
  const long = `{ ${"a".repeat(10_000)} }`;
  cache.set(long, 1);
  expect(cache.get(long)).toBeUndefined();
});
