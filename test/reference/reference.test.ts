import { brotliCompressSync, constants } from "node:zlib";
import { Ajv2020 } from "ajv/dist/2020.js";
import { parse, validate } from "graphql";
import { expect, test } from "vitest";
import { guideOf } from "../../src/errors/error-guide.ts";
import { type ErrorCode, errorTable } from "../../src/errors/errors.ts";
import { bindRest, bodySchemaOf } from "../../src/reference/bind.ts";
import { anchorOf, LocalFile, markPattern, sampleOf, type ValueName } from "../../src/reference/example.ts";
import { renderReference } from "../../src/reference/page.ts";
import { graphqlRows, restRows } from "../../src/reference/parameters.ts";
import { Schemas } from "../../src/reference/schemas.ts";
import { tasks } from "../../src/reference/tasks.ts";
import { fill, printedExamples } from "./printed.ts";

const schemas = new Schemas();
const examples = tasks.flatMap((task) => task.examples);
const { side, main } = renderReference({ chains: ["goerli"], served: true });
const page = `${side}${main}`;
const printed = printedExamples(page);

const restOperations = Object.entries(schemas.openApi.paths).flatMap(([path, methods]) =>
  Object.keys(methods).map((method) => `${method} ${path}`),
);
const rootFields = (["query", "mutation", "subscription"] as const).flatMap((kind) => {
  const { graphql } = schemas;
  const types = { query: graphql.getQueryType(), mutation: graphql.getMutationType() };
  const type = kind === "subscription" ? graphql.getSubscriptionType() : types[kind];
  return Object.keys(type?.getFields() ?? {}).map((name) => `${kind} ${name}`);
});

test("every operation of REST and every root field of GraphQL has an example and a description", () => {
  const shown = new Set(examples.flatMap(({ rest, graphql }) => [rest, graphql]));
  expect(restOperations.length).toBeGreaterThan(55);
  expect(rootFields.length).toBeGreaterThan(45);
  expect([...restOperations, ...rootFields].filter((name) => !shown.has(name))).toEqual([]);
  const bare = examples.filter(
    (example) =>
      (example.rest && !schemas.operationOf(example).description) ||
      (example.graphql && !schemas.fieldOf(example).description),
  );
  expect(bare).toEqual([]);
});

test("each example stands once in the page, by its operation, and the list beside it leads there", () => {
  const anchors = examples.map(anchorOf);
  expect([...printed.keys()]).toEqual(anchors);
  expect(new Set(anchors).size).toBe(anchors.length);
  const links = [...page.matchAll(/href="#([^"]+)"/g)].map(([, anchor]) => anchor);
  const ids = new Set([...page.matchAll(/\bid="([^"]+)"/g)].map(([, id]) => id));
  expect(links.filter((anchor) => !ids.has(anchor ?? ""))).toEqual([]);
  expect(anchors.filter((anchor) => !links.includes(anchor))).toEqual([]);
});

test("every example is in curl and TypeScript, and in GraphQL where a field does the same", () => {
  for (const example of examples) {
    const tabs = [...new Set(printed.get(anchorOf(example))?.map(({ tab }) => tab))];
    expect([example.title, tabs]).toEqual([
      example.title,
      ["curl", ...(example.graphql ? ["graphql"] : []), "typescript"],
    ]);
  }
});

test("every GraphQL document that is printed is valid by the schema", () => {
  const documents = [...printed.values()].flat().filter(({ kind }) => kind === "document");
  expect(documents.length).toBeGreaterThan(45);
  for (const { markup } of documents) expect(validate(schemas.graphql, parse(fill(markup, {})))).toEqual([]);
});

/** A schema whose objects have no other members than those that it names. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== "object" || schema === null) return schema;
  const made = Object.fromEntries(Object.entries(schema).map(([name, part]) => [name, closed(part)]));
  return typeof made["properties"] === "object" ? { ...made, additionalProperties: false } : made;
}

test("every body is what the OpenAPI document asks for, with the samples in place of a reader's values", () => {
  const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true });
  for (const example of examples.filter(({ rest }) => rest !== undefined)) {
    const { body, operation } = bindRest(schemas, example);
    const schema = bodySchemaOf(operation);
    if (!schema || Object.values(body ?? {}).some((value) => [value].flat()[0] instanceof LocalFile)) continue;
    const text = JSON.stringify(body ?? {}).replaceAll(markPattern, (_, name: ValueName) => sampleOf(name));
    const valid = ajv.validate(closed(schema) as object, JSON.parse(text));
    expect([example.title, valid || ajv.errorsText()]).toEqual([example.title, true]);
  }
});

test("every parameter of an operation has its line, with a type and a meaning", () => {
  for (const example of examples) {
    const rows = [
      ...(example.rest ? restRows(schemas.operationOf(example)) : []),
      ...(example.graphql ? graphqlRows(schemas.fieldOf(example)) : []),
    ];
    const bare = rows.filter(({ type, meaning }) => type === "" || meaning === "");
    expect([example.title, bare]).toEqual([example.title, []]);
  }
  expect(page).toContain("<td><code>tokens[].quantity</code></td>");
  expect(page).toContain("<td><code>input.presaleMintPriceWei</code></td><td>Wei</td>");
});

test("every error of the catalogue is there with its cause and its fix", () => {
  for (const code of Object.keys(errorTable) as ErrorCode[]) {
    const [, row = ""] = new RegExp(`<tr id="error-${code}">(.*?)</tr>`).exec(page) ?? [];
    const text = row.replaceAll(/<[^>]+>/g, "").replaceAll(/&#39;|&apos;/g, "'");
    for (const part of Object.values(guideOf(code))) expect(text).toContain(part.replaceAll("`", ""));
  }
  expect(page).not.toMatch(/\[object|undefined/);
});

test("the page is at most 60 KB as it is sent, its script and styles apart", () => {
  const params = { [constants.BROTLI_PARAM_QUALITY]: 6 };
  expect(brotliCompressSync(page, { params }).length).toBeLessThan(50_000);
});
