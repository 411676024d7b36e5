import { randomUUID } from "node:crypto";
import { execute, parse } from "graphql";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createAccount } from "../../src/auth/keys.ts";
import type { GraphQLContext } from "../../src/graphql/builder.ts";
import { createSchema } from "../../src/graphql/schema.ts";
import { listUploads } from "../../src/uploads/list-uploads.ts";
import { send } from "../setup/send.ts";
import { form, startUploadServer, type UploadServer } from "./upload-server.ts";

const schema = createSchema();
const document = '{"name":"One","description":"","image":"ipfs://x","big":12345678901234567890}';

let server: UploadServer;
beforeAll(async () => {
  server = await startUploadServer();
  const post = (path: string, body: FormData | string) => send(server.url + path, { body });
  await post("/v0/files", form("file", [{ filename: "a.txt", text: "hello", type: "text/plain" }]));
  await post(
    "/v0/metadata",
    '{"name":"One","description":"","file_url":"ipfs://x","custom_fields":{"big":12345678901234567890}}',
  );
  await post("/v0/metadata/directory", form("metadata_files", [{ filename: "0.json", text: "{}" }]));
  // Three more in the same microsecond, to be told apart by their ids.
  for (const text of ["1", "2", "3"]) await post("/v0/files", form("file", [{ filename: text, text }]));
  await server.services.db
    .updateTable("service.upload")
    .set({ created_at: new Date("2024-01-02T03:04:05.678Z") })
    .where("file_name", "in", ["1", "2", "3"])
    .execute();
});
afterAll(() => server.close());

const get = async (query: string) => {
  const answer = await send(`${server.url}/v0/me/storage?${query}`);
  return { ...answer, body: answer.body as { storage: Record<string, unknown>[]; error: { code: string } | null } };
};
const names = async (query: string) => (await get(query)).body.storage.map((item) => item["file_name"]);

test("each kind is listed with its own members, newest first", async () => {
  const { status, body, text } = await get("type=all&page_size=3");
  expect(status).toBe(200);
  const [directory, metadata, file] = body.storage;
  const date = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$/);
  expect(Object.keys(directory ?? {})).toEqual(["storage_type", "type", "ipfs_uri", "ipfs_url", "uploaded_date"]);
  expect(directory?.["ipfs_uri"]).toMatch(/^ipfs:\/\/bafybei\w+\/$/);
  expect(directory?.["ipfs_url"]).toMatch(/^https:\/\/ipfs\.io\/ipfs\/bafybei\w+$/);
  expect(metadata).toMatchObject({ storage_type: "metadata", type: "metadata", uploaded_date: date });
  // The document as its bytes are, numbers that JavaScript cannot hold included.
  expect(text).toContain(`"metadata":${document}`);
  const cid = "bafkreibm6jg3ux5qumhcn2b3flc3tyu6dmlb4xa7u5bf44yegnrjhc4yeq";
  expect(file).toEqual({
    storage_type: "file",
    type: "file",
    file_name: "a.txt",
    ipfs_uri: `ipfs://${cid}`,
    ipfs_url: `https://ipfs.io/ipfs/${cid}`,
    uploaded_date: date,
    content_type: "text/plain",
    file_size: 5,
    file_size_mb: 0,
  });
});

test("types, dates and pages choose; a page past the end is empty", async () => {
  expect((await get("type=metadata&type=metadata_directory")).body.storage.length).toBe(2);
  expect(await names("type=file&start_date=2024-01-02T03:04:06")).toEqual(["a.txt"]);
  const old = await names("type=file&start_date=2024-01-02T03:04:05.678&end_date=2024-01-02T03:04:05.678Z");
  expect(old.toSorted()).toEqual(["1", "2", "3"]);
  expect([...(await names("type=file&page_size=2")), ...(await names("type=file&page_size=2&page_number=2"))]).toEqual([
    "a.txt",
    ...old,
  ]);
  expect(await names("type=all&page_number=9")).toEqual([]);
});

test.each([
  ["", "parameter_missing"],
  ["type=folder", "invalid_enumeration"],
  ["type=all&page_size=501", "value_error"],
  ["type=all&page_size=0", "value_error"],
  ["type=all&start_date=yesterday", "invalid_date"],
])("%s is refused with %s", async (query, code) => {
  expect(await get(query)).toMatchObject({ status: 422, body: { error: { code } } });
});

test("GraphQL walks the same list by cursors, both ways, and shows pin states", async () => {
  const caller = { accountId: server.accountId, tier: "free" as const, requestId: "test" };
  const contextValue: GraphQLContext = { services: server.services, requestId: "test", caller: async () => caller };
  const query = `query ($first: Int, $after: String, $last: Int, $before: String) {
    viewer { uploads(first: $first, after: $after, last: $last, before: $before) {
      nodes { id pinState } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    } }
  }`;
  interface List {
    nodes: { id: string; pinState: string }[];
    pageInfo: { hasNextPage: boolean; hasPreviousPage: boolean; startCursor: string; endCursor: string };
  }
  const read = async (variableValues: Record<string, unknown>): Promise<List> => {
    const answer = await execute({ schema, document: parse(query), variableValues, contextValue });
    expect(answer.errors).toBeUndefined();
    return (answer.data as unknown as { viewer: { uploads: List } }).viewer.uploads;
  };
  const whole = await listUploads(server.services, caller, { kinds: [], page: { size: 500 } });
  const ids = whole.items.map(({ node }) => node.id);
  const forward: string[] = [];
  for (let page = await read({ first: 2 }); ; page = await read({ first: 2, after: page.pageInfo.endCursor })) {
    forward.push(...page.nodes.map((node) => node.id));
    expect(page.nodes.every((node) => node.pinState === "LOCAL")).toBe(true);
    if (!page.pageInfo.hasNextPage) break;
  }
  expect(forward).toEqual(ids);
  const backward: string[] = [];
  for (let page = await read({ last: 2 }); ; page = await read({ last: 2, before: page.pageInfo.startCursor })) {
    backward.unshift(...page.nodes.map((node) => node.id));
    if (!page.pageInfo.hasPreviousPage) break;
  }
  expect(backward).toEqual(ids);
});

test("another account sees none of it", async () => {
  const accountId = await createAccount(server.services.db, "p", { name: "other", tier: "free", key: randomUUID() });
  const caller = { accountId, tier: "free" as const, requestId: "test" };
  expect((await listUploads(server.services, caller, { kinds: [], page: { size: 50 } })).items).toEqual([]);
});
