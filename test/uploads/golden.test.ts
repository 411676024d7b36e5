import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fileSizeMb } from "../../src/rest/files.ts";
import { entryNames } from "../../src/uploads/entry-names.ts";
import { send } from "../setup/send.ts";
import { form, startUploadServer, type UploadServer } from "./upload-server.ts";

interface DirectoryVectors {
  name_vectors: { filename: string; entries: string[] }[];
  file_size_mb_vectors: { file_size: number; file_size_mb: number }[];
  file_vectors: { text: string; cid: string; ipfs_url: string }[];
  vectors: {
    id: string;
    metadata_files: { filename: string; text: string }[];
    entries: { name: string; cid: string; size: number }[];
    directory_cid: string;
    response: Record<string, unknown>;
  }[];
}
interface MetadataVectors {
  vectors: {
    id: string;
    request: Record<string, unknown>;
    stored: string;
    bytes: number;
    cid: string;
    response: Record<string, unknown>;
  }[];
}

const directory = load<DirectoryVectors>("directory.json");
const metadata = load<MetadataVectors>("metadata-bytes.json");

let server: UploadServer;
beforeAll(async () => {
  server = await startUploadServer();
});
afterAll(() => server.close());

describe("directory.json", () => {
  test.each(directory.name_vectors)("$filename is linked as $entries", ({ filename, entries }) => {
    expect(entryNames(filename)).toEqual(entries);
  });

  test.each(directory.file_size_mb_vectors)("$file_size bytes are $file_size_mb MB", (vector) => {
    expect(fileSizeMb(vector.file_size)).toBe(vector.file_size_mb);
  });

  test.each(directory.file_vectors)("the file $text", async ({ text, cid, ipfs_url }) => {
    const body = form("file", [{ filename: "a.txt", text, type: "text/plain" }]);
    const answer = await send(`${server.url}/v0/files`, { body });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      response: "OK",
      ipfs_url,
      file_name: "a.txt",
      content_type: "text/plain",
      file_size: text.length,
      file_size_mb: 0,
      error: null,
    });
    expect(await (await fetch(`${server.url}/ipfs/${cid}`)).text()).toBe(text);
  });

  test.each(directory.vectors)("$id", async ({ metadata_files, entries, directory_cid, response }) => {
    const body = form("metadata_files", metadata_files);
    const answer = await send(`${server.url}/v0/metadata/directory`, { body });
    expect(answer.body).toEqual(response);
    expect(answer.status).toBe(200);

    const content = await server.services.content.resolve(directory_cid, []);
    expect(content?.kind === "directory" && (await content.entries())).toEqual(entries);
    for (const { name, cid, size } of entries) {
      expect(await server.services.content.resolve(directory_cid, [name])).toMatchObject({ kind: "file", cid, size });
    }
  });
});

describe("metadata-bytes.json", () => {
  test.each(metadata.vectors)("$id", async ({ request, stored, bytes, cid, response }) => {
    const answer = await send(`${server.url}/v0/metadata`, { body: request });
    expect(answer.text).toBe(JSON.stringify(response));
    expect(answer.status).toBe(200);
    const content = await fetch(`${server.url}/ipfs/${cid}`);
    expect(await content.text()).toBe(stored);
    expect(Number(content.headers.get("content-length"))).toBe(bytes);
  });
});

function load<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`../golden/${name}`, import.meta.url), "utf8")) as T;
}
