import { readFile, unlink } from "node:fs/promises";
import { CarReader } from "@ipld/car/reader";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ipfsDir } from "../../src/config/config.ts";
import { carPath } from "../../src/ipfs/local-cars.ts";
import { ApiServer } from "../setup/api-server.ts";
import { form } from "../uploads/upload-server.ts";

const text = "0123456789".repeat(150_000);
let server: ApiServer;
let key: string;
let file: string;
let directory: string;
let script: string;

beforeAll(async () => {
  server = await ApiServer.start();
  key = (await server.account()).key;
  file = await upload("a.txt", text, "text/plain");
  script = await upload("x.html", "<script>alert(1)</script>", "text/html");
  const files = [
    { filename: "0.json", text: '{"id":0}' },
    { filename: `<img src=x onerror=alert(1)>&".json`, text: '{"id":1}' },
    { filename: "100% fine?#.json", text: '{"id":2}' },
  ];
  const answer = await fetch(`${server.url}/v0/metadata/directory`, {
    method: "POST",
    headers: { Authorization: key },
    body: form("metadata_files", files),
  });
  const body = (await answer.json()) as { metadata_directory_ipfs_url: string };
  directory = body.metadata_directory_ipfs_url.replace("https://ipfs.io/ipfs/", "");
});
afterAll(() => server.close());

async function upload(filename: string, content: string, type: string): Promise<string> {
  const body = form("file", [{ filename, text: content, type }]);
  const answer = await fetch(`${server.url}/v0/files`, { method: "POST", headers: { Authorization: key }, body });
  return ((await answer.json()) as { ipfs_url: string }).ipfs_url.replace("https://ipfs.io/ipfs/", "");
}

const get = (path: string, headers: Record<string, string> = {}, method = "GET") =>
  fetch(`${server.url}/ipfs/${path}`, { headers, method });

test("a file comes with its type, a strong ETag and for ever", async () => {
  const answer = await get(file);
  expect(await answer.text()).toBe(text);
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    "content-type": "text/plain; charset=utf-8",
    "content-length": String(text.length),
    "accept-ranges": "bytes",
    "cache-control": "public, max-age=29030400, immutable",
    etag: `"${file}"`,
    "x-content-type-options": "nosniff",
    "access-control-allow-origin": "*",
  });
  expect(answer.headers.get("content-security-policy")).toMatch(/^sandbox;/);
});

test("HEAD answers as GET does, without the bytes", async () => {
  const [got, head] = [await get(file), await get(file, {}, "HEAD")];
  expect(await head.text()).toBe("");
  // undici asks for HEAD without keep-alive, which shows in the answer.
  const own = new Set(["date", "connection", "keep-alive", "x-request-id"]);
  const headers = (answer: Response) => [...answer.headers].filter(([name]) => !own.has(name));
  expect(headers(head)).toEqual(headers(got));
  await got.body?.cancel();
});

test("what a browser has is not sent again", async () => {
  for (const tag of [`"${file}"`, `W/"${file}"`, `"other", "${file}"`, "*"]) {
    const answer = await get(file, { "If-None-Match": tag });
    expect([answer.status, await answer.text()]).toEqual([304, ""]);
  }
  expect((await get(file, { "If-None-Match": '"other"' })).status).toBe(200);
});

test("one range is served, from the first, the middle and the end", async () => {
  for (const [range, from, to] of [
    ["bytes=0-0", 0, 1],
    ["bytes=1048570-1048589", 1_048_570, 1_048_590],
    ["bytes=1499990-", 1_499_990, 1_500_000],
    ["bytes=-7", 1_499_993, 1_500_000],
    ["bytes=-9999999", 0, 1_500_000],
    ["bytes=1499990-9999999", 1_499_990, 1_500_000],
  ] as const) {
    const answer = await get(file, { Range: range });
    expect(answer.status).toBe(206);
    expect(answer.headers.get("content-range")).toBe(`bytes ${from}-${to - 1}/${text.length}`);
    expect(await answer.text()).toBe(text.slice(from, to));
  }
});

test("a range past the end is 416, one that is not understood is ignored", async () => {
  const past = await get(file, { Range: "bytes=1500000-" });
  expect([past.status, past.headers.get("content-range")]).toEqual([416, "bytes */1500000"]);
  for (const range of ["bytes=0-1,4-5", "lines=1-2", "bytes=9-3", "bytes=-"]) {
    const answer = await get(file, { Range: range }, "HEAD");
    expect([answer.status, answer.headers.get("content-length")]).toEqual([200, String(text.length)]);
  }
  expect((await get(file, { Range: "bytes=0-0", "If-Range": '"other"' }, "HEAD")).status).toBe(200);
});

test("a directory serves its files under both names", async () => {
  for (const name of ["0", "0.json"]) {
    const answer = await get(`${directory}/${name}`);
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(await answer.json()).toEqual({ id: 0 });
  }
  expect(await (await get(`${directory}/${encodeURIComponent("100% fine?#.json")}`)).json()).toEqual({ id: 2 });
});

test("a listing is a page whose names cannot do anything, and its links work", async () => {
  for (const path of [directory, `${directory}/`]) {
    const answer = await get(path);
    expect(answer.headers.get("content-type")).toMatch(/^text\/html/);
    expect(answer.headers.get("content-security-policy")).toMatch(/^sandbox; default-src 'none'/);
    const page = await answer.text();
    expect(page).not.toContain("<img");
    const links = [...page.matchAll(/href="([^"]+)"/g)].map(([, link]) => link?.replaceAll("&#38;", "&") ?? "");
    expect(links.length).toBe(8);
    for (const link of links) expect((await fetch(new URL(link, answer.url))).status).toBe(200);
  }
});

test("what could run is a download in a sandbox", async () => {
  const answer = await get(script);
  expect(answer.headers.get("content-disposition")).toBe("attachment");
  expect(answer.headers.get("content-security-policy")).toContain("sandbox");
});

test("no name, sender or preference makes a script of a file: a page's policy allows those of its own origin", async () => {
  const page = await fetch(`${server.url}/graphql`, { headers: { Accept: "text/html" } });
  const policy = page.headers.get("content-security-policy");
  expect(policy).toMatch(/script-src 'self'/);
  const source = "alert(document.domain)";
  const sent = await upload("a.js", source, "text/javascript");
  async function* files() {
    for (const name of ["a.js", "a.mjs", "a.JS", "a.wasm"])
      yield { names: [name], bytes: Buffer.from(source), contentType: null as unknown as string };
  }
  // As of a CAR: types are found by bytes and names.
  const site = await server.services.content.addDirectory(files(), async (_transaction, { cid }) => cid);
  const inFolder = ["a.js", "a.mjs", "a.JS", "a.wasm"].map((name) => `${site}/${name}`);
  for (const path of [sent, `${sent}?filename=a.js`, `${sent}?format=json`, ...inFolder]) {
    for (const accept of ["*/*", "text/javascript", "application/javascript, */*;q=0.1"]) {
      const answer = await get(path, { Accept: accept, "Sec-Fetch-Dest": "script" });
      const shown = [answer.headers.get("content-type"), answer.headers.get("x-content-type-options")];
      expect([path, ...shown, await answer.text()]).toEqual([path, "text/plain; charset=utf-8", "nosniff", source]);
    }
  }
  expect((await get(sent, { "Service-Worker": "script" })).status).toBe(400);
});

test("format=raw gives the block itself", async () => {
  const answer = await get(`${directory}?format=raw`);
  expect(answer.headers.get("content-type")).toBe("application/vnd.ipld.raw");
  const block = Buffer.from(await answer.arrayBuffer());
  expect(block.includes("0.json")).toBe(true);
  expect((await get(`${directory}/0?format=raw`)).status).toBe(200);
});

test("what is not here is 404 and is not cached", async () => {
  const unknown = "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy";
  for (const path of [unknown, `${directory}/9`, `${directory}/0/deeper`, `${unknown}?format=raw`]) {
    const answer = await get(path);
    expect([answer.status, answer.headers.get("cache-control")]).toEqual([404, "no-store"]);
  }
  expect((await get(file, {}, "POST")).status).toBe(405);
});

test("who asks for JSON gets the error in JSON, everybody else in a line of text", async () => {
  const unknown = "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy";
  for (const accept of ["application/json", "text/plain;q=0.1, application/json"]) {
    const answer = await get(unknown, { Accept: accept });
    expect([answer.status, answer.headers.get("content-type")]).toEqual([404, "application/json"]);
    const error = { status_code: 404, code: "not_found", docs: "/docs/errors/not_found" };
    expect(await answer.json()).toMatchObject({ response: "NOK", error: { ...error, fix: expect.any(String) } });
  }
  for (const accept of ["*/*", "text/html,application/xhtml+xml,image/avif,*/*;q=0.8"]) {
    const answer = await get(unknown, { Accept: accept });
    expect(answer.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(await answer.text()).toBe(`/ipfs/${unknown} is not here\n`);
  }
  const bare = await fetch(`${server.url}/ipfs/`);
  expect([bare.status, await bare.text()]).toEqual([400, "/ipfs/<cid>/<path> is wanted\n"]);
  const past = await get(file, { Range: "bytes=1500000-", Accept: "application/json" });
  expect([past.status, await past.json()]).toMatchObject([416, { error: { status_code: 416, code: "value_error" } }]);
});

test("a directory that brings a page shows it, below its slash, without scripts and forms", async () => {
  const page = "<!doctype html><link rel=stylesheet href=style.css><script>alert(1)</script>";
  async function* files() {
    for (const [name, text] of [
      ["index.html", page],
      ["style.css", "body{}"],
    ] as const)
      yield { names: [name], bytes: Buffer.from(text), contentType: name.endsWith("css") ? "text/css" : "text/html" };
  }
  const site = await server.services.content.addDirectory(files(), async (_transaction, { cid }) => cid);
  for (const [query, place] of [
    ["", `/ipfs/${site}/`],
    ["?a=/b", `/ipfs/${site}/?a=/b`],
  ] as const) {
    const bare = await fetch(`${server.url}/ipfs/${site}${query}`, { redirect: "manual" });
    expect([bare.status, bare.headers.get("location")]).toEqual([301, place]);
    expect((await fetch(new URL(place, server.url), { redirect: "manual" })).status).toBe(200);
  }
  const answer = await get(`${site}/`);
  expect([answer.status, await answer.text()]).toEqual([200, page]);
  expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(answer.headers.get("content-disposition")).toBeNull();
  expect(answer.headers.get("content-security-policy")).toMatch(/^sandbox; default-src 'none'; style-src .*'self'/);
  expect(answer.headers.get("content-security-policy")).not.toMatch(/script|allow-/);
  expect((await get(`${site}/style.css`)).headers.get("content-type")).toBe("text/css; charset=utf-8");
  // By its own name it is a file like any other.
  expect((await get(`${site}/index.html`)).headers.get("content-disposition")).toBe("attachment");
});

test("a file is served as what its bytes are, whoever sent it first, and each sender keeps his own word", async () => {
  const typeOf = async (name: string) => (await get(name, {}, "HEAD")).headers.get("content-type");
  const svg = '<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>';
  for (const [content, first, second, served] of [
    [svg, "text/plain", "image/svg+xml", "image/svg+xml"],
    ['{"name":"One"}', "text/css", "application/json", "application/json"],
    ["solid cube", "application/json", "model/stl", "text/plain; charset=utf-8"],
    ["\u0000\u0001\u0002", "image/png", "model/stl", "application/octet-stream"],
    [`${"é".repeat(300)} cut in the middle of a character`, "image/png", "text/plain", "text/plain; charset=utf-8"],
  ] as const) {
    const cid = await upload("a.bin", content, first);
    expect(await typeOf(cid)).toBe(served);
    expect(await upload("b.html", content, second)).toBe(cid);
    expect(await typeOf(cid)).toBe(served);
    const { rows } = await server.database.pool.query(
      "SELECT content_type FROM service.upload WHERE cid = $1 ORDER BY created_at",
      [cid],
    );
    expect(rows.map(({ content_type }) => content_type)).toEqual([first, second]);
  }
});

test("content that was lost on disk is 503, not a broken 200", async () => {
  const cid = await upload("lost.txt", "soon lost", "text/plain");
  const { file: car } = await server.services.db
    .selectFrom("service.car")
    .select("file")
    .where("root", "=", cid)
    .executeTakeFirstOrThrow();
  await unlink(carPath(ipfsDir(server.services.config), car));
  expect((await get(cid)).status).toBe(503);
});

test("a client that leaves in the middle of a file does no harm", async () => {
  const stop = new AbortController();
  const answer = await fetch(`${server.url}/ipfs/${file}`, { signal: stop.signal });
  await answer.body?.getReader().read();
  stop.abort();
  expect((await get(file, {}, "HEAD")).status).toBe(200);
});

test("the CAR of a root of very many files is the file it is stored in, unless it is asked for depth first", async () => {
  async function* tokens() {
    for (let at = 0; at < 1_100; at += 1)
      yield { names: [`${at}`], bytes: Buffer.from(`{"id":${at}}`), contentType: "application/json" };
  }
  const { content } = server.services;
  const { cid: many } = await content.addDirectory(tokens(), async (_transaction, stored) => stored);
  const blocksOf = async (answer: Response) => {
    const reader = await CarReader.fromBytes(new Uint8Array(await answer.clone().arrayBuffer()));
    const cids: string[] = [];
    for await (const { cid } of reader.blocks()) cids.push(`${cid}`);
    return cids;
  };
  const car = await get(`${many}?format=car`);
  expect(Object.fromEntries(car.headers)).toMatchObject({
    "content-type": "application/vnd.ipld.car; version=1; order=unk; dups=n",
    "content-disposition": `attachment; filename="${many}.car"`,
    "cache-control": "public, max-age=29030400, immutable",
  });
  const { file = "" } = (await content.findStoredCar(many)) ?? {};
  expect(
    Buffer.from(await car.clone().arrayBuffer()).equals(await readFile(carPath(ipfsDir(server.services.config), file))),
  ).toBe(true);
  const ordered = await get(`${many}?format=car&car-order=dfs`);
  expect(ordered.headers.get("content-type")).toContain("order=dfs");
  const [stored, walked] = [await blocksOf(car), await blocksOf(ordered)];
  expect(walked[0]).toBe(many);
  expect(stored.toSorted()).toEqual(walked.toSorted());
  expect(stored.length).toBeGreaterThan(1_100);
  for (const other of ["car-dups=y", "dag-scope=block", "dag-scope=entity"])
    expect((await get(`${many}?format=car&${other}`)).headers.get("content-type"), other).toContain("order=dfs");
  // It has a tag of its own, and a part of it can be asked for.
  const tag = car.headers.get("etag") ?? "";
  expect(tag).not.toBe(ordered.headers.get("etag"));
  expect((await get(`${many}?format=car`, { "If-None-Match": tag })).status).toBe(304);
  expect((await get(`${many}?format=car`, { Range: "bytes=0-9" })).status).toBe(206);
  const listing = await (await get(`${many}/`)).text();
  expect(listing).toContain("The first 1000 of 1100 names.");
  expect(listing.match(/<tr>/g)).toHaveLength(1_000);
});
