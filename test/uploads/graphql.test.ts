import { randomUUID } from "node:crypto";
import { execute, parse } from "graphql";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createAccount } from "../../src/auth/keys.ts";
import type { GraphQLContext } from "../../src/graphql/builder.ts";
import { createSchema } from "../../src/graphql/schema.ts";
import { startUploadServer, type UploadServer } from "./upload-server.ts";

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

const metadata =
  "mutation ($input: MetadataInput!) { uploadMetadata(input: $input) { upload { id } userErrors { code field } } }";

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
