import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { send } from "../setup/send.ts";
import { patient } from "../setup/wait.ts";
import { closing, head, parseAnswer, part, rawRequest, sendForm } from "./raw-request.ts";
import { form, startUploadServer, type UploadServer } from "./upload-server.ts";

let server: UploadServer;
beforeAll(async () => {
  server = await startUploadServer({ MAX_FILE_BYTES: "2000000", MAX_DIRECTORY_FILES: "500" });
});
afterAll(() => server.close());

/** Whatever came before: the service still works, and nothing of the hostile request was kept. */
let stored = 0;
afterEach(async () => {
  expect((await server.files()).filter((name) => name.endsWith(".part"))).toEqual([]);
  expect((await server.files()).length).toBe(stored);
  stored += 1;
  const body = form("file", [{ filename: "fine", text: `fine ${stored}` }]);
  expect((await send(`${server.url}/v0/files`, { body })).status).toBe(200);
});

const directory = "/v0/metadata/directory";
const file = (name: string, text = "{}") => part(`name="metadata_files"; filename="${name}"`, text);

test("100,000 parts end early, with an error and little memory", async () => {
  const one = file("0.json");
  const body = one.repeat(100_000) + closing;
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  const answer = parseAnswer(await rawRequest(server.port, [head(directory, Buffer.byteLength(body)), body]));
  expect([413, 422]).toContain(answer.status);
  expect(answer.body.error?.code).toMatch(/file_too_large|value_error/);
  expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1_048_576);
});

test.each([
  ["a path out of the folder with two contents", [file("../../etc/0.json"), file("0.json", '{"a":1}')]],
  ["a name that is only a path", [file("../../")]],
  ["a name with NUL", [file("a\0b.json")]],
  ["a name over 255 bytes", [file(`${"n".repeat(300)}.json`)]],
  ["text that is UTF-16", [`${file("0.json", "\ufeff{\0}\0")}`]],
])("%s is refused", async (_what, parts) => {
  const answer = await sendForm(server.port, directory, parts.join("") + closing);
  expect(answer).toMatchObject({ status: 422, body: { error: { code: "value_error" } } });
});

test("bytes that are no UTF-8 are no metadata", async () => {
  const [start = "", end = ""] = file("0.json", "@").split("@");
  const body = Buffer.concat([
    Buffer.from(start),
    Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]),
    Buffer.from(end + closing),
  ]);
  const answer = parseAnswer(await rawRequest(server.port, [head(directory, body.length), body]));
  expect(answer).toMatchObject({ status: 422, body: { error: { code: "value_error" } } });
});

test("a gzip bomb is not unpacked: a coded body is refused", async () => {
  const bomb = gzipSync(part('name="file"; filename="a"', "0".repeat(50_000_000)) + closing);
  const start = head("/v0/files", bomb.length).replace("\r\n\r\n", "\r\nContent-Encoding: gzip\r\n\r\n");
  const answer = parseAnswer(await rawRequest(server.port, [start, bomb]));
  expect(answer).toMatchObject({ status: 415, body: { error: { code: "unsupported_media_type" } } });
});

test("a client that sends a byte now and then holds nobody else up", async () => {
  const slow = connect(server.port, "127.0.0.1");
  slow.on("error", () => undefined);
  slow.write(head("/v0/files", 1_000) + part('name="file"; filename="a"', "").slice(0, -2));
  for (let byte = 0; byte < 3; byte += 1) {
    slow.write("x");
    const body = form("file", [{ filename: "b", text: "meanwhile" }]);
    expect((await send(`${server.url}/v0/files`, { body })).status).toBe(200);
    await sleep(200);
  }
  stored += 1;
  slow.destroy();
  await expect.poll(async () => (await server.files()).filter((name) => name.endsWith(".part")), patient).toEqual([]);
});
