import { randomUUID } from "node:crypto";
import { execute, parse } from "graphql";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createAccount } from "../../src/auth/keys.ts";
import type { GraphQLContext } from "../../src/graphql/builder.ts";
import { createSchema } from "../../src/graphql/schema.ts";
import { send } from "../setup/send.ts";
import { arrived } from "./arrived.ts";
import { form, startUploadServer, type UploadServer } from "./upload-server.ts";

const schema = createSchema();

let server: UploadServer;
beforeAll(async () => {
  server = await startUploadServer();
});
afterAll(() => server.close());

function context(accountId: string): GraphQLContext {
  const caller = async () => ({ accountId, tier: "free" as const, requestId: "test" });
  return { services: server.services, requestId: "test", caller };
}

async function run(document: string, variableValues: Record<string, unknown> = {}, accountId = server.accountId) {
  const answer = await execute({ schema, document: parse(document), variableValues, contextValue: context(accountId) });
  return JSON.parse(JSON.stringify(answer)) as { data: Record<string, unknown> | null; errors?: unknown[] };
}

const payload = "{ upload { id kind cid uri fileName sizeBytes pinState profile } userErrors { code field } }";
const metadata = `mutation ($input: MetadataInput!) { uploadMetadata(input: $input) ${payload} }`;

test("both APIs store one document under one CID", async () => {
  const input = {
    name: "One",
    description: "Just one",
    fileUrl: "ipfs://x",
    attributes: [{ traitType: "Level", value: 2, maxValue: 10, displayType: "number" }],
    customFields: { edition: 1 },
  };
  const legacy = {
    name: "One",
    description: "Just one",
    file_url: "ipfs://x",
    attributes: [{ trait_type: "Level", value: 2, max_value: 10, display_type: "number" }],
    custom_fields: { edition: 1 },
  };
  const { metadata_uri } = (await send(`${server.url}/v0/metadata`, { body: legacy })).body;
  expect(await run(metadata, { input })).toMatchObject({
    data: { uploadMetadata: { upload: { uri: metadata_uri, kind: "METADATA", pinState: "LOCAL" }, userErrors: [] } },
  });
});

test("what the caller can mend is a user error", async () => {
  const input = { name: "a", description: "b", fileUrl: "c", attributes: [{ traitType: "x", value: true }] };
  expect(await run(metadata, { input })).toEqual({
    data: {
      uploadMetadata: { upload: null, userErrors: [{ code: "invalid_type", field: "input.attributes.0.value" }] },
    },
  });
});

test("an upload is found by its account and by no other", async () => {
  const input = { name: "mine", description: "", fileUrl: "c" };
  const stored = await run(metadata, { input });
  const { id } = (stored.data as { uploadMetadata: { upload: { id: string } } }).uploadMetadata.upload;
  const query = "query ($id: ID!) { viewer { upload(id: $id) { id } } }";
  expect(await run(query, { id })).toEqual({ data: { viewer: { upload: { id } } } });
  const other = await createAccount(server.services.db, "p", { name: "other", tier: "free", key: randomUUID() });
  for (const [asked, account] of [
    [id, other],
    ["nonsense", server.accountId],
  ] as const) {
    expect((await run(query, { id: asked }, account)).errors?.length).toBe(1);
  }
});

test("files and directories are the same uploads as in /v0", async () => {
  const texts = ["0", "1"].map((id) => ({ filename: `${id}.json`, text: `{"id":${id}}` }));
  const body = form("metadata_files", texts);
  const { body: legacy } = await send(`${server.url}/v0/metadata/directory`, { body });
  const files = texts.map(({ filename, text }) => arrived(filename, text));
  const directory = `mutation ($files: [Upload!]!) { uploadMetadataDirectory(files: $files) ${payload} }`;
  expect(await run(directory, { files })).toMatchObject({
    data: { uploadMetadataDirectory: { upload: { uri: legacy.metadata_directory_ipfs_uri, sizeBytes: 16 } } },
  });
  const file = `mutation ($file: Upload!) { uploadFile(file: $file) ${payload} }`;
  expect(await run(file, { file: arrived("a/b.txt", "hello") })).toMatchObject({
    data: {
      uploadFile: {
        upload: { cid: "bafkreibm6jg3ux5qumhcn2b3flc3tyu6dmlb4xa7u5bf44yegnrjhc4yeq", fileName: "b.txt", kind: "FILE" },
      },
    },
  });
});
