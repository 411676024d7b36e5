import { execute, parse } from "graphql";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createSchema } from "../../src/graphql/schema.ts";
import { send } from "../setup/send.ts";
import { arrived } from "./arrived.ts";
import { form, startUploadServer, type UploadServer } from "./upload-server.ts";

// The lint tells everything at once, through both APIs, and refuses nothing that was accepted without it.
let server: UploadServer;
beforeAll(async () => {
  server = await startUploadServer({ MAX_DIRECTORY_FILE_BYTES: "10000" });
});
afterAll(() => server.close());

interface GivenFile {
  filename: string;
  text: string;
}
interface Warning {
  rule: string;
  count: number;
  examples: string[];
}

const schema = createSchema();
const fine = (id: number, more: object = {}) => ({
  filename: `${id}.json`,
  text: JSON.stringify({ name: `#${id}`, description: "", image: "https://example.org/x.png", ...more }),
});

const rest = (files: readonly GivenFile[], query: string) =>
  send(`${server.url}/v0/metadata/directory${query}`, { body: form("metadata_files", files) });

async function graph(files: readonly GivenFile[], dryRun: boolean) {
  const document = `mutation ($files: [Upload!]!, $dryRun: Boolean) { uploadMetadataDirectory(files: $files, dryRun: $dryRun) {
    upload { id } cid uri fileCount sizeBytes warnings { rule message count examples } userErrors { code field message } } }`;
  const caller = async () => ({ accountId: server.accountId, tier: "free" as const, requestId: "test" });
  const variableValues = { files: files.map(({ filename, text }) => arrived(filename, text)), dryRun };
  const contextValue = { services: server.services, requestId: "test", caller };
  const answer = await execute({ schema, document: parse(document), variableValues, contextValue });
  const data = JSON.parse(JSON.stringify(answer)) as { data: { uploadMetadataDirectory: Record<string, unknown> } };
  return data.data.uploadMetadataDirectory;
}

const found = (warnings: unknown) =>
  Object.fromEntries((warnings as Warning[]).map(({ rule, count, examples }) => [rule, { count, examples }]));

test("a dry run tells the CID that the upload gets, and stores nothing", async () => {
  const files = [fine(0), fine(1)];
  const rows = await server.rows();
  const dry = await rest(files, "?dry_run=true");
  expect(dry).toMatchObject({ status: 200, body: { dry_run: true, files: 2, warnings: [], error: null } });
  const other = await graph(files, true);
  expect(other).toMatchObject({ upload: null, fileCount: 2, sizeBytes: dry.body["size_bytes"], userErrors: [] });
  expect(other["uri"]).toBe(dry.body["metadata_directory_ipfs_uri"]);
  expect(await server.rows()).toBe(rows);
  expect(await server.files()).toEqual([]);

  const stored = await rest(files, "");
  expect(stored.body).toEqual({
    response: "OK",
    metadata_directory_ipfs_uri: dry.body["metadata_directory_ipfs_uri"],
    metadata_directory_ipfs_url: dry.body["metadata_directory_ipfs_url"],
    error: null,
  });
});

test("every warning of every file, by rule, and the directory is stored all the same", async () => {
  const image = form("file", [{ filename: "a.png", text: "an image", type: "image/png" }]);
  const here = (await send(`${server.url}/v0/files`, { body: image })).body.ipfs_url.split("/").at(-1);
  const files = [
    { filename: "collection.json", text: '{"name":"All","description":"","image":"https://example.org/a"}' },
    { filename: "007.json", text: '{"name":"x","description":"","image":"https://example.org/a"}' },
    fine(1, { image: `ipfs://${here}` }),
    fine(2, { image: "ipfs://bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy" }),
    fine(3, { image: `https://any.example/ipfs/${here}` }),
    fine(5, { image: "2.png", name: 5, description: undefined }),
    fine(6, { image: undefined, attributes: "red" }),
    fine(7, { image: "http://example.org/x.png", animation_url: 4, attributes: [] }),
    fine(8, {
      attributes: [
        4,
        { trait_type: "a" },
        { trait_type: 1, value: {} },
        { trait_type: "b", value: "x", display_type: "number" },
        { trait_type: "c", value: 1, display_type: "huge", max_value: "9" },
      ],
    }),
    {
      filename: "9.json",
      text: `{"name":"x","description":"","image":"ipfs://x","deep":${"[".repeat(70)}${"]".repeat(70)}}`,
    },
  ];
  const expected = {
    name_is_no_token_id: { count: 2, examples: ["collection.json", "007.json"] },
    token_ids_missing: { count: 2, examples: ["0", "4"] },
    image_not_here: { count: 1, examples: ["2.json"] },
    image_unfilled: { count: 1, examples: ['9.json: "ipfs://x"'] },
    image_link: { count: 1, examples: ['5.json: "2.png"'] },
    image_missing: { count: 1, examples: ["6.json"] },
    image_insecure: { count: 1, examples: ['7.json: "http://example.org/x.png"'] },
    name_type: { count: 1, examples: ["5.json: 5"] },
    description_missing: { count: 1, examples: ["5.json"] },
    attributes_type: { count: 1, examples: ['6.json: "red"'] },
    animation_url_type: { count: 1, examples: ["7.json: 4"] },
    trait_type: { count: 1, examples: ["8.json: 4"] },
    trait_value_missing: { count: 1, examples: ['8.json: "a"'] },
    trait_name_type: { count: 1, examples: ["8.json: 1"] },
    trait_value_type: { count: 1, examples: ["8.json: {}"] },
    display_value_type: { count: 1, examples: ['8.json: "x"'] },
    display_type_unknown: { count: 1, examples: ['8.json: "huge"'] },
    max_value_type: { count: 1, examples: ['8.json: "9"'] },
    too_complex: { count: 1, examples: ["9.json"] },
  };
  const dry = await rest(files, "?dry_run=true");
  expect(dry.status).toBe(200);
  expect(found(dry.body["warnings"])).toEqual(expected);
  expect(found((await graph(files, true))["warnings"])).toEqual(expected);
  const stored = await rest(files, "?warnings=true");
  expect(stored.body["dry_run"]).toBeUndefined();
  expect(stored.body["metadata_directory_ipfs_uri"]).toBe(dry.body["metadata_directory_ipfs_uri"]);
  expect(found(stored.body["warnings"])).toEqual(expected);
  // Without a word about warnings the body is what old clients know.
  expect(Object.keys((await rest(files, "")).body)).toHaveLength(4);
});

test("what systems and generators leave in a folder is left out with a warning", async () => {
  const junk = [
    { filename: ".DS_Store", text: "\u0000\u0000\u0000\u0001Bud1" },
    { filename: "__MACOSX/._0.json", text: "\u0000" },
    { filename: "desktop.ini", text: "[.ShellClassInfo]" },
    { filename: "Thumbs.db", text: "" },
    { filename: "_metadata.json", text: "[{},{}]" },
    { filename: "metadata.json", text: "[]" },
    { filename: "0.json:Zone.Identifier", text: "[ZoneTransfer]" },
    { filename: "@eaDir/0.json@SynoEAStream", text: "" },
    { filename: "_rarity.json", text: "[]" },
  ];
  const alone = await rest([fine(0)], "?dry_run=true");
  const { body } = await rest([...junk, fine(0)], "?dry_run=true");
  const examples = junk.map(({ filename }) => filename.split("/").at(-1));
  expect(found(body["warnings"])).toEqual({ left_out: { count: 9, examples } });
  expect([body["files"], body["metadata_directory_ipfs_uri"]]).toEqual([1, alone.body["metadata_directory_ipfs_uri"]]);
  expect((await graph([...junk, fine(0)], true))["uri"]).toBe(alone.body["metadata_directory_ipfs_uri"]);
  expect(await rest(junk, "")).toMatchObject({ status: 422, body: { error: { code: "parameter_missing" } } });
});

test("links into a directory that is stored here, to files that it does not have, are dead, wherever they stand", async () => {
  const uri = (await rest([fine(0)], "")).body["metadata_directory_ipfs_uri"];
  const files = [
    fine(0, { image: `${uri}0.json`, animation_url: `https://any.example/ipfs/${uri.slice(7)}0` }),
    fine(1, { image: `${uri}2.png` }),
    fine(2, { animation_url: `${uri}0.json/deeper` }),
    fine(3, { properties: { files: [null, { uri: `${uri}3.glb` }, { uri: "ipfs://NewUriToReplace/3.glb" }] } }),
    fine(4, { animation_url: "ipfs://NewUriToReplace/4.mp4" }),
    fine(5, { thumbnail: `${uri}5.png`, levels: [{ art: `https://any.example/ipfs/${uri.slice(7)}6.png` }] }),
    fine(6, { image: undefined, image_url: `${uri}6.png` }),
  ];
  const expected = {
    image_dead: { count: 6, examples: ["1.json", "2.json", "3.json", "5.json", "5.json"] },
    animation_url_unfilled: { count: 1, examples: ['4.json: "ipfs://NewUriToReplace/4.mp4"'] },
    file_unfilled: { count: 1, examples: ['3.json: "ipfs://NewUriToReplace/3.glb"'] },
  };
  expect(found((await rest(files, "?dry_run=true")).body["warnings"])).toEqual(expected);
  expect(found((await graph(files, true))["warnings"])).toEqual(expected);
});

test("every fault of every file at once, with the warnings beside them, dry or not", async () => {
  const files = [
    fine(1),
    { filename: "2.json", text: '{"name":' },
    { filename: "3.json", text: "[]" },
    { filename: ".json", text: "{}" },
    { filename: "4.json", text: `{"a":"${"x".repeat(20_000)}"}` },
    { filename: "x/1.json", text: "{}" },
    { filename: "6.json", text: "{}" },
  ];
  const problems = [
    ["2.json", "value_error", /not JSON/],
    ["3.json", "value_error", /must hold a JSON object/],
    [".json", "value_error", /cannot be linked/],
    ["4.json", "file_too_large", /over 10000 bytes/],
    ["1.json", "value_error", /two different files claim the name "1"/],
  ] as const;
  const rows = await server.rows();
  for (const query of ["", "?dry_run=true"]) {
    const { status, body } = await rest(files, query);
    expect(status).toBe(422);
    expect(body["error"]).toMatchObject({ code: "value_error" });
    expect(body["detail"]).toEqual(
      problems.map(([file, type, message]) => ({
        loc: [expect.stringContaining(file)],
        msg: expect.stringMatching(message),
        type,
      })),
    );
    expect(found(body["warnings"])).toMatchObject({ image_missing: { count: 1, examples: ["6.json"] } });
  }
  for (const dryRun of [true, false]) {
    const answer = await graph(files, dryRun);
    expect(answer).toMatchObject({ upload: null, cid: null });
    const errors = answer["userErrors"] as { code: string; field: string; message: string }[];
    expect(errors.map(({ code }) => code)).toEqual(problems.map(([, code]) => code));
    expect(found(answer["warnings"])).toMatchObject({ image_missing: { count: 1 } });
  }
  expect(await server.rows()).toBe(rows);
});

test("ten thousand faults are a short answer", async () => {
  const files = Array.from({ length: 500 }, (_, id) => ({ filename: `${id}.json`, text: "{" }));
  const { body } = await rest(files, "?dry_run=true");
  const detail = body["detail"] as { msg: string }[];
  expect(detail).toHaveLength(101);
  expect(detail.at(-1)?.msg).toBe("and 400 problems more");
});

test("a gap as wide as the token ids go is counted, not walked", async () => {
  const files = [fine(0), { ...fine(1), filename: `${2n ** 250n}.json` }];
  const { status, body } = await rest(files, "?dry_run=true");
  expect(status).toBe(200);
  const warnings = found(body["warnings"]);
  expect(warnings["token_ids_missing"]?.examples).toEqual(["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"]);
});
