import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ApiServer } from "../setup/api-server.ts";
import { send } from "../setup/send.ts";
import { type FormFile, multipartGraphql } from "./multipart-graphql.ts";

// Each upload once through either API of one server: the same content, and for a fault the same codes.
let api: ApiServer;
let key: string;
beforeAll(async () => {
  api = await ApiServer.start({
    MAX_FILE_BYTES: "100000",
    MAX_DIRECTORY_FILES: "20",
    MAX_DIRECTORY_FILE_BYTES: "5000",
  });
  ({ key } = await api.account("enterprise"));
});
afterAll(() => api?.close());

interface Sent {
  name: string;
  text: string;
  type?: string;
}
const blobOf = ({ text, type = "application/json" }: Sent) => new Blob([text], { type });

async function rest(path: string, part: string, files: readonly Sent[], asked = key) {
  const form = new FormData();
  for (const file of files) form.append(part, blobOf(file), file.name);
  return (await send(`${api.url}/v0${path}`, { key: asked, body: form })).body;
}

async function graph(document: string, files: readonly Sent[], variables: Record<string, unknown>, asked = key) {
  const list = Array.isArray(variables["files"]);
  const parts: FormFile[] = files.map((file, index) => ({
    path: list ? `variables.files.${index}` : "variables.file",
    blob: blobOf(file),
    name: file.name,
  }));
  return (await multipartGraphql(api.url, asked, document, variables, parts)).body;
}

const stored = "upload { cid url fileName contentType sizeBytes } userErrors { code field message }";
const oneFile = `mutation ($file: Upload!) { uploadFile(file: $file) { ${stored} } }`;
const directory = `mutation ($files: [Upload!]!, $dry: Boolean) {
  uploadMetadataDirectory(files: $files, dryRun: $dry) {
    cid uri fileCount sizeBytes warnings { rule count examples message } ${stored}
  }
}`;

test.each<[what: string, file: Sent]>([
  ["text", { name: "hello.txt", text: "hello", type: "text/plain" }],
  ["a type that the bytes contradict", { name: "a.txt", text: "GIF89a rest", type: "text/plain" }],
  ["a name in UTF-8", { name: "ünï \u{1f600}.svg", text: "<svg/>", type: "image/svg+xml" }],
  ["no bytes", { name: "empty", text: "", type: "application/pdf" }],
])("a file: %s", async (_what, file) => {
  const legacy = await rest("/files", "file", [file]);
  expect((await graph(oneFile, [file], { file: null })).data.uploadFile).toEqual({
    upload: {
      cid: legacy.ipfs_url.split("/").at(-1),
      url: legacy.ipfs_url,
      fileName: legacy.file_name,
      contentType: legacy.content_type,
      sizeBytes: legacy.file_size,
    },
    userErrors: [],
  });
});

test("a directory, its dry run and its warnings", async () => {
  const files = [0, 1, 3].map((id) => ({ name: `${id}.json`, text: JSON.stringify({ name: `#${id}`, image: "x" }) }));
  for (const dry of [true, false]) {
    const legacy = await rest(`/metadata/directory?warnings=true&dry_run=${dry}`, "metadata_files", files);
    const { uploadMetadataDirectory: found } = (await graph(directory, files, { dry, files: [null, null, null] })).data;
    expect(found).toMatchObject({
      uri: legacy.metadata_directory_ipfs_uri,
      fileCount: legacy.files,
      sizeBytes: legacy.size_bytes,
      warnings: legacy.warnings,
      userErrors: [],
    });
    expect(found.upload === null).toBe(dry);
    expect(legacy.warnings.map(({ rule }: { rule: string }) => rule)).toContain("token_ids_missing");
  }
});

test("every fault of a directory, in the same words and order", async () => {
  const files: Sent[] = [
    { name: "0.json", text: "{" },
    { name: "..json", text: "{}" },
    { name: "2.json", text: "[]" },
    { name: "3.png", text: "{}", type: "image/png" },
    { name: "4.json", text: `{"a":"${"x".repeat(5_000)}"}` },
    { name: "5.json", text: "{}" },
    { name: "folder/5.json", text: '{"other":1}' },
  ];
  const legacy = await rest("/metadata/directory", "metadata_files", files);
  const { uploadMetadataDirectory: found } = (await graph(directory, files, { files: files.map(() => null) })).data;
  expect(found.upload).toBeNull();
  expect(found.userErrors.length).toBe(6);
  // GraphQL's library cuts a file at the largest size of any upload; this one is below that.
  const detail = found.userErrors.map(({ code, field, message }: { code: string; field: string; message: string }) => ({
    loc: [field],
    msg: message,
    type: code,
  }));
  expect(legacy.detail).toEqual(detail);
  expect(legacy.error.code).toBe(found.userErrors[0].code);
});

test("a directory of too many files", async () => {
  const files = Array.from({ length: 21 }, (_, id) => ({ name: `${id}.json`, text: "{}" }));
  expect((await rest("/metadata/directory", "metadata_files", files)).error.code).toBe("value_error");
  const { userErrors } = (await graph(directory, files, { files: files.map(() => null) })).data.uploadMetadataDirectory;
  expect(userErrors.map(({ code }: { code: string }) => code)).toEqual(["value_error"]);
});

test("a file over the limit, and a key that is none", async () => {
  const large = { name: "large", text: "x".repeat(100_001), type: "text/plain" };
  expect((await rest("/files", "file", [large])).error.code).toBe("file_too_large");
  expect((await graph(oneFile, [large], { file: null })).data.uploadFile.userErrors[0].code).toBe("file_too_large");
  const nobody = randomUUID();
  const small = { name: "small", text: "x" };
  const refused = [
    await rest("/files", "file", [small], nobody),
    await graph(oneFile, [small], { file: null }, nobody),
  ];
  expect(refused.map((answer) => answer.error.code)).toEqual(["invalid_credentials", "invalid_credentials"]);
});

test("a metadata document, and the list of it all", async () => {
  const answer = await api.send("POST", "/v0/metadata", key, { name: "One", description: "d", file_url: "ipfs://x" });
  const document = `mutation ($input: MetadataInput!) { uploadMetadata(input: $input) { upload { uri } userErrors { code } } }`;
  const input = { name: "One", description: "d", fileUrl: "ipfs://x" };
  expect((await api.graphql(key, document, { input })).body.data.uploadMetadata).toEqual({
    upload: { uri: answer.body.metadata_uri },
    userErrors: [],
  });
  const legacy = await api.send("GET", "/v0/me/storage?type=all&page_size=10", key);
  const { body } = await api.graphql(key, "{ viewer { uploads(first: 10) { nodes { uri kind } } } }");
  expect(body.data.viewer.uploads.nodes).toEqual(
    legacy.body.storage.map(({ ipfs_uri, type }: { ipfs_uri: string; type: string }) => ({
      uri: ipfs_uri,
      kind: type.toUpperCase(),
    })),
  );
});
