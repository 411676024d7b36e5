import { expect, test } from "vitest";
import { DocumentCache } from "../../src/graphql/document-cache.ts";

test("a document that was sent again stays known, however many others are sent once", () => {
  const cache = new DocumentCache<number>();
  cache.set("{ again }", 1);
  cache.set("{ once }", 2);
  expect(cache.get("{ again }")).toBe(1);
  for (let index = 0; index < 5_000; index += 1) cache.set(`{ a${index} }`, index);
  expect(cache.get("{ again }")).toBe(1);
  expect(cache.get("{ once }")).toBeUndefined();
});

test("never more than four hundred documents are known", () => {
  const cache = new DocumentCache<number>();
  for (let index = 0; index < 1_000; index += 1) {
    cache.set(`{ a${index} }`, index);
    if (index % 2 === 0) cache.get(`{ a${index} }`);
  }
  const known = Array.from({ length: 1_000 }, (_, index) => cache.get(`{ a${index} }`)).filter(
    (one) => one !== undefined,
  );
  expect(known.length).toBeLessThanOrEqual(400);
  expect(cache.get("{ a999 }")).toBe(999);
  expect(cache.get("{ a0 }")).toBeUndefined();
});

test("a document that is longer than anybody writes is not kept", () => {
  const cache = new DocumentCache<number>();
  const long = `{ ${"a".repeat(10_000)} }`;
  cache.set(long, 1);
  expect(cache.get(long)).toBeUndefined();
});
