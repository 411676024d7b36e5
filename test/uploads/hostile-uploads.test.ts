import { readdir } from "node:fs/promises";
import { connect } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ApiServer } from "../setup/api-server.ts";
import { send } from "../setup/send.ts";
import { patient } from "../setup/wait.ts";
import { multipartGraphql } from "./multipart-graphql.ts";
import { parseAnswer, rawRequest } from "./raw-request.ts";

// The same hostile bodies at both APIs of the whole server: what comes back, what it costs, and that it lives on.
let api: ApiServer;
let key: string;
beforeAll(async () => {
  api = await ApiServer.start({
    MAX_FILE_BYTES: "2000000",
    MAX_DIRECTORY_FILES: "500",
    MAX_DIRECTORY_BYTES: "4000000",
  });
  ({ key } = await api.account("enterprise"));
});
afterAll(() => api?.close());

/** Files that an upload makes on its way. */
async function leftovers(): Promise<string[]> {
  return (await readdir(api.dataDir, { recursive: true })).filter((name) => name.endsWith(".part"));
}

const oneFile = "mutation ($file: Upload!) { uploadFile(file: $file) { upload { cid } userErrors { code } } }";
const files =
  "mutation ($files: [Upload!]!) { uploadMetadataDirectory(files: $files) { cid userErrors { code message } } }";

let fine = 0;
afterEach(async () => {
  await expect.poll(leftovers, patient).toEqual([]);
  fine += 1;
  const blob = new Blob([`fine ${fine}`]);
  const variables = { file: null };
  const graph = await multipartGraphql(api.url, key, oneFile, variables, [{ path: "variables.file", blob, name: "a" }]);
  expect(graph.body.data.uploadFile.userErrors).toEqual([]);
  const form = new FormData();
  form.append("file", blob, "a");
  expect((await send(`${api.url}/v0/files`, { key, body: form })).status).toBe(200);
});

const boundary = "xyz";
const part = (disposition: string, body: string) =>
  `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${body}\r\n`;
const closing = `--${boundary}--\r\n`;
const operation = (query: string, variables: unknown, map: unknown) =>
  part('name="operations"', JSON.stringify({ query, variables })) + part('name="map"', JSON.stringify(map));

interface Api {
  path: string;
  /** What stands before the files. */
  before: string;
  file: (name: string, text: string) => string;
}
const single: Record<string, Api> = {
  "/v0": { path: "/v0/files", before: "", file: (name, text) => part(`name="file"; filename="${name}"`, text) },
  graphql: {
    path: "/graphql",
    before: operation(oneFile, { file: null }, { 0: ["variables.file"] }),
    file: (name, text) => part(`name="0"; filename="${name}"`, text),
  },
};

async function sendRaw(
  path: string,
  body: string | Buffer,
  { headers = "", type = `multipart/form-data; boundary=${boundary}`, length = Buffer.byteLength(body) } = {},
) {
  const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: ${key}\r\nx-graphql-yoga-csrf: 1\r\nContent-Type: ${type}\r\n${headers}Content-Length: ${length}\r\n\r\n`;
  const { status, body: answer } = parseAnswer(await rawRequest(api.port, [head, body]));
  return { status, code: codeOf(answer), answer };
}

function codeOf(answer: ReturnType<typeof JSON.parse>): string | undefined {
  const [payload] = Object.values(answer?.data ?? {}) as { userErrors?: { code: string }[] }[];
  return answer?.error?.code ?? answer?.errors?.[0]?.extensions.code ?? payload?.userErrors?.[0]?.code;
}

describe.each(Object.entries(single))("%s", (_name, { path, before, file }) => {
  test("a form that ends in the middle of a file, or before its closing line", async () => {
    for (const body of [file("a", "cut off").slice(0, -6), file("a", "no closing line")]) {
      expect(await sendRaw(path, before + body)).toMatchObject({ code: "value_error" });
    }
    expect(
      (await api.graphql(key, "{ viewer { uploads(first: 50) { nodes { fileName sizeBytes } } } }")).body.data.viewer
        .uploads.nodes,
    ).not.toContainEqual(expect.objectContaining({ sizeBytes: 15 }));
  });

  test("a connection that is cut in the middle of a file", async () => {
    const socket = connect(api.port, "127.0.0.1");
    const body = before + file("a", "x".repeat(100_000)) + closing;
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${key}\r\nx-graphql-yoga-csrf: 1\r\nContent-Type: multipart/form-data; boundary=${boundary}\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, -50_000)}`,
    );
    await expect.poll(async () => (await leftovers()).length, patient).toBe(1);
    socket.destroy();
  });

  test("no boundary", async () => {
    const answer = await sendRaw(path, before + file("a", "x") + closing, { type: "multipart/form-data" });
    expect(answer).toMatchObject({ status: 415, code: "unsupported_media_type" });
  });

  test("a gzip bomb is refused as it is", async () => {
    const bomb = gzipSync(before + file("a", "0".repeat(50_000_000)) + closing);
    const memory = process.memoryUsage().rss;
    const answer = await sendRaw(path, bomb, { headers: "Content-Encoding: gzip\r\n" });
    expect(answer).toMatchObject({ status: 415, code: "unsupported_media_type" });
    expect(process.memoryUsage().rss - memory).toBeLessThan(100 * 1_048_576);
  });

  test("100,000 parts end early, with an error and little memory", async () => {
    const body = before + file("a", "x").repeat(100_000) + closing;
    const memory = process.memoryUsage().rss;
    const { code } = await sendRaw(path, body);
    expect(["value_error", "file_too_large"]).toContain(code);
    expect(process.memoryUsage().rss - memory).toBeLessThan(200 * 1_048_576);
  });

  test("a body that is larger than any upload, announced or not", async () => {
    expect(await sendRaw(path, "", { length: 90_000_000 })).toMatchObject({ status: 413, code: "file_too_large" });
    const chunk = Buffer.concat([Buffer.from("100000\r\n"), Buffer.alloc(0x100000, "x"), Buffer.from("\r\n")]);
    const opening = before + file("a", "").slice(0, -2);
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: ${key}\r\nx-graphql-yoga-csrf: 1\r\nContent-Type: multipart/form-data; boundary=${boundary}\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const pieces = [head, `${opening.length.toString(16)}\r\n${opening}\r\n`, ...Array(40).fill(chunk), "0\r\n\r\n"];
    expect(codeOf(parseAnswer(await rawRequest(api.port, pieces)).body)).toBe("file_too_large");
  });
});

test("a client that falls silent, and one that sends a byte a second, are told 408", async () => {
  const codes = await Promise.all(
    Object.entries(single).flatMap(([name, { path, before, file }]) => {
      const start = `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${key}\r\nx-graphql-yoga-csrf: 1\r\nContent-Type: multipart/form-data; boundary=${boundary}\r\nContent-Length: 900000\r\n\r\n${before}${file("a", "").slice(0, -2)}`;
      const silent = rawRequest(api.port, [start], { quietMs: 60_000 });
      return [silent, drip(start)].map(async (text) => [name, codeOf(parseAnswer(await text).body)]);
    }),
  );
  const reported = Object.keys(single).flatMap((name) => Array(2).fill([name, "request_timeout"]));
  expect(codes).toEqual(reported);
});

/** Sends a byte a second behind what it began with. @returns all that came back until the connection ended. */
function drip(start: string): Promise<string> {
  return new Promise((done) => {
    let text = "";
    const socket = connect(api.port, "127.0.0.1", () => socket.write(start));
    const timer = setInterval(() => socket.write("x"), 1_000);
    socket.on("data", (data) => {
      text += data;
    });
    socket.on("error", () => undefined);
    socket.once("close", () => {
      clearInterval(timer);
      done(text);
    });
  });
}

describe("graphql's files", () => {
  const list = (count: number) => ({ files: Array(count).fill(null) });
  const map = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, id) => [id, [`variables.files.${id}`]]));
  const json = (id: number, text = `{"id":${id}}`, name = `${id}.json`) =>
    part(`name="${id}"; filename="${name}"`, text);

  test("come in any order while they are small; a large one before its turn is refused", async () => {
    const ordered = await sendRaw(
      "/graphql",
      operation(files, list(3), map(3)) + json(0) + json(1) + json(2) + closing,
    );
    const mixed = await sendRaw("/graphql", operation(files, list(3), map(3)) + json(2) + json(0) + json(1) + closing);
    expect(mixed.answer["data"]).toEqual(ordered.answer["data"]);
    const large = `{"text":"${"x".repeat(1_100_000)}"}`;
    const late = await sendRaw("/graphql", operation(files, list(2), map(2)) + json(1, large) + json(0) + closing);
    expect(late.code).toBe("value_error");
    expect(JSON.stringify(late.answer)).toContain("before its turn");
  });

  test.each<[what: string, parts: string[], code: string]>([
    ["one that comes twice", [json(0), json(0), json(1)], "value_error"],
    ["one that does not come", [json(0)], "value_error"],
    ["names with paths and two contents", [json(0, "{}", "../../etc/0.json"), json(1, "[]", "0.json")], "value_error"],
    ["a name that is none", [json(0, "{}", "../../"), json(1)], "value_error"],
    ["text that is no UTF-8", [json(0, "\ufeff{\0}\0"), json(1)], "value_error"],
  ])("%s", async (_what, parts, code) => {
    expect((await sendRaw("/graphql", operation(files, list(2), map(2)) + parts.join("") + closing)).code).toBe(code);
  });

  test.each<[what: string, body: string]>([
    ["no operation", json(0)],
    ["files before the map", part('name="operations"', JSON.stringify({ query: files, variables: list(1) })) + json(0)],
    ["an operation that is no JSON", part('name="operations"', "{") + part('name="map"', "{}")],
    ["a list of operations", part('name="operations"', "[]") + part('name="map"', "{}")],
    ["a map that leads nowhere", operation(files, list(1), { 0: ["variables.other"] }) + json(0)],
    ["a map into a prototype", operation(files, list(1), { 0: ["variables.__proto__.polluted"] }) + json(0)],
    ["a map of no list", operation(files, list(1), { 0: "variables.files.0" }) + json(0)],
    ["a place that two files claim", operation(files, list(1), { 0: ["variables.files.0"], 1: ["variables.files.0"] })],
  ])("a form with %s is refused before anything runs", async (_what, body) => {
    expect(await sendRaw("/graphql", body + closing)).toMatchObject({ status: 422, code: "value_error" });
    expect(Object.prototype).not.toHaveProperty("polluted");
  });

  test("a variable of type Upload cannot be had without a form", async () => {
    for (const file of [null, "text", { open: "me" }]) {
      const answer = await api.graphql(key, oneFile, { file });
      expect(answer.body.errors?.length).toBe(1);
    }
  });

  test("two files in one operation, the second used first", async () => {
    const query =
      "mutation ($a: Upload!, $b: Upload!) { b: uploadFile(file: $b) { upload { sizeBytes } } a: uploadFile(file: $a) { upload { sizeBytes } } }";
    const variables = { a: null, b: null };
    const body =
      operation(query, variables, { 0: ["variables.a"], 1: ["variables.b"] }) +
      part('name="0"; filename="a"', "first") +
      part('name="1"; filename="b"', "the second");
    const { answer } = await sendRaw("/graphql", body + closing);
    expect(answer["data"]).toEqual({ b: { upload: { sizeBytes: 10 } }, a: { upload: { sizeBytes: 5 } } });
  });
});
