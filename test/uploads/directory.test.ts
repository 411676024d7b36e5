import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { send } from "../setup/send.ts";
import { closing, head, parseAnswer, part, rawRequest, sendForm } from "./raw-request.ts";
import { form, startUploadServer, type UploadServer } from "./upload-server.ts";

let server: UploadServer;
beforeAll(async () => {
  server = await startUploadServer({
    MAX_DIRECTORY_FILES: "50",
    MAX_DIRECTORY_BYTES: "20000",
    MAX_DIRECTORY_FILE_BYTES: "10000",
  });
});
afterAll(() => server.close());

interface GivenFile {
  filename: string;
  text: string;
  type?: string;
}
const path = "/v0/metadata/directory";
const sendFiles = (files: readonly GivenFile[]) => send(server.url + path, { body: form("metadata_files", files) });

const refusals: [what: string, files: GivenFile[], status: number, code: string][] = [
  ["no file", [], 422, "parameter_missing"],
  ["text that is not JSON", [{ filename: "0.json", text: "{" }], 422, "value_error"],
  ["JSON that is not an object", [{ filename: "0.json", text: "[1]" }], 422, "value_error"],
  ["null", [{ filename: "0.json", text: "null" }], 422, "value_error"],
  ["another type and name", [{ filename: "0.png", text: "{}", type: "image/png" }], 422, "value_error"],
  ["an empty entry name", [{ filename: ".json", text: "{}" }], 422, "value_error"],
  ["the entry name ..", [{ filename: "a/..", text: "{}" }], 422, "value_error"],
  ["the entry name . before the extension", [{ filename: "..json", text: "{}" }], 422, "value_error"],
  ["a control character in a name", [{ filename: "a\u0001.json", text: "{}" }], 422, "value_error"],
  [
    "one name with different bytes",
    [
      { filename: "0.json", text: "{}" },
      { filename: "x/0.json", text: "{ }" },
    ],
    422,
    "value_error",
  ],
  [
    "one stem with different bytes",
    [
      { filename: "0.json", text: "{}" },
      { filename: "0", text: "{ }" },
    ],
    422,
    "value_error",
  ],
  ["a file over its limit", [{ filename: "0.json", text: `{"a":"${"x".repeat(10_000)}"}` }], 413, "file_too_large"],
  [
    "files over the limit together",
    ["0", "1", "2"].map((name) => ({ filename: name, text: `{"a":"${name.repeat(9_000)}"}` })),
    413,
    "file_too_large",
  ],
  [
    "too many files",
    Array.from({ length: 51 }, (_, id) => ({ filename: `${id}.json`, text: "{}" })),
    422,
    "value_error",
  ],
];

describe("a directory that is refused leaves nothing", () => {
  test.each(refusals)("%s", async (_what, files, status, code) => {
    const good = { filename: "good.json", text: '{"good":true}' };
    const answer = await sendFiles(files.length === 0 ? [] : [good, ...files]);
    expect(answer).toMatchObject({ status, body: { response: "NOK", error: { code } } });
    expect(await server.files()).toEqual([]);
    expect(await server.rows()).toBe(0);
  });

  test("a part that is not a file", async () => {
    const answer = await sendForm(server.port, path, part('name="metadata_files"', "{}") + closing);
    expect(answer).toMatchObject({ status: 422, body: { error: { code: "value_error" } } });
  });

  test("a form that breaks off between two files", async () => {
    const body =
      part('name="metadata_files"; filename="0.json"', "{}") + part('name="metadata_files"; filename="1.json"', "{}");
    const answer = await sendForm(server.port, path, body);
    expect(answer).toMatchObject({ status: 422, body: { error: { code: "value_error" } } });
    expect(await server.rows()).toBe(0);
    expect(await server.files()).toEqual([]);
  });
});

describe("a directory that is stored", () => {
  test("takes the same file twice as one entry", async () => {
    const answer = await sendFiles([
      { filename: "0.json", text: "{}" },
      { filename: "deep/0.json", text: "{}" },
    ]);
    expect(answer.status).toBe(200);
  });

  test("takes a name with a backslash as old browsers send it, and a name after RFC 5987", async () => {
    const body =
      part('name="metadata_files"; filename="C:\\dir\\3.json"', '{"a":3}') +
      part('name="metadata_files"; filename="x.json"; filename*=UTF-8\'\'na%C3%AFve.json', '{"a":4}') +
      closing;
    const text = await rawRequest(server.port, [head(path, Buffer.byteLength(body)), body]);
    const uri = String(parseAnswer(text).body["metadata_directory_ipfs_uri"]);
    const content = await server.services.content.resolve(uri.slice("ipfs://".length, -1), []);
    const entries = content?.kind === "directory" ? await content.entries() : [];
    expect(entries.map(({ name }) => name)).toEqual(["3", "3.json", "naïve", "naïve.json"]);
  });

  test("does not depend on the order of its files", async () => {
    const before = (await server.files()).length;
    const files = ["0", "1", "2"].map((name) => ({ filename: `${name}.json`, text: `{"id":${name}}` }));
    const uris = [await sendFiles(files), await sendFiles(files.toReversed())].map(
      ({ body }) => body["metadata_directory_ipfs_uri"],
    );
    expect(uris[0]).toBe(uris[1]);
    expect((await server.files()).length).toBe(before + 1);
  });
});

test("an upload belongs to the account that sent it", async () => {
  const { body } = await sendFiles([{ filename: "mine.json", text: "{}" }]);
  const cid = String(body["metadata_directory_ipfs_uri"]).slice("ipfs://".length, -1);
  const rows = await server.services.db.selectFrom("service.upload").selectAll().where("cid", "=", cid).execute();
  expect(rows).toMatchObject([
    {
      account_id: server.accountId,
      kind: "metadata_directory",
      size: 2n,
      profile: "unixfs-v1-2025",
      pin_state: "local",
    },
  ]);
});
