import { createHash, randomBytes } from "node:crypto";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { measuredSlowness, patient } from "../setup/wait.ts";
import { closing, head, parseAnswer, part, rawRequest, sendForm } from "./raw-request.ts";
import { form, startUploadServer, type UploadServer } from "./upload-server.ts";

const limit = 3_000_000;
let server: UploadServer;
beforeAll(async () => {
  server = await startUploadServer({ MAX_FILE_BYTES: String(limit) });
});
afterAll(() => server.close());

const post = (body: FormData | string, headers: Record<string, string> = {}) =>
  fetch(`${server.url}/v0/files`, { method: "POST", body, headers });

async function expectNothingStored() {
  expect(await server.files()).toEqual([]);
  expect(await server.rows()).toBe(0);
}

async function expectRefusal(answer: Response, status: number, code: string) {
  expect(await answer.json()).toMatchObject({ response: "NOK", error: { code } });
  expect(answer.status).toBe(status);
  await expectNothingStored();
}

describe("a file that is refused leaves nothing", () => {
  test("over the limit, whether its length was declared or not", async () => {
    const bytes = new Uint8Array(limit + 1);
    const body = new FormData();
    body.append("file", new Blob([bytes]), "big");
    await expectRefusal(await post(body), 413, "file_too_large");
    const huge = new FormData();
    huge.append("file", new Blob([new Uint8Array(limit + 4_000_000)]), "big");
    await expectRefusal(await post(huge), 413, "file_too_large");

    const opening = part('name="file"; filename="big"', "").slice(0, -2);
    const chunk = Buffer.concat([Buffer.from("100000\r\n"), Buffer.alloc(0x100000), Buffer.from("\r\n")]);
    const start = `${opening.length.toString(16)}\r\n${opening}\r\n`;
    const text = await rawRequest(server.port, [
      head("/v0/files", "chunked"),
      start,
      chunk,
      chunk,
      chunk,
      chunk,
      "0\r\n\r\n",
    ]);
    expect(parseAnswer(text)).toMatchObject({ status: 413, body: { error: { code: "file_too_large" } } });
    await expectNothingStored();
  });

  test("no part file", async () => {
    await expectRefusal(await post(form("other", [{ filename: "a", text: "x" }])), 422, "parameter_missing");
  });

  test("a text field instead of a file", async () => {
    const answer = await sendForm(server.port, "/v0/files", part('name="file"', "text") + closing);
    expect(answer).toMatchObject({ status: 422, body: { error: { code: "parameter_missing" } } });
    await expectNothingStored();
  });

  test("two files", async () => {
    const files = ["a", "b"].map((filename) => ({ filename, text: filename }));
    await expectRefusal(await post(form("file", files)), 422, "value_error");
  });

  test("a body of another kind, or without a boundary", async () => {
    const json = { "Content-Type": "application/json" };
    await expectRefusal(await post("{}", json), 415, "unsupported_media_type");
    await expectRefusal(await post("x", { "Content-Type": "multipart/form-data" }), 415, "unsupported_media_type");
  });

  test("a part with a name over 100 bytes", async () => {
    await expectRefusal(await post(form("n".repeat(101), [{ filename: "a", text: "x" }])), 422, "value_error");
  });

  test("a form that ends in the middle of the file, or before its closing line", async () => {
    const whole = part('name="file"; filename="a.txt"', "0123456789".repeat(1_000));
    for (const body of [whole.slice(0, 4_000), whole]) {
      const answer = await sendForm(server.port, "/v0/files", body);
      expect(answer).toMatchObject({ status: 422, body: { error: { code: "value_error" } } });
    }
    await expectNothingStored();
  });

  test("a client that goes away", async () => {
    const opening = part('name="file"; filename="a.txt"', "0123456789".repeat(100_000)).slice(0, -2);
    const client = connect(server.port, "127.0.0.1");
    client.write(head("/v0/files", 2_000_000) + opening);
    await expect.poll(async () => (await server.files()).length, patient).toBe(1);
    client.destroy();
    await expect.poll(() => server.files(), patient).toEqual([]);
    await expectNothingStored();
  });

  test("a client that falls silent gets 408 after ten seconds", async () => {
    const opening = part('name="file"; filename="a.txt"', "0123456789");
    const began = Date.now();
    const text = await rawRequest(server.port, [head("/v0/files", 2_000), opening], { quietMs: 25_000 });
    expect(parseAnswer(text)).toMatchObject({ status: 408, body: { error: { code: "request_timeout" } } });
    expect(Date.now() - began).toBeLessThan(20_000 * measuredSlowness);
    await expectNothingStored();
  });
});

describe("a file that is stored", () => {
  test("comes back byte for byte, at the limit too", async () => {
    const bytes = randomBytes(limit);
    const body = new FormData();
    body.append("file", new Blob([bytes], { type: "image/png" }), "folder/1.png");
    const answer = await post(body);
    const { ipfs_url, ...rest } = (await answer.json()) as { ipfs_url: string };
    expect(rest).toEqual({
      response: "OK",
      file_name: "1.png",
      content_type: "image/png",
      file_size: limit,
      file_size_mb: 2.861,
      error: null,
    });
    const cid = ipfs_url.replace("https://ipfs.io/ipfs/", "");
    expect(cid).toMatch(/^bafybei/);
    const back = Buffer.from(await (await fetch(`${server.url}/ipfs/${cid}`)).arrayBuffer());
    expect(createHash("sha256").update(back).digest("hex")).toBe(createHash("sha256").update(bytes).digest("hex"));
  });

  test("is one CAR when it comes twice, also at the same time, and every sender gets the same CID", async () => {
    const before = (await server.files()).length;
    const send = async () =>
      await (await post(form("file", [{ filename: "a.txt", text: "same", type: "text/plain" }]))).json();
    const answers = [await send(), ...(await Promise.all([send(), send(), send()]))];
    expect(new Set(answers.map((answer) => (answer as { ipfs_url: string }).ipfs_url)).size).toBe(1);
    expect((await server.files()).length).toBe(before + 1);
  });

  test("may be empty", async () => {
    const answer = await sendForm(server.port, "/v0/files", part('name="file"; filename="none"', "") + closing);
    expect(answer.body).toMatchObject({
      ipfs_url: "https://ipfs.io/ipfs/bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku",
      file_size: 0,
    });
  });

  test("has the type application/octet-stream when its part has none, as python-requests sends it", async () => {
    const answer = await sendForm(server.port, "/v0/files", part('name="file"; filename="1.png"', "abc") + closing);
    expect(answer.body).toMatchObject({ file_name: "1.png", content_type: "application/octet-stream" });
  });

  test("may come without a name, between other parts, and with a name in UTF-8", async () => {
    const nameless =
      part('name="note"', "x") + part('name="file"', "abc", "image/png") + part('name="z"', "y") + closing;
    expect((await sendForm(server.port, "/v0/files", nameless)).body).toMatchObject({ file_name: null });
    const answer = await post(form("file", [{ filename: "Café 🚀.png", text: "x", type: "image/png" }]));
    expect(await answer.json()).toMatchObject({ file_name: "Café 🚀.png" });
  });

  test("is taken from a body that comes byte by byte", async () => {
    const body = part('name="file"; filename="a.txt"', "0123456789", "text/plain") + closing;
    const pieces = [head("/v0/files", body.length), ...[...body].map((byte) => byte)];
    expect(parseAnswer(await rawRequest(server.port, pieces)).body).toMatchObject({ file_size: 10 });
  });
});

test("an error before the body is read leaves the connection usable", async () => {
  const body =
    part('name="file"; filename="a.txt"', "x", "text/plain") +
    part('name="file"; filename="b.txt"', "y".repeat(200_000)) +
    closing;
  const good = part('name="file"; filename="a.txt"', "good", "text/plain") + closing;
  const text = await rawRequest(server.port, [
    head("/v0/files", body.length, true),
    body,
    head("/v0/files", good.length),
    good,
  ]);
  expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 422", "HTTP/1.1 200"]);
});
