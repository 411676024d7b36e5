import { readFileSync } from "node:fs";
import { buildSchema, isObjectType } from "graphql";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ApiServer } from "../setup/api-server.ts";
import { GrowingLists, type ListCase, listCases } from "./growing-lists.ts";

// Whoever reads a list page by page while rows come in sees everything that was there when he began, nothing
// twice, and nothing that is not in the list: each list of the schema, through each API, from both ends.
let api: ApiServer;
let lists: GrowingLists;
let key: string;
beforeAll(async () => {
  api = await ApiServer.start();
  const account = await api.account("enterprise");
  key = account.key;
  lists = new GrowingLists(api, account.id);
  for (let step = 0; step < 8; step += 1) await lists.grow();
});
afterAll(() => api?.close());

/** How often rows come while one walk is under way. */
const growth = 3;

/** Some pages, however long a list has become. */
const pageSizeFor = (length: number) => Math.min(50, Math.max(3, Math.ceil(length / 6)));

async function setOf({ set, moving }: ListCase): Promise<string[]> {
  const { rows } = await api.database.pool.query<{ key: string }>(set);
  return rows.map((row) => row.key).filter((name) => name !== moving);
}

interface Found {
  keys: string[];
  next: string | null;
}

/** Reads page after page, each at the same time as rows come in. */
async function walk(page: (cursor: string | null) => Promise<Found>): Promise<string[]> {
  const seen: string[] = [];
  let cursor: string | null = null;
  for (let turn = 0; turn < 200; turn += 1) {
    const [found]: [Found, unknown] = await Promise.all([page(cursor), turn < growth ? lists.grow() : null]);
    seen.push(...found.keys);
    cursor = found.next;
    if (cursor === null) return seen;
  }
  throw new Error("a walk without an end");
}

async function graphqlPage(item: ListCase, pageSize: number, cursor: string | null, backward: boolean) {
  const { graphql, path, node, key: name } = item;
  const [size, from] = backward ? ["last", "before"] : ["first", "after"];
  const page = `${size}: ${pageSize}${cursor ? `, ${from}: "${cursor}"` : ""}`;
  const info = "pageInfo { hasNextPage hasPreviousPage startCursor endCursor }";
  const query = `{ ${graphql(page)} { nodes { ${node} } ${info} } ${"}".repeat(path.length)}`;
  const { body } = await api.graphql(key, query);
  expect(body.errors).toBeUndefined();
  const { nodes, pageInfo } = path.reduce((data, name) => data[name], body.data);
  const more = backward ? pageInfo.hasPreviousPage : pageInfo.hasNextPage;
  return {
    keys: nodes.map(name) as string[],
    next: more ? String(backward ? pageInfo.startCursor : pageInfo.endCursor) : null,
  };
}

async function restPage(rest: NonNullable<ListCase["rest"]>, pageSize: number, cursor: string | null) {
  const { path, items, key: name } = rest;
  const more = cursor ? `&continuation=${encodeURIComponent(cursor)}` : "";
  const { status, body } = await api.send("GET", `${path}&page_size=${pageSize}${more}`, key);
  expect(status).toBe(200);
  return { keys: body[items].map(name) as string[], next: body.continuation as string | null };
}

function expectBetween(all: string[], moving: string | undefined, before: string[], after: string[]): void {
  const seen = all.filter((name) => name !== moving);
  expect(before.length).toBeGreaterThan(3);
  expect(new Set(seen).size).toBe(seen.length);
  expect(before.filter((name) => !seen.includes(name))).toEqual([]);
  expect(seen.filter((name) => !after.includes(name))).toEqual([]);
}

test.each(listCases.map((item) => [item.field, item.name, item] as const))(
  "%s, %s: a walk over GraphQL while rows come in is the set, from both ends",
  async (_field, _name, item) => {
    for (const backward of item.forwardsOnly ? [false] : [false, true]) {
      const before = await setOf(item);
      const size = pageSizeFor(before.length);
      const seen = await walk((cursor) => graphqlPage(item, size, cursor, backward));
      expectBetween(seen, item.moving, before, await setOf(item));
    }
  },
);

const restCases = listCases.flatMap((item) => (item.rest ? [[item.rest.template, item.name, item] as const] : []));

test.each(restCases)("GET %s, %s: a walk by continuation while rows come in is the set", async (_path, _name, item) => {
  const { rest } = item;
  if (!rest) return;
  // Movements are named by other members here than over GraphQL: by those of the same rows, read at rest.
  const namedAlike = !item.field.endsWith(".transfers");
  const before = namedAlike ? await setOf(item) : await restSet(rest);
  const seen = await walk((cursor) => restPage(rest, pageSizeFor(before.length), cursor));
  const after = namedAlike ? await setOf(item) : await restSet(rest);
  expectBetween(seen, item.moving, before, after);
  expect(after.length).toBe((await setOf(item)).length);
});

/** All of a list in pages of the largest size, while nothing comes in. */
async function restSet(rest: NonNullable<ListCase["rest"]>): Promise<string[]> {
  const keys: string[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const { body } = await api.send("GET", `${rest.path}&continuation=${encodeURIComponent(cursor)}`, key);
    keys.push(...body[rest.items].map(rest.key));
    cursor = body.continuation;
  }
  return keys;
}

test("every list of the schema has its case", () => {
  const schema = buildSchema(readFileSync(new URL("../../schema/schema.graphql", import.meta.url), "utf8"));
  const fields = Object.values(schema.getTypeMap())
    .filter(isObjectType)
    .flatMap((type) =>
      Object.values(type.getFields())
        .filter((field) => /Connection!?$/.test(String(field.type)))
        .map((field) => `${type.name}.${field.name}`),
    );
  expect(fields.length).toBeGreaterThan(8);
  expect(fields.filter((field) => !listCases.some((item) => item.field === field))).toEqual([]);
});

test("every path with a continuation has its case", () => {
  const document = JSON.parse(readFileSync(new URL("../../schema/openapi.json", import.meta.url), "utf8"));
  const paths = Object.entries(document.paths as Record<string, { get?: { parameters?: { name: string }[] } }>)
    .filter(([, { get }]) => get?.parameters?.some(({ name }) => name === "continuation"))
    .map(([path]) => path);
  expect(paths.length).toBeGreaterThan(7);
  expect(paths.filter((path) => !restCases.some(([template]) => template === path))).toEqual([]);
});
