import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { thumbnailWidths } from "../../src/thumbnails/bounds.ts";
import { ApiServer } from "../setup/api-server.ts";
import { wait } from "../setup/wait.ts";
import { ask, askUntilMade, upload } from "./ask.ts";
import { gif, innocent, noise, plain, png, webpSize } from "./pictures.ts";

let api: ApiServer;
let key: string;
beforeAll(async () => {
  api = await ApiServer.start({ RATE_LIMITS: "off" });
  ({ key } = await api.account("enterprise"));
});
afterAll(() => api?.close());

const sizeOf = async (answer: Response) => webpSize(new Uint8Array(await answer.arrayBuffer()));

test("every format that browsers show becomes a WebP of the width that is asked for", async () => {
  const wide = plain(800, 400);
  const pictures = {
    png: await wide.png().toBuffer(),
    "png of 16 bits": await wide.toColourspace("rgb16").png().toBuffer(),
    "png with rows in seven turns": await wide.png({ progressive: true }).toBuffer(),
    jpeg: await wide.jpeg().toBuffer(),
    "jpeg in CMYK": await wide.removeAlpha().toColourspace("cmyk").jpeg().toBuffer(),
    "progressive jpeg": await noise(800, 400).jpeg({ progressive: true }).toBuffer(),
    gif: await wide.gif().toBuffer(),
    "gif that moves": gif(800, 400, 20),
    webp: await wide.webp().toBuffer(),
    avif: await wide.avif({ effort: 0 }).toBuffer(),
  };
  for (const [name, bytes] of Object.entries(pictures)) {
    const answer = await askUntilMade(api, `256/${await upload(api, key, bytes)}`);
    expect([name, answer.status, answer.headers.get("content-type")]).toEqual([name, 200, "image/webp"]);
    expect([name, await sizeOf(answer)]).toEqual([name, { width: 256, height: 128, lossless: false }]);
  }
});

test("each width is served, never wider than the picture; a drawing is drawn in it", async () => {
  const picture = await upload(api, key, await noise(700, 700).png().toBuffer());
  const drawing = await upload(api, key, innocent);
  for (const width of thumbnailWidths) {
    expect((await sizeOf(await askUntilMade(api, `${width}/${picture}`))).width).toBe(Math.min(width, 700));
    expect((await sizeOf(await askUntilMade(api, `${width}/${drawing}`))).width).toBe(width);
  }
});

test("a picture stands as its camera was held, a tiny one keeps each pixel, and a tall one ends at twice its width", async () => {
  const turned = await plain(400, 200).jpeg().withMetadata({ orientation: 6 }).toBuffer();
  const small = await plain(24, 24).png().toBuffer();
  const tall = await plain(100, 5_000).png().toBuffer();
  const of = async (bytes: Buffer) => sizeOf(await askUntilMade(api, `128/${await upload(api, key, bytes)}`));
  expect(await of(turned)).toEqual({ width: 128, height: 256, lossless: false });
  expect(await of(small)).toEqual({ width: 24, height: 24, lossless: true });
  expect(await of(tall)).toEqual({ width: 5, height: 256, lossless: false });
});

test("an answer may be kept for ever, shown anywhere, and taken for nothing but a picture", async () => {
  const cid = await upload(api, key, await plain(300, 300).png().toBuffer());
  const first = await askUntilMade(api, `128/${cid}`);
  expect(Object.fromEntries(first.headers)).toMatchObject({
    "cache-control": "public, max-age=31536000, immutable",
    "content-security-policy": "sandbox; default-src 'none'",
    "x-content-type-options": "nosniff",
    "cross-origin-resource-policy": "cross-origin",
    "access-control-allow-origin": "*",
    "content-length": String((await first.arrayBuffer()).byteLength),
  });
  expect(first.headers.get("vary")).toBeNull();
  const etag = first.headers.get("etag") ?? "";
  const again = await ask(api, `128/${cid}`, { headers: { "If-None-Match": etag } });
  expect([again.status, again.headers.get("etag"), await again.text()]).toEqual([304, etag, ""]);
  const head = await ask(api, `128/${cid}`, { method: "HEAD" });
  expect([head.status, head.headers.get("content-length")]).toEqual([200, first.headers.get("content-length")]);
  expect((await askUntilMade(api, `256/${cid}`)).headers.get("etag")).not.toBe(etag);
});

test("other widths, texts that are no CID and other methods are refused, and say what would do", async () => {
  const cid = await upload(api, key, await plain(200, 200).png().toBuffer());
  for (const width of ["257", "0", "-1", "99999999999", "256.0", "0256", "%32%35%37", "width"]) {
    const answer = await ask(api, `${width}/${cid}`);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      ...{ "content-type": "application/json", "cache-control": "no-store" },
      ...{ "content-security-policy": "sandbox; default-src 'none'", "cross-origin-resource-policy": "cross-origin" },
    });
    expect([answer.status, (await answer.json()).error]).toEqual([
      422,
      {
        ...{ status_code: 422, code: "value_error", request_id: answer.headers.get("x-request-id") },
        message: expect.stringContaining("128, 256, 512, 1024"),
        fix: "Change width as the message says, and send the request again.",
        docs: "/docs/errors/value_error",
      },
    ]);
  }
  expect((await ask(api, "256/nothing")).status).toBe(422);
  expect((await ask(api, "256/%ff")).status).toBe(422);
  expect((await ask(api, "256", { headers: { Accept: "text/html" } })).headers.get("content-type")).toMatch(/json/);
  const posted = await ask(api, `256/${cid}`, { method: "POST" });
  expect([posted.status, posted.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  expect((await ask(api, "256/bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku")).status).toBe(404);
  expect((await ask(api, `256/${cid}/a.png`)).status).toBe(404);
});

test("a picture in a folder is found by its name, and the folder is none", async () => {
  const bytes = Uint8Array.from(await plain(300, 300).png().toBuffer());
  const files = async function* () {
    yield { names: ["a b#1.png", "2.png"], bytes, contentType: "image/png" };
  };
  const root = await api.services.content.addDirectory(files(), async (_transaction, { cid }) => cid);
  expect((await askUntilMade(api, `128/${root}/a%20b%231.png`)).status).toBe(200);
  const folder = await ask(api, `128/${root}/`);
  expect([folder.status, await folder.text()]).toEqual([404, expect.stringContaining("add the name of a picture")]);
});

test("a picture that a hundred visitors ask for at once is made once", async () => {
  // Small: on a busy machine a large one takes longer than a picture may.
  const cid = await upload(api, key, await noise(500, 500).png().toBuffer());
  const before = api.services.thumbnails.made;
  const answers = await Promise.all(Array.from({ length: 100 }, () => askUntilMade(api, `512/${cid}`)));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  const bodies = await Promise.all(answers.map(async (answer) => Buffer.from(await answer.arrayBuffer())));
  expect(bodies.every((body) => body.equals(bodies[0] as Buffer))).toBe(true);
  expect(api.services.thumbnails.made).toBe(before + 1);
});

test("what was made is not made again, and what was refused is not tried again", async () => {
  const cid = await upload(api, key, await plain(222, 222).png().toBuffer());
  const file = await upload(api, key, Buffer.from("no picture at all"));
  await askUntilMade(api, `128/${cid}`);
  const before = api.services.thumbnails.made;
  expect((await ask(api, `128/${cid}`)).status).toBe(200);
  expect(api.services.thumbnails.made).toBe(before);
  const refused = await askUntilMade(api, `128/${file}`);
  expect([refused.status, await refused.text()]).toEqual([
    422,
    expect.stringContaining("no preview is made of this file"),
  ]);
  // A page that wants nothing to move is led to the file: it may be a picture that is too large for a preview.
  expect((await ask(api, `128/${file}?still=true`)).headers.get("location")).toBe(`/ipfs/${file}`);
  const torn = await upload(api, key, gif(300, 300, 1).subarray(0, 27));
  expect((await askUntilMade(api, `128/${torn}?still=true`)).status).toBe(422);
  const pid = api.services.thumbnails.pid;
  api.services.thumbnails.close();
  expect((await ask(api, `256/${file}`)).status).toBe(422);
  expect([api.services.thumbnails.pid, typeof pid]).toEqual([undefined, "number"]);
});

test("a process that is killed at any moment costs one picture its preview for now; the next one gets a new process", async () => {
  for (const [at, delayMs] of [0, 5, 20, 60, 150].entries()) {
    const first = await upload(
      api,
      key,
      await plain(500 + at, 300)
        .png()
        .toBuffer(),
    );
    expect((await askUntilMade(api, `128/${first}`)).status).toBe(200);
    const pid = api.services.thumbnails.pid as number;
    const slow = png({ width: 6_000, height: 6_000 + at, depth: 8, rows: Buffer.alloc(37_000_000), interlaced: true });
    const answer = ask(api, `1024/${await upload(api, key, slow)}`);
    await new Promise((done) => setTimeout(done, delayMs));
    process.kill(pid, "SIGKILL");
    expect([200, 307, 422]).toContain((await answer).status);
    const next = await upload(
      api,
      key,
      await plain(500 + at, 301)
        .png()
        .toBuffer(),
    );
    expect((await askUntilMade(api, `128/${next}`)).status).toBe(200);
    expect(api.services.thumbnails.pid).not.toBe(pid);
  }
  expect((await fetch(`${api.url}/livez`)).status).toBe(200);
});

test("previews that are off lead to the picture itself, where it may move, and a folder that cannot be written costs no preview", async () => {
  const off = await ApiServer.start({ THUMBNAIL_CACHE_BYTES: "0" });
  const account = await off.account("enterprise");
  const cid = await upload(off, account.key, await plain(300, 300).png().toBuffer());
  const answer = await ask(off, `128/${cid}`);
  expect([answer.status, answer.headers.get("location"), answer.headers.get("cache-control")]).toEqual([
    ...[307, `/ipfs/${cid}`, "no-store"],
  ]);
  const still = await upload(off, account.key, await plain(300, 300).gif().toBuffer());
  const once = await upload(off, account.key, gif(300, 300, 2));
  const of = async (path: string) => (await ask(off, `128/${path}`)).status;
  expect([await of(`${still}?still=true`), await of(`${once}?still=true`), await of(once)]).toEqual([307, 404, 307]);
  expect(off.services.thumbnails.pid).toBeUndefined();
  await off.close();

  const unwritable = await ApiServer.start();
  writeFileSync(join(unwritable.dataDir, "thumbnails"), "a file in the place of the folder");
  const other = await unwritable.account("enterprise");
  const picture = await upload(unwritable, other.key, await plain(300, 300).png().toBuffer());
  expect((await askUntilMade(unwritable, `128/${picture}`)).status).toBe(200);
  await unwritable.close();
});

test("the process has nothing of the service's environment, and ends when the service is gone", async () => {
  const cid = await upload(api, key, await plain(320, 320).png().toBuffer());
  await askUntilMade(api, `128/${cid}`);
  const pid = api.services.thumbnails.pid as number;
  if (process.platform === "linux") {
    const names = readFileSync(`/proc/${pid}/environ`, "utf8")
      .split("\0")
      .map((line) => line.split("=")[0])
      .filter(Boolean);
    expect(names.filter((name) => !["MALLOC_ARENA_MAX", "NODE_COMPILE_CACHE"].includes(name ?? ""))).toEqual([]);
    await wait(
      "a process that is given up first",
      () => readFileSync(`/proc/${pid}/oom_score_adj`, "utf8").trim() === "1000",
    );
  }
  api.services.thumbnails.close();
  await wait("the end of the process", () => {
    try {
      return !process.kill(pid, 0);
    } catch {
      return true;
    }
  });
});

test("one program alone loads the library, and no file of the service imports that", () => {
  const src = join(import.meta.dirname, "../../src");
  const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
  const having = (pattern: RegExp) => files.filter((name) => pattern.test(readFileSync(join(src, name), "utf8")));
  expect(having(/from "sharp"|import\("sharp"\)/)).toEqual(["thumbnails/picture-process.ts"]);
  expect(having(/(from|import\() ?"[^"]*picture-process\.ts"/)).toEqual([]);
});
