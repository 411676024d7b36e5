import { readFileSync } from "node:fs";
import { lexicographicSortSchema, printSchema } from "graphql";
import { expect, test } from "vitest";
import { createSchema } from "../src/graphql/schema.ts";
import { createOpenApi } from "../src/v0/openapi.ts";

const committed = (name: string) => readFileSync(new URL(`../schema/${name}`, import.meta.url), "utf8");

test("schema/schema.graphql is the schema that is served", () => {
  expect(committed("schema.graphql")).toBe(`${printSchema(lexicographicSortSchema(createSchema()))}\n`);
});

test("schema/openapi.json is the document that is served", () => {
  expect(JSON.parse(committed("openapi.json"))).toEqual(JSON.parse(JSON.stringify(createOpenApi())));
});
